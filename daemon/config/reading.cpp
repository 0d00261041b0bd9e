#include "config/reading.hpp"

#include "visible_text.hpp"

namespace headgate {
namespace {

constexpr std::size_t kLongestQuote = 200;

}  // namespace

std::string quoted(std::string_view text) {
  const bool cut = text.size() > kLongestQuote;
  std::size_t length = cut ? kLongestQuote : text.size();
  while (cut && length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80)
    --length;  // a whole character
  return "\"" + visible(text.substr(0, length)) + (cut ? "...\"" : "\"");
}

}  // namespace headgate
