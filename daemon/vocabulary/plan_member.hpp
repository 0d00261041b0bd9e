// Which networks are members of which plan of a class. A plan gives its members' keys a rate of their own
// (vocabulary/config.hpp); of several networks that have a key's address the smallest says which plan it has.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "vocabulary/flow_key.hpp"

namespace headgate {

// An IPv4 network stands as part of ::ffff:0:0/96. An IPv6 network has no IPv4 address, not even ::/0.
struct Prefix {
  std::array<std::uint8_t, 16> address{};  // bits behind the length are zero
  std::uint8_t length = 128;               // bits; of an IPv4 network 96 more than are written
  auto operator<=>(const Prefix&) const = default;
};
inline constexpr std::uint8_t kIpv4PrefixBits = 96;

inline bool is_ipv4(const Prefix& prefix) {
  constexpr std::array<std::uint8_t, kIpv4PrefixBits / 8> kMapped = {0, 0, 0, 0, 0,    0,
                                                                     0, 0, 0, 0, 0xff, 0xff};
  return prefix.length >= kIpv4PrefixBits &&
         std::equal(kMapped.begin(), kMapped.end(), prefix.address.begin());
}

// The network of so many bits that has the address.
inline Prefix cut_to(const std::array<std::uint8_t, 16>& address, std::uint8_t length) {
  Prefix prefix{.address = {}, .length = length};
  const std::size_t whole = length / 8;
  std::copy_n(address.begin(), whole, prefix.address.begin());
  if (length % 8 != 0)
    prefix.address[whole] = static_cast<std::uint8_t>(address[whole] & 0xff00 >> length % 8);
  return prefix;
}

// Of a key that has one address: how much of it stands in the key.
inline std::uint8_t length_kept(const KeySpec& key, bool of_ipv4) {
  const bool source = key.source_address;
  if (!of_ipv4) return source ? key.source_prefix_v6 : key.destination_prefix_v6;
  const std::uint8_t bits = source ? key.source_prefix_v4 : key.destination_prefix_v4;
  return static_cast<std::uint8_t>(kIpv4PrefixBits + bits);
}

// A plan's place in its class.
using PlanNumber = std::uint16_t;
inline constexpr PlanNumber kNoPlan = 0xffff;  // the class's own rate holds
inline constexpr std::size_t kMaxPlans = 4096;
inline constexpr std::size_t kMaxMembers =
    100'000;  // of the plans of a class together, those of run time included

struct Member {
  Prefix prefix;
  PlanNumber plan = kNoPlan;
  bool operator==(const Member&) const = default;
};

// In order of their prefixes, each of which stands once. Shared by all that have a copy of the configuration; equal where the
// members are.
struct MemberList {
  std::shared_ptr<const std::vector<Member>> members;  // null: none
  bool operator==(const MemberList& other) const {
    if (members == other.members) return true;
    return members && other.members && *members == *other.members;
  }
};

}  // namespace headgate
