#include "troubles.hpp"

#include <algorithm>
#include <cstddef>

namespace headgate {

namespace {

constexpr std::size_t kReasons = 3;     // that are said
constexpr std::size_t kInterfaces = 3;  // of each

void append_list(const std::vector<std::string>& names, std::string& text) {
  // "and 1 other" would be no shorter than its name.
  const std::size_t said = names.size() <= kInterfaces + 1 ? names.size() : kInterfaces;
  for (std::size_t i = 0; i < said; ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  if (said < names.size()) text += " and " + std::to_string(names.size() - said) + " others";
}

}  // namespace

void Troubles::add(const std::string& interface, const std::string& reason) {
  auto found = std::find_if(by_reason_.begin(), by_reason_.end(),
                            [&](const auto& known) { return known.first == reason; });
  if (found == by_reason_.end()) found = by_reason_.insert(found, {reason, {}});
  found->second.push_back(interface);
}

std::string Troubles::text() const {
  std::string text;
  for (std::size_t i = 0; i < std::min(by_reason_.size(), kReasons); ++i) {
    if (i > 0) text += "; ";
    append_list(by_reason_[i].second, text);
    text += ": ";
    text += by_reason_[i].first;
  }
  if (by_reason_.size() > kReasons) {
    const std::size_t more = by_reason_.size() - kReasons;
    text += "; and " + std::to_string(more) + (more == 1 ? " further reason" : " further reasons");
  }
  return text;
}

}  // namespace headgate
