// "Did you mean": the nearest of the words that would have been right.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace headgate {

// The candidate within a few slips of the keyboard (about one for three letters, swapped neighbours count
// once; capitals do not matter), the first of several equally near. None: nothing is near enough to be meant.
std::optional<std::string_view> nearest_word(std::string_view word,
                                             std::span<const std::string_view> candidates);

// `"a", "b" or "c"`
std::string list_of_words(std::span<const std::string_view> words);

// `did you mean "dst"?` where one is near, else `expected "src", "dst" or "vlan"`.
std::string suggest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace headgate
