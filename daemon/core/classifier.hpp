// Finds the class of a packet and makes its flow key. Immutable once built, so both threads of a shape may use one.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/header_parser.hpp"
#include "headgate/config.hpp"
#include "headgate/packet.hpp"

namespace headgate {

// A compiled match expression. Owned by core as an interface so that core needs no libpcap.
class PacketMatcher {
 public:
  virtual ~PacketMatcher() = default;
  // `frame` has no VLAN tags in front of its network header. Called by several threads at once.
  virtual bool matches(std::span<const std::byte> frame) const = 0;
};

FlowKey make_key(const KeySpec& spec, const ParsedHeaders& headers);
std::uint32_t hash_key(const FlowKey& key, ClassIndex class_index, std::uint64_t seed);

class Classifier {
 public:
  // matchers[i] belongs to classes[i]; null matches everything.
  Classifier(std::vector<ClassConfig> classes, std::vector<std::unique_ptr<PacketMatcher>> matchers,
             std::uint64_t hash_seed);

  // Sets class_index, and key and flow_hash where the class is shaped. frame, vlan_tpid and vlan_tci must be set.
  // Frames that are neither IPv4 nor IPv6 match no class. Control traffic matches only classes with `control`.
  void classify(ArrivingPacket& packet) const;

  // True when packets of this class go on unshaped (kUnmatched or bypass).
  bool unshaped(ClassIndex class_index) const;

  const std::vector<ClassConfig>& classes() const { return classes_; }

 private:
  std::vector<ClassConfig> classes_;
  std::vector<std::unique_ptr<PacketMatcher>> matchers_;
  std::uint64_t hash_seed_;
};

}  // namespace headgate
