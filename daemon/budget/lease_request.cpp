#include "budget/lease_request.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <system_error>

namespace headgate {
namespace {

constexpr std::array<std::string_view, 6> kBounds{"want", "share", "others", "learning", "hosts", "old"};
constexpr std::uint64_t kMost = std::uint64_t{1} << 53;  // what Lua's numbers hold exactly
constexpr std::size_t kLongestEpoch = 64;

std::uint64_t microseconds(Duration time) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(time).count());
}

std::string text_of(const BudgetTerms& terms) {
  return std::to_string(terms.rate.bits_per_second) + ':' + std::to_string(terms.floor.bits_per_second) +
         ':' + std::to_string(terms.hosts) + ':' + std::to_string(microseconds(terms.lease));
}

// Reads the words of a line one after the other. After the first wrong one it stays wrong.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}

  std::string_view word() {
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    if (word.empty()) wrong_ = true;
    has_ended_ = end == rest_.size();
    rest_.remove_prefix(has_ended_ ? end : end + 1);
    return word;
  }

  std::uint64_t number(std::uint64_t most = kMost) {
    const std::string_view digits = word();
    std::uint64_t number = 0;
    const auto [behind, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (problem != std::errc() || behind != digits.data() + digits.size() || number > most) wrong_ = true;
    return number;
  }

  GrantBound bound() {
    const auto* const found = std::find(kBounds.begin(), kBounds.end(), word());
    if (found == kBounds.end()) wrong_ = true;
    return static_cast<GrantBound>(found - kBounds.begin());
  }

  bool are_right() const { return !wrong_ && has_ended_; }

 private:
  std::string_view rest_;
  bool has_ended_ = false;
  bool wrong_ = false;
};

}  // namespace

std::string_view to_text(GrantBound bound) {
  return kBounds[static_cast<std::size_t>(bound)];
}

std::string budget_key(std::string_view budget) {
  return "headgate:{" + std::string(budget) + "}";
}

void append_arguments(const LeaseRequest& request, std::vector<std::string>& arguments) {
  arguments.push_back(std::to_string(request.serial));
  arguments.push_back(std::to_string(request.acknowledged));
  arguments.push_back(request.epoch.empty() ? "-" : request.epoch);
  arguments.push_back(std::to_string(request.aged));
  arguments.push_back(std::to_string(microseconds(request.aged_for)));
  arguments.push_back(std::to_string(request.want.bits_per_second));
  arguments.push_back(text_of(request.terms));
}

std::variant<LeaseReply, ReplyError> read_lease_reply(std::string_view line) {
  Words words(line);
  LeaseReply reply;
  reply.epoch = words.word();
  reply.event = words.number();
  reply.serial = words.number();
  reply.grant.bits_per_second = words.number();
  reply.bound = words.bound();
  reply.share.bits_per_second = words.number();
  reply.used.bits_per_second = words.number();
  reply.live = static_cast<std::uint32_t>(words.number(UINT32_MAX));
  reply.longest_lease = std::chrono::microseconds(words.number());
  reply.agreed = words.number(1) == 1;
  if (words.are_right() && reply.epoch.size() <= kLongestEpoch) return reply;
  return ReplyError{
      "\"" + std::string(line.substr(0, 200)) +
      "\" is not a lease, expected: epoch event serial grant why share used live longest agreed"};
}

}  // namespace headgate
