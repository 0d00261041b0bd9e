#include "config/key_grammar.hpp"

#include <array>
#include <charconv>
#include <optional>

#include "config/suggestion.hpp"

namespace headgate {
namespace {

struct Part {
  std::string_view name;
  std::array<bool KeySpec::*, 3> fields{};  // null: none
  bool takes_source = false;                // an address of that side, of whichever layer
  bool takes_destination = false;
  bool takes_prefix = false;
};

constexpr std::array kParts = {
    Part{"class"},
    Part{"src", {&KeySpec::source_address}, true, false, true},
    Part{"dst", {&KeySpec::destination_address}, false, true, true},
    Part{"src-dst", {&KeySpec::source_address, &KeySpec::destination_address}, true, true, true},
    Part{"5-tuple", {&KeySpec::source_address, &KeySpec::destination_address, &KeySpec::ports}, true, true},
    Part{"src-mac", {&KeySpec::source_mac}, true},
    Part{"dst-mac", {&KeySpec::destination_mac}, false, true},
    Part{"vlan", {&KeySpec::vlan}},
};

const Part* find_part(std::string_view name) {
  for (const Part& part : kParts) {
    if (part.name == name) return &part;
  }
  return nullptr;
}

std::vector<std::string_view> part_names() {
  std::vector<std::string_view> names;
  names.reserve(kParts.size());
  for (const Part& part : kParts) names.push_back(part.name);
  return names;
}

struct Prefixes {
  std::uint8_t v4 = 32;
  std::uint8_t v6 = 128;
};

std::optional<std::uint8_t> read_length(std::string_view text, unsigned longest) {
  unsigned length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc{} || end != text.data() + text.size() || length < 1 || length > longest)
    return std::nullopt;
  return static_cast<std::uint8_t>(length);
}

// "24" or "24,64"
Reading read_prefixes(std::string_view part, std::string_view text, Prefixes& prefixes) {
  const std::size_t comma = text.find(',');
  const auto v4 = read_length(text.substr(0, comma), 32);
  if (!v4) {
    return refuse(
        quoted(part) + ": the IPv4 prefix " + quoted(text.substr(0, comma)) +
        " is not a number of bits from 1 to 32; prefixes are written as in \"dst/24\" or \"dst/24,64\"");
  }
  prefixes.v4 = *v4;
  if (comma == std::string_view::npos) return {};
  const auto v6 = read_length(text.substr(comma + 1), 128);
  if (!v6) {
    return refuse(quoted(part) + ": the IPv6 prefix " + quoted(text.substr(comma + 1)) +
                  " is not a number of bits from 1 to 128; prefixes are written as in \"dst/24,64\"");
  }
  prefixes.v6 = *v6;
  return {};
}

Reading check_combination(const Part& part, const Part& other) {
  if (part.name == other.name) return refuse(quoted(part.name) + " stands twice in the key");
  if (part.name == "class" || other.name == "class") {
    return refuse("\"class\" stands alone: it is one bucket for all packets of the class, and " +
                  quoted(part.name == "class" ? other.name : part.name) + " tells them apart");
  }
  const bool same_source = part.takes_source && other.takes_source;
  if (!same_source && !(part.takes_destination && other.takes_destination)) return {};
  return refuse(quoted(part.name) + " does not go with " + quoted(other.name) + ": both take the " +
                (same_source ? "source" : "destination") + " address");
}

}  // namespace

Reading KeyReader::add(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view name = text.substr(0, slash);
  const Part* part = find_part(name);
  if (part == nullptr) {
    const std::vector<std::string_view> names = part_names();
    if (name.empty()) return refuse("an empty text is not a key, expected " + list_of_words(names));
    return refuse(quoted(text) + " is not a key: " + suggest(name, names));
  }
  Prefixes prefixes;
  if (slash != std::string_view::npos) {
    if (!part->takes_prefix) {
      return refuse(quoted(text) + ": " + quoted(name) +
                    " takes no prefix, only \"src\", \"dst\" and \"src-dst\" do");
    }
    Reading reading = read_prefixes(text, text.substr(slash + 1), prefixes);
    if (!reading.ok()) return reading;
  }
  for (const std::string& other : parts_) {
    Reading reading = check_combination(*part, *find_part(other));
    if (!reading.ok()) return reading;
  }

  parts_.emplace_back(name);
  for (const auto field : part->fields) {
    if (field != nullptr) key_.*field = true;
  }
  if (part->takes_prefix && part->takes_source) {
    key_.source_prefix_v4 = prefixes.v4;
    key_.source_prefix_v6 = prefixes.v6;
  }
  if (part->takes_prefix && part->takes_destination) {
    key_.destination_prefix_v4 = prefixes.v4;
    key_.destination_prefix_v6 = prefixes.v6;
  }
  return {};
}

}  // namespace headgate
