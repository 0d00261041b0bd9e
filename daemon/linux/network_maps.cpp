#include "linux/network_maps.hpp"

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "linux/system_call.hpp"

namespace headgate {

namespace {

// As a trie wants them.
template <typename Number>
struct Prefix {
  std::uint32_t bits = 0;
  std::array<std::uint8_t, sizeof(Number)> address{};  // the first byte highest
};
static_assert(sizeof(Prefix<Ipv4Number>) == 8 && sizeof(Prefix<Ipv6Number>) == 20);

template <typename Number>
constexpr unsigned kBits = 8 * sizeof(Number);

unsigned trailing_zeros(Ipv4Number number) {
  return static_cast<unsigned>(std::countr_zero(number));
}

unsigned trailing_zeros(Ipv6Number number) {
  const auto low = static_cast<std::uint64_t>(number), high = static_cast<std::uint64_t>(number >> 64);
  return static_cast<unsigned>(low != 0 ? std::countr_zero(low) : 64 + std::countr_zero(high));
}

// Ones in the lowest `bits` bits.
template <typename Number>
Number ones(unsigned bits) {
  return bits == kBits<Number> ? ~Number{0} : static_cast<Number>((Number{1} << bits) - 1);
}

template <typename Number>
Prefix<Number> prefix_of(Number first, unsigned host_bits) {
  Prefix<Number> prefix{.bits = kBits<Number> - host_bits};
  for (std::size_t i = prefix.address.size(); i-- > 0; first = static_cast<Number>(first >> 8))
    prefix.address[i] = static_cast<std::uint8_t>(first);
  return prefix;
}

// The largest networks that make up a range, from its first address on.
template <typename Number>
void add_prefixes(const AddressRange<Number>& range, std::vector<Prefix<Number>>& prefixes) {
  for (Number first = range.first;;) {
    unsigned host_bits = trailing_zeros(first);
    while (ones<Number>(host_bits) > range.last - first) --host_bits;
    prefixes.push_back(prefix_of(first, host_bits));
    const Number last = first + ones<Number>(host_bits);
    if (last == range.last) return;
    first = last + 1;
  }
}

template <typename Number>
std::vector<Prefix<Number>> prefixes_of(const AddressRanges<Number>& ranges) {
  std::vector<Prefix<Number>> prefixes;
  for (std::size_t i = 0; i < ranges.size(); ++i) add_prefixes(ranges[i], prefixes);
  return prefixes;
}

// In one call, or one after the other where the kernel does not know that.
template <typename Number>
void fill(const FileDescriptor& trie, const std::vector<Prefix<Number>>& prefixes) {
  const std::vector<std::uint8_t> values(prefixes.size(), 1);
  auto count = static_cast<std::uint32_t>(prefixes.size());
  bpf_map_batch_opts options{};
  options.sz = sizeof options;
  if (bpf_map_update_batch(trie.get(), prefixes.data(), values.data(), &count, &options) == 0) return;
  for (const Prefix<Number>& prefix : prefixes) {
    check_system_call("load networks into the kernel",
                      bpf_map_update_elem(trie.get(), &prefix, values.data(), BPF_ANY));
  }
}

// None where there are no networks.
template <typename Number>
FileDescriptor load(const AddressRanges<Number>& ranges) {
  const std::vector<Prefix<Number>> prefixes = prefixes_of(ranges);
  if (prefixes.empty()) return {};
  bpf_map_create_opts options{};
  options.sz = sizeof options;
  options.map_flags = BPF_F_NO_PREALLOC;
  FileDescriptor trie(
      check_system_call("make a trie of networks (needs CAP_BPF)",
                        bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, "headgate_nets", sizeof(Prefix<Number>), 1,
                                       static_cast<std::uint32_t>(prefixes.size()), &options)));
  fill(trie, prefixes);
  return trie;
}

}  // namespace

NetworkMaps::NetworkMaps(const NetworkSet& networks)
    : ipv4_(load(networks.ipv4())), ipv6_(load(networks.ipv6())) {}

std::shared_ptr<const NetworkMaps> SharedNetworkMaps::get(const std::shared_ptr<const NetworkSet>& networks) {
  std::erase_if(entries_, [](const Entry& entry) { return entry.maps.expired(); });
  for (const Entry& entry : entries_)
    if (entry.networks == networks || *entry.networks == *networks) return entry.maps.lock();
  auto maps = std::make_shared<const NetworkMaps>(*networks);
  entries_.push_back({networks, maps});
  if (meanwhile_) meanwhile_();
  return maps;
}

}  // namespace headgate
