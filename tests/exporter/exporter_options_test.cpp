#include "exporter_options.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <system_error>
#include <tuple>
#include <vector>

namespace headgate {
namespace {

std::string refusal(const std::vector<std::string>& arguments) {
  try {
    parse_exporter_options(arguments);
  } catch (const ExporterUsageError& error) {
    return error.what();
  }
  return "";
}

TEST(ExporterOptions, ListenAtThisHostAloneUnlessTold) {
  const ExporterOptions options = parse_exporter_options({});
  EXPECT_EQ(options.listen.text, "127.0.0.1:9469");
  EXPECT_TRUE(options.listen.is_loopback());
  EXPECT_EQ(options.control, "/run/headgate/control.sock");
  EXPECT_FALSE(options.flows);
}

TEST(ExporterOptions, TakeAddressesOfBothFamilies) {
  for (const auto& [text, family, loopback] :
       std::vector<std::tuple<std::string, int, bool>>{{"[::1]:80", AF_INET6, true},
                                                       {"[::]:9469", AF_INET6, false},
                                                       {"0.0.0.0:0", AF_INET, false},
                                                       {"127.8.8.8:65535", AF_INET, true},
                                                       {"[2001:db8::1]:9469", AF_INET6, false}}) {
    const ListenAddress listen = parse_exporter_options({"--listen", text}).listen;
    EXPECT_EQ(listen.address.ss_family, family) << text;
    EXPECT_EQ(listen.is_loopback(), loopback) << text;
  }
}

TEST(ExporterOptions, SayWhatIsWrong) {
  const std::string expected = "; expected ADDRESS:PORT, such as 127.0.0.1:9469, [::1]:9469 or 0.0.0.0:9469";
  EXPECT_EQ(refusal({"--listen", "9469"}), "--listen \"9469\" has no port" + expected);
  EXPECT_EQ(refusal({"--listen", ":9469"}), "--listen \":9469\" has no address" + expected);
  EXPECT_EQ(refusal({"--listen", "::1:9469"}),
            "--listen \"::1:9469\" has an IPv6 address without brackets" + expected);
  EXPECT_EQ(refusal({"--listen", "localhost:9469"}),
            "--listen \"localhost:9469\" has no address of IPv4 or IPv6 before the port" + expected);
  for (const std::string port : {"", "65536", "-1", "+1", "http", "1 "})
    EXPECT_EQ(refusal({"--listen=127.0.0.1:" + port}),
              "--listen \"127.0.0.1:" + port + "\" has a port that is no number from 0 to 65535" + expected);
  EXPECT_EQ(refusal({"--listen"}), "option \"--listen\" needs an ADDRESS:PORT");
  EXPECT_EQ(refusal({"--control"}), "option \"--control\" needs a PATH");
  EXPECT_EQ(refusal({"--control="}), "option \"--control\" needs a PATH");
  EXPECT_EQ(refusal({"--listn", "[::1]:1"}), "unknown option \"--listn\", did you mean \"--listen\"?");
  EXPECT_EQ(refusal({"--flows=yes"}), "option \"--flows\" takes no value");
  EXPECT_EQ(refusal({"--control", "a", "--control", "b"}), "option \"--control\" is given twice");
  EXPECT_EQ(refusal({"127.0.0.1:9469"}), "takes no words, only options");
}

TEST(ExporterOptions, HelpNamesEachOption) {
  for (const char* option : {"--listen", "--control", "--flows", "--version", "--help"})
    EXPECT_NE(exporter_help().find(option), std::string::npos) << option;
}

TEST(ListenAddress, TellsWhereASocketListens) {
  const FileDescriptor socket = listen_at(parse_listen_address("127.0.0.1:0"));
  const std::string bound = bound_address(socket.get());
  EXPECT_TRUE(bound.starts_with("127.0.0.1:")) << bound;
  try {
    listen_at(parse_listen_address(bound));
    FAIL() << "listened twice at " << bound;
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::address_in_use);
    EXPECT_NE(std::string(error.what()).find("cannot listen at " + bound), std::string::npos);
  }
}

}  // namespace
}  // namespace headgate
