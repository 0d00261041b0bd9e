#include "config/network_grammar.hpp"

#include <arpa/inet.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headgate {
namespace {

template <typename Number>
struct Family;

template <>
struct Family<Ipv4Number> {
  static constexpr int kNumber = AF_INET;
  static constexpr unsigned kBits = 32;
};

template <>
struct Family<Ipv6Number> {
  static constexpr int kNumber = AF_INET6;
  static constexpr unsigned kBits = 128;
};

template <typename Number>
using Bytes = std::array<std::uint8_t, sizeof(Number)>;

template <typename Number>
std::optional<Number> read_address(const std::string& text) {
  Bytes<Number> bytes{};
  if (inet_pton(Family<Number>::kNumber, text.c_str(), bytes.data()) != 1) return std::nullopt;
  Number number = 0;
  for (const std::uint8_t byte : bytes) number = number << 8 | byte;
  return number;
}

template <typename Number>
std::string address_text(Number number) {
  Bytes<Number> bytes{};
  for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte, number >>= 8)
    *byte = static_cast<std::uint8_t>(number & 0xff);
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(Family<Number>::kNumber, bytes.data(), text.data(), text.size());
  return text.data();
}

std::optional<unsigned> read_length(std::string_view text, unsigned longest) {
  unsigned length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc{} || end != text.data() + text.size() || length > longest) return std::nullopt;
  return length;
}

// The bits behind a prefix.
template <typename Number>
Number host_bits(unsigned length) {
  return length == 0 ? static_cast<Number>(~Number{0})
                     : static_cast<Number>((Number{1} << (Family<Number>::kBits - length)) - 1);
}

template <typename Number>
Reading add_network(std::string_view text, Number address, std::optional<std::string_view> prefix,
                    std::vector<AddressRange<Number>>& ranges) {
  constexpr unsigned kBits = Family<Number>::kBits;
  const auto length = prefix ? read_length(*prefix, kBits) : kBits;
  if (!length) {
    return refuse(quoted(text) + ": the prefix " + quoted(*prefix) + " is not a number of bits from 0 to " +
                  std::to_string(kBits));
  }
  const Number host = host_bits<Number>(*length);
  const Number first = address & static_cast<Number>(~host);
  if (address != first) {
    return refuse(quoted(text) + " has bits set beyond its prefix: did you mean \"" + address_text(first) +
                  "/" + std::to_string(*length) + "\"?");
  }
  ranges.push_back({.first = first, .last = static_cast<Number>(first | host)});
  return {};
}

}  // namespace

Reading read_network(std::string_view text, Networks& networks) {
  const std::size_t slash = text.find('/');
  const std::string address(text.substr(0, slash));
  const auto prefix = slash == std::string_view::npos ? std::nullopt : std::optional(text.substr(slash + 1));
  if (address.find('\0') == std::string::npos) {
    if (const auto ipv4 = read_address<Ipv4Number>(address))
      return add_network(text, *ipv4, prefix, networks.ipv4);
    if (const auto ipv6 = read_address<Ipv6Number>(address))
      return add_network(text, *ipv6, prefix, networks.ipv6);
  }
  return refuse(quoted(text) +
                " is not a network, expected one such as \"10.0.0.0/8\", \"2001:db8::/32\" or \"10.0.0.1\"");
}

}  // namespace headgate
