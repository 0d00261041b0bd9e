#include "config/redis_address.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "config/characters.hpp"

namespace headgate {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::size_t kMaxPath = 107;  // sockaddr_un::sun_path without its NUL
constexpr std::size_t kMaxHost = 253;  // RFC 1035
constexpr unsigned kMaxPort = 65'535;

Reading no_address(const std::string& text) {
  return refuse(quoted(text) +
                " is no address of a Redis server, expected \"unix:/run/redis/redis.sock\", "
                "\"10.0.0.1:6379\" or \"[2001:db8::1]:6379\"");
}

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && port >= 1 && port <= kMaxPort;
}

bool is_host(std::string_view text) {
  const auto is_part = [](char one) {
    return is_letter(one) || is_digit(one) || one == '-' || one == '.' || one == '_';
  };
  if (text.starts_with('[') && text.ends_with(']'))
    return text.size() > 2 && text.find(':') != std::string_view::npos;
  return !text.empty() && text.size() <= kMaxHost && std::all_of(text.begin(), text.end(), is_part);
}

}  // namespace

Reading read_redis_address(const std::string& text, std::string& address) {
  if (text.starts_with(kUnix)) {
    const std::string_view path = std::string_view(text).substr(kUnix.size());
    if (!path.starts_with('/') || path.size() > kMaxPath || path.find('\0') != std::string_view::npos)
      return no_address(text);
  } else {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || !is_port(std::string_view(text).substr(colon + 1)) ||
        !is_host(std::string_view(text).substr(0, colon)))
      return no_address(text);
  }
  address = text;
  return {};
}

}  // namespace headgate
