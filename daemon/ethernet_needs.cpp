#include "ethernet_needs.hpp"

#include <stdexcept>
#include <string>
#include <string_view>

#include "attachment.hpp"
#include "config/match_vocabulary.hpp"

namespace headgate {

namespace {

[[noreturn]] void refuse(const ShapeConfig& shape, const ClassConfig& one, std::string_view word,
                         const char* where) {
  throw std::runtime_error(title_of(shape) + ": class " + one.name + ": \"" + std::string(word) +
                           "\" in the " + where + " needs an Ethernet header, which packets of " +
                           shape.interface + " do not have");
}

}  // namespace

void refuse_ethernet_needs(const ShapeConfig& shape) {
  for (const ClassConfig& one : shape.classes) {
    if (one.key.source_mac) refuse(shape, one, "src-mac", "key");
    if (one.key.destination_mac) refuse(shape, one, "dst-mac", "key");
    if (one.key.vlan) refuse(shape, one, "vlan", "key");
    if (const std::string_view word = ethernet_word(one.match); !word.empty())
      refuse(shape, one, word, "match");
  }
}

}  // namespace headgate
