// Hosts that share a budget, their workers, the network and Redis, in virtual time. The hosts are those of the
// daemon (BudgetLease), and Redis runs the script that is shipped. What is around them goes wrong at random:
// requests and replies are lost, late, doubled and out of order; hosts are cut off, stopped, restarted; their
// clocks drift by up to 0.1 %; Redis is restarted with its data, with an old copy or with none; its clock jumps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "budget/budget_lease.hpp"
#include "budget/fake_redis.hpp"

namespace headgate {

// What a host of the model does wrong. For the tests of the model.
enum class HostFlaw : std::uint8_t {
  none,
  acknowledges_early,     // before its workers apply the grant
  lease_from_the_reply,   // counts it from when the reply came
  reply_from_the_asking,  // takes the reply as if it had come when it asked
  sends_on_after_stop,    // a worker that was stopped does not look at the clock
};

struct ModelRules {
  HostFlaw flaw = HostFlaw::none;
  bool is_calm = false;  // nothing goes wrong, and wants change only by want()
};

class LeaseModel {
 public:
  // What happens follows from the seed.
  LeaseModel(FakeRedis& redis, std::uint64_t seed, ModelRules rules);
  LeaseModel(FakeRedis& redis, std::uint64_t seed, ModelRules rules, const BudgetTerms& terms,
             std::size_t hosts);

  // Until then, from the beginning. False: all hosts together were above the rate; the rest is not run.
  bool run_until(Duration time);

  // Some leases, at random.
  bool run();

  void want(std::size_t host, BitRate rate) { hosts_[host].want = rate; }
  void stop_forever(std::size_t host);  // its process is dead
  BitRate in_force(std::size_t host) const;

  const BudgetTerms& terms() const { return terms_; }
  std::string overshoot() const { return overshoot_; }
  double mean_use() const;  // of the rate, over the time

 private:
  struct Worker {
    RateLease lease;
    std::optional<BitRate> when_stopped;  // with sends_on_after_stop: until its next step
  };
  struct Host {
    std::string name;
    bool runs = false;
    std::uint64_t process = 0;  // events of a former one are void
    std::unique_ptr<BudgetLease> lease;
    RateLease published;
    std::vector<Worker> workers;
    BitRate want;
    std::int64_t drift = 0;  // millionths
    Duration offset{};
    Instant asked{};
    Duration delay_to_redis = std::chrono::milliseconds(1);  // usually, at most
    Duration delay_to_host = std::chrono::milliseconds(1);
    Duration stopped_until{};
    Duration cut_off_until{};
    std::uint64_t ticks = 0;
  };
  struct Event {
    Duration at;
    std::uint64_t order;
    std::function<void()> happen;
    bool operator<(const Event& other) const { return at != other.at ? at > other.at : order > other.order; }
  };

  // Random numbers.
  bool chance(double probability) { return std::uniform_real_distribution<>()(random_) < probability; }
  std::uint64_t number(std::uint64_t least, std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(least, most)(random_);
  }
  Duration time_up_to(Duration most) {
    return Duration(static_cast<Duration::rep>(number(0, static_cast<std::uint64_t>(most.count()))));
  }
  Duration delay(Duration usual);
  Duration delay_of_copy();
  BitRate some_want();
  double some_fraction() { return std::uniform_real_distribution<>()(random_); }

  // Time.
  void after(Duration time, std::function<void()> happen);
  void in_process(std::size_t host, Duration time, std::function<void(Host&)> happen);
  Instant clock_of(const Host& host) const;
  Duration until(const Host& host, Instant time) const;

  // A host.
  void start(std::size_t host);
  void schedule(std::size_t host);
  void tick(std::size_t host, std::uint64_t tick);
  void ask(std::size_t host);
  void receive(std::size_t host, const std::string& line);
  void publish(std::size_t host);
  void apply(std::size_t host, std::size_t worker);
  std::uint64_t applied_serial(const Host& host) const;
  BitRate in_force(const Host& host) const;

  // The network and Redis.
  void send(std::size_t host, std::vector<std::string> arguments);
  void serve(std::size_t host, const std::vector<std::string>& arguments);

  // What goes wrong.
  void disturb();
  void disturb_host(std::size_t host);
  void stop(Host& host);
  void disturb_redis();
  void check();

  FakeRedis& redis_;
  std::mt19937_64 random_;
  ModelRules rules_;
  BudgetTerms terms_;
  std::vector<Host> hosts_;

  double loss_ = 0;
  double doubling_ = 0;
  double spite_ = 0;  // a host is cut off or stopped just when it has been granted, or has asked
  FakeData copy_;     // of former data
  Duration redis_down_until_{};

  Duration now_{};
  std::uint64_t order_ = 0;
  std::priority_queue<Event> events_;
  std::string overshoot_;
  double used_ = 0;
  Duration last_check_{};
  double last_use_ = 0;
};

}  // namespace headgate
