// A host's part of a budget: when it asks Redis for rate, and what it may send in the meantime. Pure: whoever talks
// to Redis calls it, in one thread, with the time of CLOCK_MONOTONIC. A budget that is set up anew begins with
// serial 1, and so needs another host's name (lease_request.hpp).
//
// Why all hosts together keep the rate, at every instant:
//  1. For each host Redis counts the largest grant that it may still use, and its floor for each that it does not
//     know. All of them are at most the rate, for a new grant takes only what is left.
//  2. A host uses the grant of its newest request only, for one lease from the asking. It acknowledges a grant when
//     all its workers apply it: then no older one can come into force any more, and Redis counts none.
//  3. Redis counts a grant as ended only when a host proves it: that host had a reply made at the same time or
//     later, and more than a lease ago by its clock. Clocks may run wrong by 0.1 %, for the proof waits 1 % longer.
//  4. When Redis has lost its data, it grants nothing above the floor until a lease is proven to have passed.
// It holds for on_loss = floor, while all hosts say the same terms, no more run than terms.hosts, and there is one
// Redis: two masters after a failover grant twice. A clock that stands still, as of a suspended machine, stretches
// a lease.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "budget/lease_request.hpp"
#include "vocabulary/budget.hpp"

namespace headgate {

// What a worker goes by. It looks at its own clock before it sends: a process that was stopped keeps to it too.
struct RateLease {
  std::uint64_t serial = 0;  // of the request; 0: nothing was granted yet
  BitRate rate;
  Instant until = Instant::min();
  std::optional<BitRate> beyond;  // the rate from then on; unset: no limit

  std::optional<BitRate> at(Instant now) const { return now < until ? rate : beyond; }
  bool operator==(const RateLease&) const = default;
};

class BudgetLease {
 public:
  BudgetLease(const BudgetTerms& terms, OnLoss on_loss, Instant now);

  // From the next request on. A shorter lease cuts the one that is in force.
  void set(const BudgetTerms& terms, OnLoss on_loss, Instant now);

  // When to call ask(): while an answer or the workers are waited for, when they have taken too long.
  Instant next_ask() const { return next_ask_; }

  // `now` is read before the request is sent. `early`, 0 … 1 at random, keeps hosts apart that start together.
  LeaseRequest ask(BitRate want, Instant now, double early);

  // `now` is read after the reply was received. False: it is late, or no grant, and changes nothing.
  bool on_reply(const LeaseReply& reply, Instant now);

  // No answer will come.
  void on_connection_lost(Instant now);

  // All workers apply the lease with this serial. Called after each change of lease(); without workers, at once.
  void on_applied(std::uint64_t serial, Instant now);

  // How many budgets this host asks the same server for, this one included. For few it asks sooner when that helps.
  void set_budgets(std::size_t budgets) { budgets_ = budgets; }

  // What wants to go through now. Asks soon where that differs much from what is granted.
  void on_demand(BitRate want);

  // For the workers. Changes in on_reply() and set() only.
  const RateLease& lease() const { return lease_; }

  // To be shown: the last reply to the newest request, whether a grant or not.
  const std::optional<LeaseReply>& last_reply() const { return last_reply_; }

 private:
  struct Witness {
    std::uint64_t event;
    Instant seen;
  };

  Duration period() const;
  Duration period_at_ease() const;
  Duration soon() const;
  Duration longest_lease() const;
  void witness(const LeaseReply& reply, Instant now);
  std::uint64_t aged_event(Instant now);
  std::optional<BitRate> rate_beyond() const;

  BudgetTerms terms_;
  OnLoss on_loss_;
  std::size_t budgets_ = 1;
  RateLease lease_;
  std::optional<LeaseReply> last_reply_;

  std::uint64_t serial_ = 0;  // of the newest request
  std::uint64_t acknowledged_ = 0;
  Instant asked_{};
  Instant asked_until_{};  // the end of what it is granted
  bool is_answered_ = true;
  Instant next_ask_;
  Instant due_{};  // the next request, if workers apply in time

  std::string epoch_;
  Duration told_lease_{};          // the longest of all hosts, as told last
  std::deque<Witness> witnesses_;  // events of the epoch, oldest first; some in a lease
};

}  // namespace headgate
