#include "config/config_document.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cstdlib>

#include <filesystem>
#include <fstream>

namespace headgate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kFile[] = R"([daemon]
idle = "10s"
[[shape]]
interface = "eth0"
rate = "100mbit"
  [[shape.group]]
  name = "office"
  ceiling = "50mbit"
  [[shape.class]]
  name = "clients"
  key = "dst"
  rate = "1mbit"
  [[shape.class.plan]]
  name = "gold"
  rate = "5mbit"
  members = "10.0.0.1"
  [[shape.class]]
  name = "rest"
  match = "udp"
  rate = "2mbit"
)";

const TableName kShape{
    .interface = "eth0", .direction = Direction::egress, .group = "", .class_name = "", .plan = ""};
TableName class_table(std::string name) {
  TableName table = kShape;
  table.class_name = std::move(name);
  return table;
}

Config accepted(const ConfigDocument& document) {
  const ConfigResult result = document.read({});
  for (const ConfigError& error : result.errors) ADD_FAILURE() << error.to_string();
  return result.config;
}

std::vector<std::string> errors_of(const ConfigDocument& document) {
  std::vector<std::string> lines;
  for (const ConfigError& error : document.read({}).errors) lines.push_back(error.to_string());
  return lines;
}

std::vector<std::string> names(const ShapeConfig& shape) {
  std::vector<std::string> names;
  for (const ClassConfig& one : shape.classes) names.push_back(one.name);
  return names;
}

TEST(ConfigDocument, ADropInsKeysTakeThePlaceOfThoseBefore) {
  const Config config = accepted(ConfigDocument({{"a", kFile}, {"b", R"([daemon]
idle = "20s"
[[shape]]
interface = "eth0"
rate = "80mbit"
  [[shape.group]]
  name = "office"
  ceiling = "40mbit"
  [[shape.class]]
  name = "rest"
  rate = "3mbit"
  [[shape.class]]
  name = "clients"
  [[shape.class.plan]]
  name = "gold"
  rate = "6mbit"
)"}}));
  EXPECT_EQ(config.daemon.idle, std::chrono::seconds(20));
  const ShapeConfig& shape = config.shapes.at(0);
  EXPECT_EQ(config.shapes.size(), 1U);
  EXPECT_EQ(shape.rate, BitRate{80'000'000});
  EXPECT_EQ(shape.groups.at(0).place.ceiling, BitRate{40'000'000});
  EXPECT_THAT(names(shape), ElementsAre("clients", "rest", kDefaultClassName));
  EXPECT_EQ(shape.classes[1].rate.bits, BitRate{3'000'000});
  EXPECT_EQ(shape.classes[1].match, "udp") << "what the drop-in does not say stays";
  EXPECT_EQ(shape.classes[0].plans.at(0).rate.bits, BitRate{6'000'000});
  EXPECT_EQ(shape.classes[0].members.members->size(), 1U);
}

TEST(ConfigDocument, ADropInsNewClassesComeFirstInItsOrderAndGroupsLast) {
  const Config config = accepted(ConfigDocument({{"a", kFile},
                                                 {"b", R"([[shape]]
interface = "eth0"
direction = "egress"
  [[shape.group]]
  name = "guests"
  [[shape.class]]
  name = "first"
  match = "tcp port 1"
  rate = "3mbit"
  [[shape.class]]
  name = "second"
  match = "tcp port 2"
  rate = "3mbit"
)"},
                                                 {"c", R"([[shape]]
interface = "eth0"
  [[shape.class]]
  name = "third"
  match = "tcp port 3"
  rate = "3mbit"
[[shape]]
interface = "eth0"
direction = "ingress"
  [[shape.class]]
  name = "in"
  rate = "3mbit"
)"}}));
  EXPECT_THAT(names(config.shapes.at(0)),
              ElementsAre("third", "first", "second", "clients", "rest", kDefaultClassName));
  EXPECT_EQ(config.shapes[0].groups.at(1).name, "guests");
  EXPECT_THAT(names(config.shapes.at(1)), ElementsAre("in")) << "another direction is another shape";
}

TEST(ConfigDocument, AnErrorNamesTheFileLineAndColumnOfItsValue) {
  const ConfigDocument document({{"a", kFile},
                                 {"b",
                                  "[[shape]]\ninterface = \"eth0\"\n[[shape.class]]\nname = \"rest\"\nrate = "
                                  "\"fast\"\nspeed = 3\n"},
                                 {"c", "[daemon]\nidle = \"soon\"\n"}});
  EXPECT_THAT(errors_of(document),
              ElementsAre(HasSubstr("b:5:8: rate: "), HasSubstr("b:6:1: unknown key \"speed\""),
                          HasSubstr("c:2:8: idle: ")));
}

TEST(ConfigDocument, TwoClassesOfOneNameInOneDropInAreRefused) {
  const std::string same = "  [[shape.class]]\n  name = \"new\"\n  match = \"tcp\"\n  rate = \"1mbit\"\n";
  const ConfigDocument document({{"a", kFile}, {"b", "[[shape]]\ninterface = \"eth0\"\n" + same + same}});
  EXPECT_THAT(errors_of(document), ElementsAre(HasSubstr("\"new\"")));
}

TEST(ConfigDocument, ADropInThatIsNoTomlIsNamed) {
  EXPECT_THAT(errors_of(ConfigDocument({{"a", kFile}, {"b", "rate = \n"}})), ElementsAre(HasSubstr("b:1:")));
}

TEST(ConfigDocument, RunTimeSaysOtherValuesAndLeavesOut) {
  ConfigDocument document(ConfigTexts{{"a", kFile}});
  document.say(class_table("rest"), "rate", "[\"500pps\", \"1mbit\"]");
  document.say(class_table("rest"), "match", "");
  document.say(kShape, "rate", "\"90mbit\"");
  TableName group = kShape;
  group.group = "office";
  document.say(group, "weight", "3");
  TableName plan = class_table("clients");
  plan.plan = "silver";
  document.say(plan, "rate", "\"2mbit\"");
  const ShapeConfig shape = accepted(document).shapes.at(0);
  EXPECT_EQ(shape.classes[1].rate.packets, PacketRate{500});
  EXPECT_EQ(shape.classes[1].match, "");
  EXPECT_EQ(shape.rate, BitRate{90'000'000});
  EXPECT_EQ(shape.groups[0].place.weight, 3U);
  EXPECT_EQ(shape.classes[0].plans.at(1).name, "silver");
}

TEST(ConfigDocument, WhatRunTimeSaysWrongHasNoLine) {
  ConfigDocument document(ConfigTexts{{"a", kFile}});
  document.say(class_table("rest"), "rate", "\"fast\"");
  EXPECT_THAT(errors_of(document), ElementsAre(HasSubstr("run time: rate: ")));
}

TEST(ConfigDocument, SaysWhatTheFilesSay) {
  const ConfigDocument document(ConfigTexts{{"a", kFile}});
  EXPECT_EQ(normal_value("\"2mbit\""), document.said(class_table("rest"), "rate"));
  EXPECT_EQ(document.said(class_table("rest"), "burst"), "");
  EXPECT_EQ(document.said(class_table("none"), "rate"), "");
  EXPECT_TRUE(document.has(kShape));
  EXPECT_FALSE(document.has(class_table("none")));
  EXPECT_EQ(document.file_of(kShape), "a");
}

TEST(ConfigDocument, AShapeOfRunTimeComesLast) {
  ConfigDocument document(ConfigTexts{{"a", kFile}});
  document.add_shape("interface = \"eth1\"\nrate = \"5mbit\"\n");
  EXPECT_EQ(accepted(document).shapes.at(1).interface, "eth1");
  ConfigDocument empty(ConfigTexts{{"a", "# nothing\n"}});
  empty.add_shape("interface = \"eth1\"\nrate = \"5mbit\"\n");
  EXPECT_EQ(accepted(empty).shapes.size(), 1U);
}

TEST(ConfigTexts, DropInsAreReadInOrderOfTheirNames) {
  std::string pattern = testing::TempDir() + "headgate-XXXXXX";
  const std::filesystem::path directory = mkdtemp(pattern.data());
  std::filesystem::create_directories(directory / "headgate.d");
  const std::string file = directory / "headgate.toml";
  std::ofstream(file) << "# main\n";
  for (const char* name : {"20.toml", "10.toml", ".hidden.toml", "notes.txt", "30.toml.new"})
    std::ofstream(directory / "headgate.d" / name) << "# " << name << "\n";
  const ConfigTextsResult read = read_config_texts(file);
  ASSERT_TRUE(read.ok());
  std::vector<std::string> texts;
  for (const ConfigText& text : read.texts) texts.push_back(text.text);
  EXPECT_THAT(texts, ElementsAre("# main\n", "# 10.toml\n", "# 20.toml\n"));
  std::ofstream(directory / "headgate.d" / "15.toml") << "";
  const ConfigTextsResult broken = read_config_texts(file);
  ASSERT_EQ(broken.errors.size(), 1U);
  EXPECT_THAT(broken.errors[0].to_string(), HasSubstr("15.toml: the file is empty"));
  std::filesystem::remove_all(directory);
}

TEST(ConfigTexts, ADropInOnTopOfAnotherIsOneFile) {
  const std::string merged = merged_drop_ins(
      "[[shape]]\ninterface = \"eth0\"\nrate = \"1mbit\"\n[[shape.class]]\nname = \"a\"\nweight = 2\n",
      "[[shape]]\ninterface = \"eth0\"\n[[shape.class]]\nname = \"a\"\nweight = 3\n");
  ConfigDocument document(ConfigTexts{{"merged", merged}});
  EXPECT_EQ(document.said(class_table("a"), "weight"), "3");
  EXPECT_EQ(document.said(kShape, "rate"), normal_value("\"1mbit\""));
}

}  // namespace
}  // namespace headgate
