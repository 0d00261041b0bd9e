// Sets of IPv4 and IPv6 networks: made once, then only looked up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace headgate {

// Addresses as numbers, the first byte highest.
using Ipv4Number = std::uint32_t;
using Ipv6Number = unsigned __int128;

template <typename Number>
struct AddressRange {
  Number first = 0;
  Number last = 0;  // included
};

// As they were given: in any order, some may be part of others.
struct Networks {
  std::vector<AddressRange<Ipv4Number>> ipv4;
  std::vector<AddressRange<Ipv6Number>> ipv6;
  std::size_t size() const { return ipv4.size() + ipv6.size(); }
};

// Disjoint ranges in order. A look-up halves them: 17 steps where there are 100 000.
template <typename Number>
class AddressRanges {
 public:
  explicit AddressRanges(std::vector<AddressRange<Number>> ranges) {
    std::sort(ranges.begin(), ranges.end(),
              [](const auto& one, const auto& other) { return one.first < other.first; });
    firsts_.reserve(ranges.size());
    lasts_.reserve(ranges.size());
    for (const AddressRange<Number>& range : ranges) add(range);
  }

  bool contains(Number address) const {
    const auto behind = std::upper_bound(firsts_.begin(), firsts_.end(), address);
    if (behind == firsts_.begin()) return false;
    return address <= lasts_[static_cast<std::size_t>(behind - firsts_.begin()) - 1];
  }

  std::size_t size() const { return firsts_.size(); }
  AddressRange<Number> operator[](std::size_t position) const {
    return {firsts_[position], lasts_[position]};
  }

  bool operator==(const AddressRanges&) const = default;

 private:
  // None of the ranges before begins later.
  void add(const AddressRange<Number>& range) {
    const bool apart =
        lasts_.empty() || (range.first > lasts_.back() && range.first - lasts_.back() > Number{1});
    if (apart) {
      firsts_.push_back(range.first);
      lasts_.push_back(range.last);
    } else {
      lasts_.back() = std::max(lasts_.back(), range.last);
    }
  }

  std::vector<Number> firsts_;  // apart from the ends, as a look-up reads but one of these
  std::vector<Number> lasts_;
};

class NetworkSet {
 public:
  NetworkSet(Networks networks, std::vector<std::string> texts)
      : ipv4_(std::move(networks.ipv4)), ipv6_(std::move(networks.ipv6)), texts_(std::move(texts)) {}

  // An IPv6 network has no IPv4 address, not even ::/0.
  bool has_ipv4(Ipv4Number address) const { return ipv4_.contains(address); }
  bool has_ipv6(Ipv6Number address) const { return ipv6_.contains(address); }

  const AddressRanges<Ipv4Number>& ipv4() const { return ipv4_; }
  const AddressRanges<Ipv6Number>& ipv6() const { return ipv6_; }

  // As configured: networks, and paths of files of networks.
  const std::vector<std::string>& texts() const { return texts_; }

  bool operator==(const NetworkSet&) const = default;

 private:
  AddressRanges<Ipv4Number> ipv4_;
  AddressRanges<Ipv6Number> ipv6_;
  std::vector<std::string> texts_;
};

}  // namespace headgate
