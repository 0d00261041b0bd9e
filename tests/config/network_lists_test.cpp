#include "config/network_lists.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "config/network_grammar.hpp"

namespace headgate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string error_of(std::string_view text) {
  Networks networks;
  const std::string error = read_network(text, networks).error;
  EXPECT_EQ(networks.size(), error.empty() ? 1U : 0U) << text;
  return error;
}

AddressRange<Ipv4Number> ipv4(std::string_view text) {
  Networks networks;
  EXPECT_EQ(read_network(text, networks).error, "");
  return networks.ipv4.at(0);
}

AddressRange<Ipv6Number> ipv6(std::string_view text) {
  Networks networks;
  EXPECT_EQ(read_network(text, networks).error, "");
  return networks.ipv6.at(0);
}

TEST(Network, HasTheAddressesOfItsPrefix) {
  EXPECT_EQ(ipv4("10.0.0.0/8").first, 0x0a000000U);
  EXPECT_EQ(ipv4("10.0.0.0/8").last, 0x0affffffU);
  EXPECT_EQ(ipv4("10.1.2.3").first, 0x0a010203U);
  EXPECT_EQ(ipv4("10.1.2.3").last, 0x0a010203U);
  EXPECT_EQ(ipv4("255.255.255.254/31").last, 0xffffffffU);
  EXPECT_EQ(ipv4("0.0.0.0/0").last, 0xffffffffU);
  EXPECT_TRUE(ipv6("2001:db8::/32").first == Ipv6Number{0x20010db8} << 96);
  EXPECT_TRUE(ipv6("2001:db8::/32").last == (Ipv6Number{0x20010db9} << 96) - 1);
  EXPECT_TRUE(ipv6("::1").first == 1 && ipv6("::1").last == 1);
  EXPECT_TRUE(ipv6("::/0").first == 0 && ipv6("::/0").last == ~Ipv6Number{0});
}

TEST(Network, WithBitsBeyondItsPrefixIsRefusedWithTheRightOne) {
  EXPECT_EQ(error_of("10.1.2.3/8"),
            "\"10.1.2.3/8\" has bits set beyond its prefix: did you mean \"10.0.0.0/8\"?");
  EXPECT_EQ(error_of("10.0.0.1/31"),
            "\"10.0.0.1/31\" has bits set beyond its prefix: did you mean \"10.0.0.0/31\"?");
  EXPECT_EQ(error_of("2001:db8::1/32"),
            "\"2001:db8::1/32\" has bits set beyond its prefix: did you mean \"2001:db8::/32\"?");
  EXPECT_EQ(error_of("::1/0"), "\"::1/0\" has bits set beyond its prefix: did you mean \"::/0\"?");
}

TEST(Network, ThatIsNoneIsRefused) {
  EXPECT_EQ(error_of("10.0.0.0/33"),
            "\"10.0.0.0/33\": the prefix \"33\" is not a number of bits from 0 to 32");
  EXPECT_EQ(error_of("::/129"), "\"::/129\": the prefix \"129\" is not a number of bits from 0 to 128");
  for (const auto* prefix : {"", "-1", "+8", "8 ", "255.0.0.0", "8/8", "99999999999"})
    EXPECT_THAT(error_of("10.0.0.0/" + std::string(prefix)), HasSubstr("is not a number of bits")) << prefix;
  for (const auto* text : {"", "10", "10.0.0/8", "10.0.0.256", "010.0.0.1", " 10.0.0.1", "example.com",
                           "fe80::1%eth0", "10.0.0.0-10.0.0.9"})
    EXPECT_THAT(error_of(text), HasSubstr("is not a network, expected one such as")) << text;
  EXPECT_THAT(error_of(std::string_view("10.0.0.1\0x", 10)), HasSubstr("is not a network"));
}

class NetworkListsTest : public testing::Test {
 protected:
  NetworkListsTest() {
    std::string pattern = testing::TempDir() + "headgate-XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  ~NetworkListsTest() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name = "list") const { return directory_ + "/" + name; }

  std::string write(std::string_view content, const std::string& name = "list") const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

  std::string error_of_file(std::string_view content) const {
    NetworkLists lists;
    return NetworkListReader(lists).add(write(content)).error;
  }

  std::string directory_;
};

std::shared_ptr<const NetworkSet> set_of(NetworkLists& lists, const std::vector<std::string>& texts) {
  NetworkListReader reader(lists);
  for (const std::string& text : texts) EXPECT_EQ(reader.add(text).error, "") << text;
  std::shared_ptr<const NetworkSet> set;
  EXPECT_EQ(reader.settle(set).warning, "");
  return set;
}

TEST_F(NetworkListsTest, ReadsAFileWithCommentsAndBlankLines) {
  NetworkLists lists;
  const std::string file =
      write("# clients\n\n10.0.0.0/8\n  192.168.0.1 # the printer\r\n\t2001:db8::/32\t\n11.0.0.0/8");
  const auto set = set_of(lists, {file, "172.16.0.0/12"});
  for (const Ipv4Number address : {0x0a000001U, 0xc0a80001U, 0x0b000001U, 0xac100001U})
    EXPECT_TRUE(set->has_ipv4(address)) << address;
  EXPECT_FALSE(set->has_ipv4(0xc0a80002));
  EXPECT_TRUE(set->has_ipv6(Ipv6Number{0x20010db8} << 96 | 5));
  EXPECT_THAT(set->texts(), ElementsAre(file, "172.16.0.0/12"));
}

TEST_F(NetworkListsTest, NamesTheFileAndLineOfAnError) {
  EXPECT_EQ(error_of_file("10.0.0.0/8\n\n# more\n10.0.0.1/8 # twice\nnonsense\n"),
            path() + ":4: \"10.0.0.1/8\" has bits set beyond its prefix: did you mean \"10.0.0.0/8\"?");
  EXPECT_THAT(error_of_file(std::string("\0\x1b[2J", 5)),
              testing::StartsWith(path() + ":1: \"\\x00\\x1b[2J\" is not"));
}

TEST_F(NetworkListsTest, RefusesWhatIsNoFileWithoutWaiting) {
  NetworkLists lists;
  const auto error = [&](const std::string& path) { return NetworkListReader(lists).add(path).error; };
  EXPECT_EQ(error(path("none")), path("none") + ": cannot open the file: No such file or directory");
  std::filesystem::create_directory(path("directory"));
  EXPECT_EQ(error(path("directory")), path("directory") + ": this is a directory, expected a file");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(error(path("pipe")),
            path("pipe") + ": this is not a regular file: headgated reads it again at a reload");
  EXPECT_THAT(error("/etc/"), HasSubstr("is not the absolute path of a file"));
  EXPECT_THAT(error("list"), HasSubstr("is not a network"));
}

TEST_F(NetworkListsTest, BoundsAFile) {
  EXPECT_EQ(error_of_file(""),
            path() +
                ": the file is empty, as while it is being written: expected a list, or a comment "
                "where it has no element");
  EXPECT_EQ(error_of_file("#" + std::string(16 * 1024 * 1024 - 1, '\n')), "");
  EXPECT_EQ(error_of_file(std::string(16 * 1024 * 1024 + 1, '\n')),
            path() + ": the file is larger than 16 MiB, which is no list");
}

std::string many_networks(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    text += "10." + std::to_string(i >> 16) + "." + std::to_string(i >> 8 & 255) + "." +
            std::to_string(i & 255) + "\n";
  return text;
}

TEST_F(NetworkListsTest, TakesAHundredThousandNetworksAndNoMore) {
  NetworkLists lists;
  const std::string most = write(many_networks(100'000), "most");
  const auto set = set_of(lists, {most});
  EXPECT_TRUE(set->has_ipv4(0x0a00'0000 + 99'999));
  EXPECT_FALSE(set->has_ipv4(0x0a00'0000 + 100'000));
  constexpr char kMore[] = "there are more networks than 100000, expected at most so many in a list";
  EXPECT_EQ(error_of_file(many_networks(100'001)), path() + ":100001: " + kMore);
  NetworkListReader reader(lists);
  EXPECT_TRUE(reader.add(most).ok());
  EXPECT_EQ(reader.add("192.168.0.0/16").error, kMore);
  EXPECT_EQ(reader.add(write("192.168.0.0/16\n")).error, kMore);
}

TEST_F(NetworkListsTest, ReadsAFileOnceAndSharesASet) {
  int steps = 0;
  NetworkLists lists([&] { ++steps; });
  const std::string file = write("10.0.0.0/8\n");
  const auto set = set_of(lists, {file});
  write("11.0.0.0/8\n");
  EXPECT_EQ(set_of(lists, {file}), set);
  EXPECT_EQ(steps, 2) << "one for the file, one for the set";
  EXPECT_NE(set_of(lists, {file, file}), set);
  NetworkLists next;
  EXPECT_TRUE(set_of(next, {file})->has_ipv4(0x0b000001)) << "the next configuration reads it again";
}

TEST_F(NetworkListsTest, WarnsOfAListWithoutNetworks) {
  NetworkLists lists;
  NetworkListReader reader(lists);
  EXPECT_TRUE(reader.add(write("# nobody today\n")).ok());
  std::shared_ptr<const NetworkSet> set;
  EXPECT_EQ(reader.settle(set).warning, "has no network, so the class gets no packet");
  ASSERT_NE(set, nullptr);
  EXPECT_FALSE(set->has_ipv4(0));
}

}  // namespace
}  // namespace headgate
