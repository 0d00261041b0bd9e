#include "budget/budget_lease.hpp"

#include <algorithm>

namespace headgate {
namespace {

constexpr Duration kLongestPeriod = std::chrono::milliseconds(250);
constexpr int kAsksInLease = 8;
constexpr Duration kSoonestAtAll = std::chrono::milliseconds(25);
constexpr int kSoonest = 8;  // asks in a period
// Hosts x budgets; as many ask no sooner than once in a period, and more ask less often, for the server's work grows with
// each of them.
constexpr std::size_t kPartsAtEase = 64;
constexpr std::size_t kMostParts = 10'000;  // that make a difference
constexpr int kMuch = 8;                    // a change of demand by more than this part of the grant
constexpr int kWitnessesInLease = 16;
constexpr int kPatience = 4;  // an answer that takes longer than this part of the lease is not waited for

// The proof that a lease is over waits for 1 % more: ten times what a clock is wrong by.
Duration age_that_proves(Duration lease) {
  return lease + lease / 100;
}

}  // namespace

BudgetLease::BudgetLease(const BudgetTerms& terms, OnLoss on_loss, Instant now)
    : terms_(terms), on_loss_(on_loss), next_ask_(now) {
  lease_ = {.rate = terms.floor, .beyond = rate_beyond()};
}

void BudgetLease::set(const BudgetTerms& terms, OnLoss on_loss, Instant now) {
  terms_ = terms;
  on_loss_ = on_loss;
  lease_.until = std::min(lease_.until, now + terms.lease);
  asked_until_ = std::min(asked_until_, now + terms.lease);
  if (lease_.serial == 0) lease_.rate = terms.floor;
  lease_.beyond = rate_beyond();
}

LeaseRequest BudgetLease::ask(BitRate want, Instant now, double early) {
  asked_ = now;
  asked_until_ = now + terms_.lease;
  is_answered_ = false;
  due_ = now + period() -
         Duration(static_cast<Duration::rep>(early * static_cast<double>(period().count()) / 8));
  next_ask_ = now + std::max(terms_.lease / kPatience, period());
  return {.serial = ++serial_,
          .acknowledged = acknowledged_,
          .epoch = epoch_,
          .aged = aged_event(now),
          .aged_for = longest_lease(),
          .want = std::min(want, terms_.rate),
          .terms = terms_};
}

bool BudgetLease::on_reply(const LeaseReply& reply, Instant now) {
  if (reply.serial != serial_ || is_answered_) return false;
  is_answered_ = true;
  last_reply_ = reply;
  next_ask_ = due_;
  if (reply.bound == GrantBound::old) return false;
  witness(reply, now);
  // The lease of the epoch before is good to its end: Redis learns for so long.
  if (reply.bound == GrantBound::learning && reply.grant < lease_.rate && now < lease_.until) {
    next_ask_ = std::min(due_, lease_.until);
    return false;
  }
  // Sooner, if this host waits for what others give back, or they for what it does.
  const std::uint64_t rate = terms_.rate.bits_per_second;
  const bool waits = reply.bound == GrantBound::share || reply.bound == GrantBound::others;
  const bool gives = reply.grant < lease_.at(now) && reply.used.bits_per_second >= rate - rate / kMuch;
  if (waits || gives) due_ = std::min(due_, asked_ + soon());
  lease_ = {.serial = serial_, .rate = reply.grant, .until = asked_until_};
  lease_.beyond = rate_beyond();
  next_ask_ = asked_ + std::max(terms_.lease / kPatience, period());
  return true;
}

void BudgetLease::on_connection_lost(Instant now) {
  is_answered_ = true;
  next_ask_ = std::max(now, asked_ + soon());
}

void BudgetLease::on_applied(std::uint64_t serial, Instant now) {
  if (serial != lease_.serial || acknowledged_ == serial) return;
  acknowledged_ = serial;
  if (is_answered_) next_ask_ = std::max(now, due_);
}

Duration BudgetLease::period() const {
  return std::max(period_at_ease(), soon());
}

Duration BudgetLease::period_at_ease() const {
  return std::min(terms_.lease / kAsksInLease, kLongestPeriod);
}

Duration BudgetLease::soon() const {
  const std::size_t hosts = last_reply_ ? last_reply_->live : 0;
  const auto parts = static_cast<int>(std::min(hosts * budgets_, kMostParts));
  const Duration wanted = period_at_ease() * parts / static_cast<int>(kPartsAtEase);
  const Duration soonest = std::min(period_at_ease(), std::max(period_at_ease() / kSoonest, kSoonestAtAll));
  return std::clamp(wanted, soonest, std::max(period_at_ease(), terms_.lease / kPatience));
}

// A host that its share bounds has no use for asking, but to give back.
void BudgetLease::on_demand(BitRate want) {
  if (!is_answered_ || !last_reply_ || acknowledged_ != lease_.serial) return;
  const std::uint64_t granted = lease_.rate.bits_per_second;
  const bool less = std::max(want, terms_.floor).bits_per_second < granted - granted / kMuch;
  const bool more =
      want.bits_per_second > granted + granted / kMuch && last_reply_->bound == GrantBound::want;
  if (less || more) next_ask_ = std::min(next_ask_, asked_ + soon());
}

Duration BudgetLease::longest_lease() const {
  return std::max(terms_.lease, told_lease_);
}

void BudgetLease::witness(const LeaseReply& reply, Instant now) {
  if (reply.epoch != epoch_) witnesses_.clear();
  epoch_ = reply.epoch;
  told_lease_ = reply.longest_lease;
  if (witnesses_.empty() || now - witnesses_.back().seen >= longest_lease() / kWitnessesInLease)
    witnesses_.push_back({reply.event, now});
}

std::uint64_t BudgetLease::aged_event(Instant now) {
  const Instant aged = now - age_that_proves(longest_lease());
  while (witnesses_.size() > 1 && witnesses_[1].seen <= aged) witnesses_.pop_front();
  return !witnesses_.empty() && witnesses_.front().seen <= aged ? witnesses_.front().event : 0;
}

std::optional<BitRate> BudgetLease::rate_beyond() const {
  if (on_loss_ == OnLoss::open) return std::nullopt;
  return on_loss_ == OnLoss::hold ? std::max(lease_.rate, terms_.floor) : terms_.floor;
}

}  // namespace headgate
