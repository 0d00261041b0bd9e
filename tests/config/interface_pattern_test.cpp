#include "config/interface_pattern.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headgate {
namespace {

using testing::HasSubstr;

TEST(InterfacePattern, IsKnownByItsSpecialCharacters) {
  for (const char* pattern : {"*", "veth*", "eth?", "eth[0-9]", "[a-z]*"})
    EXPECT_TRUE(is_interface_pattern(pattern)) << pattern;
  for (const char* name : {"eth0", "eth0.100", "br-lan", "eth]", "e+", "veth!"})
    EXPECT_FALSE(is_interface_pattern(name)) << name;
}

TEST(InterfacePattern, MatchesAsTheShellDoes) {
  EXPECT_TRUE(matches_pattern("veth*", "veth"));
  EXPECT_TRUE(matches_pattern("veth*", "veth12"));
  EXPECT_FALSE(matches_pattern("veth*", "vet"));
  EXPECT_FALSE(matches_pattern("veth*", "xveth1"));
  EXPECT_TRUE(matches_pattern("eth?", "eth7"));
  EXPECT_FALSE(matches_pattern("eth?", "eth17"));
  EXPECT_TRUE(matches_pattern("eth[0-3]", "eth2"));
  EXPECT_FALSE(matches_pattern("eth[0-3]", "eth4"));
  EXPECT_TRUE(matches_pattern("eth[!0-3]", "eth4"));
  EXPECT_TRUE(matches_pattern("eth0.*", "eth0.100"));
  EXPECT_TRUE(matches_pattern("*", ".hidden"));
  EXPECT_FALSE(matches_pattern("VETH*", "veth1"));
}

TEST(InterfacePattern, NeverMatchesTheLoopbackNorOwnDevices) {
  for (const char* name : {"lo", "hg0", "hg0p", "hg17", "hgx"}) {
    EXPECT_FALSE(matches_pattern("*", name)) << name;
    EXPECT_FALSE(matches_pattern("??*", name)) << name;
  }
  EXPECT_TRUE(matches_pattern("*", "lo1"));
  EXPECT_TRUE(matches_pattern("l*", "lan0"));
}

TEST(InterfacePattern, GoesWhereANameGoes) {
  for (const char* text :
       {"eth0", "veth*", "eth[0-9]", "eth[!0-9]*", "eth[]0]", "eth[0-9a-f-]", "e\\[*", "[a-c][x-z]"})
    EXPECT_EQ(check_interface(text).error, "") << text;
  EXPECT_THAT(check_interface("").error, HasSubstr("no interface"));
  EXPECT_THAT(check_interface("lo").error, HasSubstr("loopback"));
  EXPECT_THAT(check_interface("veth /*").error, HasSubstr("cannot be the name"));
}

TEST(InterfacePattern, ProposesWhatMayHaveBeenMeant) {
  EXPECT_THAT(check_interface("eth[0-9").error, HasSubstr("did you mean \"eth[0-9]\"?"));
  EXPECT_THAT(check_interface("eth[9-0]x").error, HasSubstr("did you mean \"eth[0-9]x\"?"));
  EXPECT_THAT(check_interface("eth[!9-0]").error, HasSubstr("did you mean \"eth[!0-9]\"?"));
  EXPECT_THAT(check_interface("eth[]").error, HasSubstr("nothing between"));
  EXPECT_THAT(check_interface("hg*").error, HasSubstr("such as \"veth*\""));
}

TEST(InterfacePattern, IsNotForwardedTo) {
  EXPECT_EQ(check_forward_to("eth1").error, "");
  EXPECT_THAT(check_forward_to("eth*").error, HasSubstr("is a pattern"));
  EXPECT_THAT(check_forward_to("lo").error, HasSubstr("loopback"));
}

TEST(InterfacePattern, MakesAShapeATemplateButForInstances) {
  ShapeConfig shape;
  shape.interface = "veth*";
  EXPECT_TRUE(is_template(shape));
  shape.pattern = "veth[*]";  // an interface of that very name
  EXPECT_FALSE(is_template(shape));
  shape = {};
  shape.interface = "veth1";
  EXPECT_FALSE(is_template(shape));
}

}  // namespace
}  // namespace headgate
