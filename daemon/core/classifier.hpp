// Finds the class of a packet and makes its flow key. Once it is built, only the meter of control traffic changes, so
// all threads of a shape may use one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/cgroup_places.hpp"
#include "core/control_meter.hpp"
#include "core/header_parser.hpp"
#include "vocabulary/config.hpp"
#include "vocabulary/explanation.hpp"
#include "vocabulary/packet.hpp"

namespace headgate {

// A compiled match expression. Owned by core as an interface so that core needs no libpcap.
class PacketMatcher {
 public:
  virtual ~PacketMatcher() = default;
  // `frame` has no VLAN tags in front of its network header. Called by several threads at once.
  virtual bool matches(std::span<const std::byte> frame) const = 0;
};

FlowKey make_key(const KeySpec& spec, const ParsedHeaders& headers);

// Flow hashes depend on the class's name and not on its position: a flow keeps its hash when a reload moves
// its class. Keyed, so that nobody who does not know the seed can aim at one place of the flow table.
std::uint64_t class_hash_seed(std::string_view class_name, std::uint64_t seed);
std::uint32_t hash_key(const FlowKey& key, std::uint64_t class_seed);

class Classifier {
 public:
  // Shared with other classifiers that have classes of the same expression.
  using Matchers = std::vector<std::shared_ptr<const PacketMatcher>>;

  // matchers[i] belongs to classes[i]; null matches everything. A packet must suit the selectors of its class, too; each
  // cgroup that they name has a place.
  // Every Classifier of a shape, also after a reload, must be given the same hash_seed: the shaper finds its flows by
  // the hash.
  Classifier(std::vector<ClassConfig> classes, Matchers matchers, std::uint64_t hash_seed,
             const Rate& control_limit = kDefaultControlLimit, CgroupPlaces cgroups = {});
  Classifier(std::vector<ClassConfig> classes, std::vector<std::unique_ptr<PacketMatcher>> matchers,
             std::uint64_t hash_seed, const Rate& control_limit = kDefaultControlLimit);

  // Sets class_index, and key and flow_hash where the class is shaped. The rest must be set. Frames that are neither IPv4
  // nor IPv6 match no class.
  //
  // Without a class with `control`, control traffic only comes here beyond its limit, and is taken as any other. With
  // one, all of it comes here. Classes with `control` take what they match; of the rest, what keeps the limit matches
  // no class, and what is beyond it is taken as any other.
  void classify(ArrivingPacket& packet) const;

  // As classify(), but for a packet that does not come: charges nothing, and says what each class says of it.
  struct Classification {
    bool is_ip = true;
    bool keeps_control_limit = false;    // so it matches no class
    std::vector<ClassVerdict> verdicts;  // of each class up to the one that takes it
  };
  Classification explain(ArrivingPacket& packet) const;

  // True when packets of this class go on unshaped (kUnmatched or bypass).
  bool unshaped(ClassIndex class_index) const;

  // Of ArrivingPacket::cgroups, those that a class names.
  std::uint32_t cgroup_bits(std::size_t position) const { return cgroup_bits_[position]; }

  const std::vector<ClassConfig>& classes() const { return classes_; }

 private:
  // Who looks on is told what each class says, or nobody does and nothing of it is left in the code.
  struct Unobserved;
  struct Observed;
  template <typename Observer>
  void classify(ArrivingPacket& packet, Observer& observer) const;
  template <typename Observer>
  void choose(ArrivingPacket& packet, const ParsedHeaders& headers, std::span<const std::byte> untagged,
              Observer& observer) const;
  template <typename Observer>
  bool take(ArrivingPacket& packet, const ParsedHeaders& headers, std::span<const std::byte> untagged,
            bool only_with_control, Observer& observer) const;
  template <typename Observer>
  void choose_tagged(ArrivingPacket& packet, const ParsedHeaders& headers, Observer& observer) const;
  ClassVerdict judge(std::size_t position, const ArrivingPacket& packet, const ParsedHeaders& headers,
                     std::span<const std::byte> untagged) const;
  ClassVerdict judge_by_kernel(std::size_t position, const ArrivingPacket& packet) const;

  std::vector<ClassConfig> classes_;
  Matchers matchers_;
  std::vector<std::uint64_t> hash_seeds_;        // by class
  CgroupPlaces cgroups_;                         // held
  std::vector<std::uint32_t> cgroup_bits_;       // by class, of all that it names
  bool asks_kernel_ = false;                     // some class for a mark or a cgroup
  std::unique_ptr<ControlMeter> control_meter_;  // null: no class has `control`
};

}  // namespace headgate
