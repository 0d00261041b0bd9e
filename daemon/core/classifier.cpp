#include "core/classifier.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <iterator>
#include <utility>

#include "core/packet_notes.hpp"

namespace headgate {
namespace {

constexpr std::size_t kMacBytes = 12;
constexpr std::size_t kMaxFrameBytes = 65'535 + 14;

using Address = std::array<std::uint8_t, 16>;

// Clears all but the first `bits` bits of the part of the address that starts at byte `first`.
void keep_prefix(Address& address, std::size_t first, unsigned bits) {
  for (std::size_t i = first; i < address.size(); ++i, bits -= std::min(bits, 8u)) {
    if (bits < 8) address[i] &= static_cast<std::uint8_t>(0xff00 >> bits);
  }
}

Address masked(Address address, NetworkProtocol network, unsigned prefix_v4, unsigned prefix_v6) {
  if (network == NetworkProtocol::ipv4) keep_prefix(address, 12, prefix_v4);
  if (network == NetworkProtocol::ipv6) keep_prefix(address, 0, prefix_v6);
  return address;
}

Address mac_address(const std::array<std::uint8_t, 6>& mac) {
  Address address{};
  std::copy(mac.begin(), mac.end(), address.begin() + 10);
  return address;
}

// Both halves of the 128-bit product: each bit of the result depends on each bit of both factors.
std::uint64_t fold_product(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

Ipv4Number ipv4_number(const Address& address) {
  Ipv4Number number = 0;
  for (std::size_t i = 12; i < address.size(); ++i) number = number << 8 | address[i];
  return number;
}

Ipv6Number ipv6_number(const Address& address) {
  Ipv6Number number = 0;
  for (const std::uint8_t byte : address) number = number << 8 | byte;
  return number;
}

bool takes(const NetworkSelector& selector, NetworkProtocol network, const Address& address) {
  if (!selector.networks) return true;
  return network == NetworkProtocol::ipv4 ? selector.networks->has_ipv4(ipv4_number(address))
                                          : selector.networks->has_ipv6(ipv6_number(address));
}

// Of an IP packet.
[[gnu::always_inline]] inline ClassVerdict judge(const Selectors& selectors, const ParsedHeaders& headers) {
  if (selectors.dscp != 0 && (selectors.dscp >> headers.dscp & 1) == 0) return ClassVerdict::dscp;
  if (!takes(selectors.source, headers.network, headers.source)) return ClassVerdict::source;
  return takes(selectors.destination, headers.network, headers.destination) ? ClassVerdict::takes
                                                                            : ClassVerdict::destination;
}

// A bit for each of the paths.
std::uint32_t bits_of(const std::vector<std::string>& paths, const CgroupPlaces& places) {
  std::uint32_t bits = 0;
  for (const auto& place : places)
    if (std::find(paths.begin(), paths.end(), place->path) != paths.end()) bits |= 1U << place->number;
  return bits;
}

constexpr std::uint64_t kOddA = 0x9e3779b97f4a7c15;  // the golden ratio's fraction
constexpr std::uint64_t kOddB = 0xb7e151628aed2a6b;  // e's

}  // namespace

FlowKey make_key(const KeySpec& spec, const ParsedHeaders& headers) {
  FlowKey key;
  if (spec.source_address) {
    key.source = masked(headers.source, headers.network, spec.source_prefix_v4, spec.source_prefix_v6);
  }
  if (spec.destination_address) {
    key.destination =
        masked(headers.destination, headers.network, spec.destination_prefix_v4, spec.destination_prefix_v6);
  }
  if (spec.source_mac) key.source = mac_address(headers.source_mac);
  if (spec.destination_mac) key.destination = mac_address(headers.destination_mac);
  if (spec.ports) {
    key.protocol = headers.protocol;
    key.source_port = headers.source_port;
    key.destination_port = headers.destination_port;
  }
  if (spec.vlan) {
    const unsigned both = static_cast<unsigned>(headers.outer_vlan) << 12 | headers.inner_vlan;
    key.vlan = {static_cast<std::uint8_t>(both >> 16), static_cast<std::uint8_t>(both >> 8),
                static_cast<std::uint8_t>(both)};
  }
  return key;
}

std::uint64_t class_hash_seed(std::string_view class_name, std::uint64_t seed) {
  std::uint64_t hash = fold_product(seed ^ kOddA, kOddB);
  for (const char character : class_name) {
    hash = fold_product(hash ^ static_cast<unsigned char>(character) ^ seed, kOddA);
  }
  return hash;
}

std::uint32_t hash_key(const FlowKey& key, std::uint64_t class_seed) {
  const auto words = std::bit_cast<std::array<std::uint64_t, 5>>(key);
  std::uint64_t hash =
      fold_product(words[0] ^ class_seed ^ kOddA, words[1] ^ std::rotl(class_seed, 32) ^ kOddB);
  hash = fold_product(words[2] ^ hash ^ kOddB, words[3] ^ std::rotl(class_seed, 17) ^ kOddA);
  hash = fold_product(words[4] ^ hash ^ class_seed, kOddA);
  return static_cast<std::uint32_t>(hash >> 32);
}

Classifier::Classifier(std::vector<ClassConfig> classes, std::vector<std::unique_ptr<PacketMatcher>> matchers,
                       std::uint64_t hash_seed, const Rate& control_limit)
    : Classifier(std::move(classes),
                 Matchers(std::make_move_iterator(matchers.begin()), std::make_move_iterator(matchers.end())),
                 hash_seed, control_limit) {}

Classifier::Classifier(std::vector<ClassConfig> classes, Matchers matchers, std::uint64_t hash_seed,
                       const Rate& control_limit, CgroupPlaces cgroups)
    : classes_(std::move(classes)), matchers_(std::move(matchers)), cgroups_(std::move(cgroups)) {
  assert(matchers_.size() == classes_.size());
  for (const ClassConfig& each : classes_) {
    hash_seeds_.push_back(class_hash_seed(each.name, hash_seed));
    cgroup_bits_.push_back(bits_of(each.selectors.cgroups, cgroups_));
    asks_kernel_ = asks_kernel_ || !each.selectors.marks.empty() || !each.selectors.cgroups.empty();
  }
  const bool any_takes_control =
      std::any_of(classes_.begin(), classes_.end(), [](const ClassConfig& each) { return each.control; });
  if (any_takes_control) control_meter_ = std::make_unique<ControlMeter>(ControlLimit(control_limit));
}

struct Classifier::Unobserved {
  void says(ClassVerdict) {}
  void begins_anew() {}
  void is_not_ip() {}
  bool keep_limit(ControlMeter& meter, const Count& size, Instant at) { return meter.take(size, at); }
};

struct Classifier::Observed {
  Classification seen;

  void says(ClassVerdict verdict) { seen.verdicts.push_back(verdict); }
  void begins_anew() { seen.verdicts.clear(); }
  void is_not_ip() { seen.is_ip = false; }
  bool keep_limit(ControlMeter& meter, const Count& size, Instant at) {
    seen.keeps_control_limit = meter.would_take(size, at);
    return seen.keeps_control_limit;
  }
};

void Classifier::classify(ArrivingPacket& packet) const {
  Unobserved nobody;
  classify(packet, nobody);
}

Classifier::Classification Classifier::explain(ArrivingPacket& packet) const {
  Observed observer;
  classify(packet, observer);
  return std::move(observer.seen);
}

template <typename Observer>
[[gnu::always_inline]] inline void Classifier::classify(ArrivingPacket& packet, Observer& observer) const {
  packet.class_index = kUnmatched;
  const ParsedHeaders headers = parse_headers(packet.frame, packet.vlan_tpid != 0, packet.vlan_tci);
  if (headers.network == NetworkProtocol::other) return observer.is_not_ip();
  if (headers.tag_bytes == 0) {
    choose(packet, headers, packet.frame, observer);
  } else {
    choose_tagged(packet, headers, observer);
  }
}

// Apart, so that only frames with a tag inside (the kernel strips but one) pay for the copy and its stack
// space.
template <typename Observer>
[[gnu::noinline]] void Classifier::choose_tagged(ArrivingPacket& packet, const ParsedHeaders& headers,
                                                 Observer& observer) const {
  std::array<std::byte, kMaxFrameBytes> untagged;
  const std::size_t behind_tags = kMacBytes + headers.tag_bytes;
  const std::size_t rest = std::min(packet.frame.size() - behind_tags, untagged.size() - kMacBytes);
  std::memcpy(untagged.data(), packet.frame.data(), kMacBytes);
  std::memcpy(untagged.data() + kMacBytes, packet.frame.data() + behind_tags, rest);
  choose(packet, headers, std::span(untagged).first(kMacBytes + rest), observer);
}

template <typename Observer>
void Classifier::choose(ArrivingPacket& packet, const ParsedHeaders& headers,
                        std::span<const std::byte> untagged, Observer& observer) const {
  if (headers.control && control_meter_) {
    if (take(packet, headers, untagged, true, observer)) return;
    const Count size{packet.charged_packets, packet.charged_bytes};
    if (observer.keep_limit(*control_meter_, size, packet.arrival)) return;
    observer.begins_anew();
  }
  take(packet, headers, untagged, false, observer);
}

// Gives the packet to the first class that matches it. False: none does.
template <typename Observer>
bool Classifier::take(ArrivingPacket& packet, const ParsedHeaders& headers,
                      std::span<const std::byte> untagged, bool only_with_control, Observer& observer) const {
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    if (only_with_control && !classes_[i].control) {
      observer.says(ClassVerdict::control);
      continue;
    }
    const ClassVerdict verdict = judge(i, packet, headers, untagged);
    observer.says(verdict);
    if (verdict != ClassVerdict::takes) continue;
    packet.class_index = static_cast<ClassIndex>(i);
    if (classes_[i].bypass) return true;
    packet.key = make_key(classes_[i].key, headers);
    packet.flow_hash = hash_key(packet.key, hash_seeds_[i]);
    return true;
  }
  return false;
}

[[gnu::always_inline]] inline ClassVerdict Classifier::judge(std::size_t position,
                                                             const ArrivingPacket& packet,
                                                             const ParsedHeaders& headers,
                                                             std::span<const std::byte> untagged) const {
  const ClassVerdict by_headers = headgate::judge(classes_[position].selectors, headers);
  if (by_headers != ClassVerdict::takes) return by_headers;
  if (asks_kernel_) {
    const ClassVerdict by_kernel = judge_by_kernel(position, packet);
    if (by_kernel != ClassVerdict::takes) return by_kernel;
  }
  return !matchers_[position] || matchers_[position]->matches(untagged) ? ClassVerdict::takes
                                                                        : ClassVerdict::match;
}

// By what the kernel alone knows of the packet.
ClassVerdict Classifier::judge_by_kernel(std::size_t position, const ArrivingPacket& packet) const {
  const Selectors& selectors = classes_[position].selectors;
  if (!selectors.marks.empty()) {
    const std::uint32_t mark = notes_of(packet).mark;
    const auto takes_mark = [mark](const MarkSelector& selector) { return selector.takes(mark); };
    if (std::none_of(selectors.marks.begin(), selectors.marks.end(), takes_mark)) return ClassVerdict::mark;
  }
  if (selectors.cgroups.empty()) return ClassVerdict::takes;
  const std::uint32_t common = packet.cgroups & cgroup_bits_[position];
  const bool is_of_one = common != 0 && std::any_of(cgroups_.begin(), cgroups_.end(), [&](const auto& place) {
                           return (common >> place->number & 1) != 0 && packet.arrival >= place->since;
                         });
  return is_of_one ? ClassVerdict::takes : ClassVerdict::cgroup;
}

bool Classifier::unshaped(ClassIndex class_index) const {
  return class_index == kUnmatched || classes_[class_index].bypass;
}

}  // namespace headgate
