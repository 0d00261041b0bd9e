#include "config/mark_grammar.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <system_error>

namespace headgate {
namespace {

constexpr std::uint32_t kAllBits = 0xffff'ffff;

// `whole` is what the user wrote.
Reading read_number(std::string_view text, std::string_view whole, std::uint32_t& number) {
  const bool is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  const std::string_view digits = text.substr(is_hexadecimal ? 2 : 0);
  const char* const end = digits.data() + digits.size();
  const auto [behind, problem] = std::from_chars(digits.data(), end, number, is_hexadecimal ? 16 : 10);
  if (problem == std::errc::invalid_argument || behind != end) {
    return refuse(
        quoted(whole) +
        " is not a mark, expected a value such as \"0x10\" or \"16\", or a value and a mask such as "
        "\"0x10/0xff\"");
  }
  if (problem == std::errc::result_out_of_range)
    return refuse(quoted(whole) + " is out of bounds, expected at most 0xffffffff");
  // iptables takes it for octal.
  if (!is_hexadecimal && digits.size() > 1 && digits.front() == '0') {
    return refuse(quoted(whole) +
                  " has a number that begins with 0, expected a decimal one such as \"16\", or a hexadecimal "
                  "one such as \"0x10\"");
  }
  return {};
}

std::string hexadecimal(std::uint32_t number) {
  std::array<char, 8> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  return "0x" + std::string(digits.data(), end);
}

std::string text_of(const MarkSelector& mark) {
  return hexadecimal(mark.value) + (mark.mask == kAllBits ? "" : "/" + hexadecimal(mark.mask));
}

Reading refuse_bits_beyond(std::string_view text, const MarkSelector& mark) {
  const MarkSelector nearest{.value = mark.value & mark.mask, .mask = mark.mask};
  return refuse(quoted(text) + " has bits set beyond its mask: did you mean " + quoted(text_of(nearest)) +
                "?");
}

}  // namespace

Reading read_mark(std::string_view text, std::vector<MarkSelector>& marks) {
  MarkSelector mark;
  const std::size_t slash = text.find('/');
  Reading reading = read_number(text.substr(0, slash), text, mark.value);
  if (reading.ok() && slash != std::string_view::npos)
    reading = read_number(text.substr(slash + 1), text, mark.mask);
  if (!reading.ok()) return reading;
  if (mark.mask == 0)
    return refuse(quoted(text) +
                  " has no bit in its mask, expected some, or leave mark out to take every packet");
  if ((mark.value & ~mark.mask) != 0) return refuse_bits_beyond(text, mark);
  if (std::find(marks.begin(), marks.end(), mark) == marks.end()) marks.push_back(mark);
  return {};
}

std::vector<std::string> mark_texts(const std::vector<MarkSelector>& marks) {
  std::vector<std::string> texts;
  std::transform(marks.begin(), marks.end(), std::back_inserter(texts), text_of);
  return texts;
}

}  // namespace headgate
