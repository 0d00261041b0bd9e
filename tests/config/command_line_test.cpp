#include "config/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headgate {
namespace {

using Action = CommandLine::Action;

CommandLine accepted(const std::vector<std::string>& arguments) {
  const CommandLineResult result = parse_command_line(arguments);
  EXPECT_THAT(result.errors, testing::IsEmpty());
  return result.command_line;
}

TEST(CommandLine, WithoutArgumentsRunsTheFileOfTheSystem) {
  const CommandLine line = accepted({});
  EXPECT_EQ(line.action, Action::run);
  EXPECT_EQ(line.config_path, "/etc/headgate/headgate.toml");
  EXPECT_FALSE(line.config.has_value());
}

TEST(CommandLine, NamesTheFile) {
  EXPECT_EQ(accepted({"--config", "a.toml"}).config_path, "a.toml");
  EXPECT_EQ(accepted({"--config=a.toml"}).config_path, "a.toml");
}

TEST(CommandLine, NamesTheAction) {
  EXPECT_EQ(accepted({"--check"}).action, Action::check);
  EXPECT_EQ(accepted({"--cleanup"}).action, Action::cleanup);
  EXPECT_EQ(accepted({"--version"}).action, Action::show_version);
  EXPECT_EQ(accepted({"--help"}).action, Action::show_help);
  EXPECT_EQ(accepted({"-h"}).action, Action::show_help);
}

TEST(CommandLine, ShowsHelpWhateverElseIsWrong) {
  EXPECT_EQ(accepted({"--help", "--rate", "fast"}).action, Action::show_help);
}

TEST(CommandLine, OverridesTheFile) {
  const CommandLine line = accepted({"--control", "/run/test.sock", "--divert", "clsact"});
  Config config;
  config.daemon.mark = 7;
  line.apply_to(config);
  EXPECT_EQ(config.daemon.control, "/run/test.sock");
  EXPECT_EQ(config.daemon.divert, DivertMethod::clsact);
  EXPECT_EQ(config.daemon.mark, 7U);
}

TEST(CommandLine, LeavesTheFileAsItIsWithoutOverrides) {
  Config config;
  config.daemon.control = "/run/of-the-file.sock";
  config.daemon.divert = DivertMethod::tcx;
  const Config before = config;
  accepted({}).apply_to(config);
  EXPECT_EQ(config, before);
}

TEST(CommandLine, DescribesAShapeWithDefaults) {
  const CommandLine line = accepted({"--interface", "eth0", "--rate", "1000pps"});
  ASSERT_TRUE(line.config.has_value());
  ClassConfig expected;
  expected.name = "default";
  expected.rate.packets = PacketRate{1000};
  expected.queue.packets = 100;
  EXPECT_EQ(line.config->shapes, (std::vector{ShapeConfig{.interface = "eth0", .classes = {expected}}}));
  EXPECT_EQ(line.config->daemon, DaemonConfig{});
}

TEST(CommandLine, DescribesAShapeInFull) {
  const CommandLine line = accepted(
      {"--interface",     "eth0",      "--direction", "ingress",     "--segmentation",  "whole",
       "--capture",       "ring",      "--precision", "high",        "--overhead",      "-14",
       "--workers",       "3",         "--mpu",       "64",          "--control-limit", "500pps",
       "--control-limit", "2mbit",     "--match",     "udp port 53", "--key",           "vlan",
       "--dscp",          "ef",        "--dscp",      "CS0",         "--dst",           "10.0.0.0/8",
       "--key",           "dst/24,64", "--rate",      "1000pps",     "--rate",          "20mbit",
       "--burst",         "10p",       "--burst",     "15kb",        "--queue",         "50ms",
       "--queue",         "64kb",      "--divert",    "tcx",         "--control",       "/run/test.sock",
       "--check"});
  EXPECT_EQ(line.action, Action::check);
  ASSERT_TRUE(line.config.has_value());
  ClassConfig expected;
  expected.name = "default";
  expected.match = "udp port 53";
  expected.selectors.dscp = std::uint64_t{1} << 46 | 1;
  expected.selectors.destination.networks = std::make_shared<const NetworkSet>(
      Networks{.ipv4 = {{0x0a000000, 0x0affffff}}, .ipv6 = {}}, std::vector<std::string>{"10.0.0.0/8"});
  expected.key = {
      .destination_address = true, .vlan = true, .destination_prefix_v4 = 24, .destination_prefix_v6 = 64};
  expected.rate = {PacketRate{1000}, BitRate{20'000'000}};
  expected.burst = {10, DataSize{15 * 1024}};
  expected.queue = {std::nullopt, DataSize{64 * 1024}, std::chrono::milliseconds(50)};
  EXPECT_EQ(line.config->shapes,
            (std::vector{ShapeConfig{.interface = "eth0",
                                     .direction = Direction::ingress,
                                     .segmentation = Segmentation::whole,
                                     .capture = CaptureMethod::ring,
                                     .precision = Precision::high,
                                     .workers = 3,
                                     .control_limit = {PacketRate{500}, BitRate{2'000'000}},
                                     .overhead = -14,
                                     .mpu = 64,
                                     .classes = {expected}}}));
  EXPECT_EQ(line.config->daemon.divert, DivertMethod::tcx);
  EXPECT_EQ(line.config->daemon.control, "/run/test.sock");
}

TEST(CommandLine, TakesWhatOnlyTheKernelKnows) {
  const CommandLine line = accepted({"--interface", "eth0", "--rate", "1000pps", "--mark", "0x10/0xff",
                                     "--mark", "7", "--cgroup", "/a/b", "--cgroup", "c"});
  const Selectors& selectors = line.config.value().shapes.at(0).classes.at(0).selectors;
  EXPECT_EQ(selectors.marks, (std::vector<MarkSelector>{{.value = 0x10, .mask = 0xff}, {.value = 7}}));
  EXPECT_THAT(selectors.cgroups, testing::ElementsAre("a/b", "c"));
}

TEST(CommandLine, DescribesAnInlineShapeAndWarnsThatItIsHalfAWire) {
  const CommandLineResult result = parse_command_line(
      {"--interface", "eth0", "--forward-to", "eth1", "--rate", "1000pps", "--capture", "pcap"});
  EXPECT_THAT(result.errors, testing::IsEmpty());
  EXPECT_THAT(
      result.warnings,
      testing::ElementsAre("--forward-to: nothing forwards what arrives on \"eth1\" back to \"eth0\"; for "
                           "both directions, write a file with two shapes"));
  const ShapeConfig& shape = result.command_line.config.value().shapes.at(0);
  EXPECT_EQ(shape.forward_to, "eth1");
  EXPECT_EQ(shape.direction, Direction::ingress);
  EXPECT_EQ(shape.capture, CaptureMethod::pcap);
}

TEST(CommandLine, WarnsOfAccountingThatChangesNothing) {
  const CommandLineResult result =
      parse_command_line({"--interface", "eth0", "--rate", "1000pps", "--overhead", "24"});
  EXPECT_TRUE(result.ok());
  EXPECT_THAT(
      result.warnings,
      testing::ElementsAre("--overhead: no class of the shape has a bit rate or a queue in bytes, so it "
                           "changes nothing"));
}

TEST(CommandLine, WarnsOfBytesPerSecond) {
  const CommandLineResult result = parse_command_line({"--interface", "eth0", "--rate", "1mbps"});
  EXPECT_TRUE(result.ok());
  EXPECT_THAT(result.warnings,
              testing::ElementsAre("--rate: \"1mbps\" is in bytes per second, as in tc: 8mbit; for "
                                   "bits per second write \"1mbit\""));
}

TEST(CommandLineHelp, NamesEveryOptionAndFitsATerminal) {
  const std::string help = command_line_help();
  for (const auto* option :
       {"--config",    "--check",     "--cleanup",   "--control",       "--divert",       "--version",
        "--help",      "--interface", "--direction", "--forward-to",    "--segmentation", "--capture",
        "--precision", "--workers",   "--overhead",  "--mpu",           "--match",        "--key",
        "--rate",      "--burst",     "--queue",     "--control-limit", "--dscp",         "--src",
        "--dst",       "--mark",      "--cgroup"}) {
    EXPECT_THAT(help, testing::HasSubstr(option));
  }
  for (std::size_t begin = 0; begin < help.size();) {
    const std::size_t end = help.find('\n', begin);
    EXPECT_LE(end - begin, 80U) << help.substr(begin, end - begin);
    begin = end + 1;
  }
}

}  // namespace
}  // namespace headgate
