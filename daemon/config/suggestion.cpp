#include "config/suggestion.hpp"

#include <algorithm>
#include <vector>

#include "config/characters.hpp"
#include "config/reading.hpp"

namespace headgate {
namespace {

constexpr std::size_t kLongestWord = 64;  // longer ones are no misspelling; also bounds the work

// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replacement = same_letter(a[i - 1], b[j - 1]) ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + replacement});
      const bool swapped =
          i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]);
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::optional<std::string_view> nearest_word(std::string_view word,
                                             std::span<const std::string_view> candidates) {
  if (word.empty() || word.size() > kLongestWord) return std::nullopt;
  std::optional<std::string_view> nearest;
  std::size_t nearest_distance = 0;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    const std::size_t allowed = std::max<std::size_t>(1, std::max(word.size(), candidate.size()) / 3);
    if (distance > allowed || distance >= candidate.size()) continue;
    if (nearest && distance >= nearest_distance) continue;
    nearest = candidate;
    nearest_distance = distance;
  }
  return nearest;
}

std::string list_of_words(std::span<const std::string_view> words) {
  constexpr std::size_t kMost = 40;
  const std::size_t shown = words.size() <= kMost ? words.size() : kMost - 1;
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += quoted(words[i]);
  }
  if (shown < words.size()) text += " or one of " + std::to_string(words.size() - shown) + " others";
  return text;
}

std::string suggest(std::string_view word, std::span<const std::string_view> candidates) {
  if (const auto nearest = nearest_word(word, candidates)) {
    return "did you mean " + quoted(*nearest) + "?";
  }
  return "expected " + list_of_words(candidates);
}

}  // namespace headgate
