#include "config/key_grammar.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

#include "config/quantity_text.hpp"

namespace headgate {
namespace {

KeySpec key_of(std::initializer_list<std::string_view> parts) {
  KeyReader reader;
  for (const std::string_view part : parts) EXPECT_EQ(reader.add(part).error, "") << part;
  return reader.key();
}

bool refused(std::initializer_list<std::string_view> parts) {
  KeyReader reader;
  bool refused_part = false;
  for (const std::string_view part : parts) refused_part |= !reader.add(part).ok();
  return refused_part;
}

TEST(Key, OfTheClassHasNoParts) {
  EXPECT_EQ(key_of({"class"}), KeySpec{});
}

TEST(Key, TakesOneOrBothAddresses) {
  EXPECT_EQ(key_of({"src"}), (KeySpec{.source_address = true}));
  EXPECT_EQ(key_of({"dst"}), (KeySpec{.destination_address = true}));
  EXPECT_EQ(key_of({"src-dst"}), (KeySpec{.source_address = true, .destination_address = true}));
  EXPECT_EQ(key_of({"src", "dst"}), key_of({"src-dst"}));
}

TEST(Key, TakesPortsWithBothAddresses) {
  EXPECT_EQ(key_of({"5-tuple"}),
            (KeySpec{.source_address = true, .destination_address = true, .ports = true}));
}

TEST(Key, TakesHardwareAddressesAndTheVlan) {
  EXPECT_EQ(key_of({"src-mac"}), (KeySpec{.source_mac = true}));
  EXPECT_EQ(key_of({"dst-mac"}), (KeySpec{.destination_mac = true}));
  EXPECT_EQ(key_of({"vlan"}), (KeySpec{.vlan = true}));
}

TEST(Key, LeavesIpv6AddressesWholeBehindAPrefixForIpv4) {
  EXPECT_EQ(key_of({"dst/24"}), (KeySpec{.destination_address = true, .destination_prefix_v4 = 24}));
  EXPECT_EQ(key_of({"src/1"}), (KeySpec{.source_address = true, .source_prefix_v4 = 1}));
}

TEST(Key, TakesPrefixesForBothFamilies) {
  EXPECT_EQ(key_of({"dst/24,64"}),
            (KeySpec{.destination_address = true, .destination_prefix_v4 = 24, .destination_prefix_v6 = 64}));
}

TEST(Key, AppliesThePrefixOfBothAddressesToBoth) {
  EXPECT_EQ(key_of({"src-dst/16,48"}), (KeySpec{.source_address = true,
                                                .destination_address = true,
                                                .source_prefix_v4 = 16,
                                                .source_prefix_v6 = 48,
                                                .destination_prefix_v4 = 16,
                                                .destination_prefix_v6 = 48}));
}

TEST(Key, CombinesPartsOfDifferentSides) {
  EXPECT_EQ(key_of({"vlan", "dst/24,64"}), (KeySpec{.destination_address = true,
                                                    .vlan = true,
                                                    .destination_prefix_v4 = 24,
                                                    .destination_prefix_v6 = 64}));
  EXPECT_EQ(key_of({"src-mac", "dst"}), (KeySpec{.destination_address = true, .source_mac = true}));
}

TEST(Key, RefusesPartsOfTheSameSide) {
  for (const auto* first : {"src", "src-dst", "5-tuple", "src-mac", "src/24"}) {
    for (const auto* second : {"src", "src-dst", "5-tuple", "src-mac", "src/8,32"}) {
      EXPECT_TRUE(refused({first, second})) << first << " " << second;
    }
  }
  for (const auto* first : {"dst", "src-dst", "5-tuple", "dst-mac"}) {
    for (const auto* second : {"dst", "src-dst", "5-tuple", "dst-mac"}) {
      EXPECT_TRUE(refused({first, second})) << first << " " << second;
    }
  }
}

TEST(Key, LetsTheClassStandAlone) {
  for (const auto* other : {"src", "dst", "src-dst", "5-tuple", "src-mac", "dst-mac", "vlan", "class"}) {
    EXPECT_TRUE(refused({"class", other})) << other;
    EXPECT_TRUE(refused({other, "class"})) << other;
  }
}

TEST(Key, StaysAsItWasAfterAPartThatWasRefused) {
  KeyReader reader;
  EXPECT_TRUE(reader.add("dst/24").ok());
  EXPECT_FALSE(reader.add("dst-mac").ok());
  EXPECT_FALSE(reader.add("src/99").ok());
  EXPECT_EQ(reader.key(), key_of({"dst/24"}));
  EXPECT_TRUE(reader.add("src").ok()) << "the refused src/99 does not count";
}

TEST(Key, IsWrittenBackAsItIsRead) {
  for (const std::string_view text :
       {"class", "src", "dst", "src-dst", "5-tuple", "src-mac", "dst-mac", "vlan", "dst/24", "src/24,64",
        "src-dst/8", "dst/32,64", "src-dst/16,48"}) {
    EXPECT_EQ(to_text(key_of({text})), text);
  }
  EXPECT_EQ(to_text(key_of({"vlan", "dst/24,64"})), R"(["vlan", "dst/24,64"])");
  EXPECT_EQ(to_text(key_of({"src/24", "dst"})), R"(["src/24", "dst"])");
  EXPECT_EQ(to_text(key_of({"src-mac", "dst-mac", "vlan"})), R"(["vlan", "src-mac", "dst-mac"])");
  EXPECT_EQ(to_text(key_of({"5-tuple", "vlan"})), R"(["vlan", "5-tuple"])");
}

}  // namespace
}  // namespace headgate
