// Many hosts that share one budget, as Redis sees them: each asks as headgated does, by a connection of its own,
// and wants something else each second. What is granted is in force at once. Says "begun" on standard error once
// Redis grants, and prints at the end how often it was asked as one JSON object.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "budget/budget_lease.hpp"
#include "budget/demand_meter.hpp"
#include "budget/lease_script.hpp"
#include "headgate/clock.hpp"
#include "headgate/redis/connection.hpp"
#include "linux/timer_waiter.hpp"

namespace {

using namespace headgate;
using namespace std::chrono_literals;

constexpr Duration kLook = 5ms;
constexpr Duration kChange = 1s;  // of the demand

const redis::Script& script() {
  static const redis::Script script{kLeaseScript};
  return script;
}

class Host {
 public:
  Host(const std::string& server, std::string name, const BudgetTerms& terms, std::mt19937_64& random,
       Instant now)
      : name_(std::move(name)),
        terms_(terms),
        random_(random),
        connection_({.address = server}),
        lease_(terms, OnLoss::floor, now),
        next_change_(now + Duration(static_cast<Duration::rep>(part() * kChange.count()))),
        looked_(now) {}

  // True when it asked.
  bool work(Instant now) {
    if (now >= next_change_) {
      offered_ = part() * 4 * static_cast<double>(terms_.rate.bits_per_second) / terms_.hosts;
      next_change_ += kChange;
    }
    if (now >= next_look_) {
      const std::chrono::duration<double> passed = now - looked_;
      arrived_ += offered_ / 8 * passed.count();
      want_ = meter_.measure({static_cast<std::uint64_t>(arrived_)}, {}, now);
      lease_.on_demand(want_);
      looked_ = now;
      next_look_ = now + DemandMeter::kLook;
    }
    if (now < lease_.next_ask()) return false;
    ask(now);
    return true;
  }

 private:
  double part() { return std::uniform_real_distribution<double>(0, 1)(random_); }

  void ask(Instant now) {
    const LeaseRequest request = lease_.ask(want_, now, part());
    const std::vector<std::string> keys{budget_key("bench")};
    std::vector<std::string> arguments{name_};
    append_arguments(request, arguments);
    const std::variant<LeaseReply, ReplyError> reply =
        read_lease_reply(connection_.texts(script(), keys, arguments).at(0));
    if (const auto* error = std::get_if<ReplyError>(&reply)) throw std::runtime_error(error->message);
    if (lease_.on_reply(std::get<LeaseReply>(reply), now)) lease_.on_applied(request.serial, now);
  }

  const std::string name_;
  const BudgetTerms terms_;
  std::mt19937_64& random_;
  redis::Connection connection_;
  BudgetLease lease_;
  DemandMeter meter_;
  double offered_ = 0;  // bit/s
  double arrived_ = 0;  // bytes
  BitRate want_;
  Instant next_change_;
  Instant looked_;
  Instant next_look_{};
};

std::uint64_t run(std::vector<std::unique_ptr<Host>>& hosts, MonotonicClock& clock, Duration time) {
  std::uint64_t asked = 0;
  const Instant end = clock.now() + time;
  while (clock.now() < end) {
    for (const auto& host : hosts) asked += host->work(clock.now()) ? 1 : 0;
    std::this_thread::sleep_for(kLook);
  }
  return asked;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: lease_hosts REDIS HOSTS SECONDS\n", stderr);
    return 1;
  }
  try {
    const auto number = static_cast<std::uint32_t>(std::stoul(argv[2]));
    const BudgetTerms terms{.rate = {1'000'000'000}, .floor = {1'000'000}, .hosts = number, .lease = 2s};
    MonotonicClock clock;
    std::mt19937_64 random(7);
    std::vector<std::unique_ptr<Host>> hosts;
    for (std::uint32_t host = 0; host < number; ++host)
      hosts.push_back(
          std::make_unique<Host>(argv[1], "host-" + std::to_string(host), terms, random, clock.now()));
    run(hosts, clock, 3s);  // until Redis has learnt
    std::fputs("begun\n", stderr);
    const std::uint64_t asked = run(hosts, clock, std::chrono::seconds(std::stoul(argv[3])));
    std::printf("{\"asked\":%ju}\n", std::uintmax_t{asked});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lease_hosts: %s\n", error.what());
    return 1;
  }
}
