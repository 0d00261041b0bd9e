#include "address_placeholders.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <optional>

namespace headgate {
namespace {

// An address that begins a text.
struct Found {
  std::string kind;
  std::string address;     // the same for all ways of writing it
  std::size_t length = 0;  // of the text
};

bool is_digit(char character) {
  return std::isdigit(static_cast<unsigned char>(character)) != 0;
}

bool is_hex(char character) {
  return std::isxdigit(static_cast<unsigned char>(character)) != 0;
}

bool is_word(char character) {
  return std::isalnum(static_cast<unsigned char>(character)) != 0;
}

// '\0' outside the text.
char at(std::string_view text, std::size_t position) {
  return position < text.size() ? text[position] : '\0';
}

// Numbers of hexadecimal or decimal digits with a separator between them.
struct Groups {
  std::size_t count = 0;
  std::string address;  // numbers without leading zeros, with ':' between them
  std::size_t length = 0;
};

Groups groups(std::string_view text, char separator, bool (*is_one)(char), std::size_t least_digits,
              std::size_t most_digits, std::size_t most_groups) {
  Groups found;
  for (std::size_t begin = 0; found.count < most_groups;) {
    std::size_t end = begin;
    while (is_one(at(text, end))) ++end;
    if (end - begin < least_digits || end - begin > most_digits) break;
    std::string number(text.substr(begin, end - begin));
    number.erase(0, std::min(number.find_first_not_of('0'), number.size() - 1));
    std::transform(number.begin(), number.end(), number.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    found.address += (found.count++ == 0 ? "" : ":") + number;
    found.length = end;
    if (at(text, end) != separator) break;
    begin = end + 1;
  }
  return found;
}

// Six numbers or, of InfiniBand, more. Eight are an IPv6 address.
std::optional<Found> mac_at(std::string_view text) {
  for (const char separator : {':', '-'}) {
    const Groups found = groups(text, separator, is_hex, separator == ':' ? 1 : 2, 2, 20);
    const char next = at(text, found.length), behind = at(text, found.length + 1);
    const bool goes_on = is_word(next) || (next == separator && (is_hex(behind) || behind == separator));
    if (found.count >= 6 && found.count != 8 && !goes_on) return Found{"mac", found.address, found.length};
  }
  return std::nullopt;
}

// Twelve digits without separators, as in the names that udev gives to interfaces.
std::optional<Found> bare_mac_at(std::string_view text) {
  constexpr std::size_t kDigits = 12;
  if (text.size() < kDigits || !std::all_of(text.begin(), text.begin() + kDigits, is_hex))
    return std::nullopt;
  if (is_word(at(text, kDigits))) return std::nullopt;
  std::string separated;
  for (std::size_t i = 0; i < kDigits; i += 2) separated.append(i == 0 ? "" : ":").append(text.substr(i, 2));
  return Found{"mac", mac_at(separated)->address, kDigits};
}

std::optional<Found> ipv4_at(std::string_view text) {
  Groups found = groups(text, '.', is_digit, 1, 3, 4);
  if (found.count != 4 || is_digit(at(text, found.length))) return std::nullopt;
  std::replace(found.address.begin(), found.address.end(), ':', '.');
  in_addr address{};
  if (inet_pton(AF_INET, found.address.c_str(), &address) != 1) return std::nullopt;
  return Found{"ipv4", found.address, found.length};
}

// "10.1" behind the word net, as expressions may have it. One number alone is a network there, too.
std::optional<Found> short_network_at(std::string_view text) {
  Groups found = groups(text, '.', is_digit, 1, 3, 4);
  if (found.count == 0 || is_word(at(text, found.length)) || at(text, found.length) == ':')
    return std::nullopt;
  return Found{"ipv4", found.address, found.length};
}

// The longest beginning that is an address, so that the colon behind one is not part of it.
std::optional<Found> ipv6_at(std::string_view text) {
  std::size_t most = 0;
  while (most < INET6_ADDRSTRLEN &&
         (is_hex(at(text, most)) || at(text, most) == ':' || at(text, most) == '.'))
    ++most;
  for (std::size_t length = most; length > 2; --length) {
    std::array<unsigned char, 16> address{};
    if (is_word(at(text, length))) continue;
    if (inet_pton(AF_INET6, std::string(text.substr(0, length)).c_str(), address.data()) != 1) continue;
    std::array<char, INET6_ADDRSTRLEN> written{};
    inet_ntop(AF_INET6, address.data(), written.data(), written.size());
    const std::string mapped = "::ffff:", canonical = written.data();
    if (canonical.starts_with(mapped) && canonical.find('.') != std::string::npos)
      return Found{"ipv4", canonical.substr(mapped.size()), length};
    return Found{"ipv6", canonical, length};
  }
  return std::nullopt;
}

bool ends_with_any(std::string_view text, std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return text.ends_with(end); });
}

// The address that begins at a position of the text.
std::optional<Found> address_at(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, position), rest = text.substr(position);
  const char previous = position == 0 ? '\0' : text[position - 1];
  if (!is_hex(rest.front()) && rest.front() != ':') return std::nullopt;
  if (ends_with_any(before, {"enx", "wlx", "wwx"}))
    if (auto found = bare_mac_at(rest)) return found;
  if (!is_hex(previous) && previous != ':') {
    if (auto found = mac_at(rest)) return found;
    if (auto found = ipv6_at(rest)) return found;
  }
  if (is_digit(previous)) return std::nullopt;
  if (auto found = ipv4_at(rest)) return found;
  if (ends_with_any(before, {"net ", "net\t"})) return short_network_at(rest);
  return std::nullopt;
}

}  // namespace

std::string AddressPlaceholders::placeholder(const std::string& kind, const std::string& address) {
  if (address == "0.0.0.0" || address == "::") return address;
  std::string& found = placeholders_[kind + " " + address];
  if (found.empty()) found = kind + "-" + std::to_string(++of_kind_[kind]);
  return found;
}

std::string AddressPlaceholders::replace(std::string_view text) {
  std::string result;
  for (std::size_t position = 0; position < text.size();) {
    if (const auto found = address_at(text, position)) {
      result += placeholder(found->kind, found->address);
      position += found->length;
    } else {
      result += text[position++];
    }
  }
  return result;
}

}  // namespace headgate
