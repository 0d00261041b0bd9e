#include "budget/lease_model.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "support/manual_clock.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;

const std::string kKey = budget_key("model");

BudgetTerms some_terms(std::mt19937_64& random) {
  const auto pick = [&random](std::uint64_t least, std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(least, most)(random);
  };
  BudgetTerms terms;
  terms.rate = {pick(1'000, 10'000'000'000)};
  terms.hosts = static_cast<std::uint32_t>(pick(0, 2) == 0 ? pick(1, 10) : pick(1, 4));
  terms.floor = {pick(0, 2) == 0 ? pick(0, terms.rate.bits_per_second / terms.hosts)
                                 : pick(0, terms.rate.bits_per_second / (10 * terms.hosts))};
  terms.lease = Duration(1ms) * static_cast<Duration::rep>(pick(400, 2'000));
  return terms;
}

}  // namespace

LeaseModel::LeaseModel(FakeRedis& redis, std::uint64_t seed, ModelRules rules)
    : redis_(redis), random_(seed), rules_(rules), terms_(some_terms(random_)), hosts_(terms_.hosts) {
  redis_.restart({});
  redis_.clock = 1'700'000'000s;
  loss_ = chance(0.5) ? 0 : 0.1;
  doubling_ = chance(0.5) ? 0 : 0.4;
  spite_ = chance(0.5) ? 0 : 0.04;
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    hosts_[host].want = some_want();
    if (chance(0.3)) hosts_[host].delay_to_redis = time_up_to(terms_.lease / 4);
    if (chance(0.3)) hosts_[host].delay_to_host = time_up_to(terms_.lease / 4);
    after(time_up_to(chance(0.7) ? 10ms : terms_.lease * 2), [this, host] {
      if (!hosts_[host].runs) start(host);
    });
  }
  after(time_up_to(terms_.lease), [this] { disturb(); });
}

LeaseModel::LeaseModel(FakeRedis& redis, std::uint64_t seed, ModelRules rules, const BudgetTerms& terms,
                       std::size_t hosts)
    : redis_(redis), random_(seed), rules_(rules), terms_(terms), hosts_(hosts) {
  redis_.restart({});
  for (std::size_t host = 0; host < hosts_.size(); ++host)
    after(time_up_to(terms_.lease / 8), [this, host] { start(host); });
}

bool LeaseModel::run_until(Duration time) {
  while (!events_.empty() && events_.top().at <= time) {
    const Event event = events_.top();
    events_.pop();
    redis_.clock += std::chrono::duration_cast<std::chrono::microseconds>(event.at - now_);
    now_ = event.at;
    event.happen();
    check();
    if (!overshoot_.empty()) return false;
  }
  return true;
}

bool LeaseModel::run() {
  return run_until(terms_.lease * 5);
}

void LeaseModel::stop_forever(std::size_t host) {
  hosts_[host].runs = false;
  ++hosts_[host].process;
}

BitRate LeaseModel::in_force(std::size_t host) const {
  return in_force(hosts_[host]);
}

double LeaseModel::mean_use() const {
  return now_.count() == 0 ? 0 : used_ / static_cast<double>(now_.count());
}

Duration LeaseModel::delay(Duration usual) {
  if (rules_.is_calm) return usual;
  if (chance(0.03)) return time_up_to(terms_.lease * 2);
  return 10us + time_up_to(usual);
}

Duration LeaseModel::delay_of_copy() {
  return time_up_to(chance(0.5) ? terms_.lease * 2 : terms_.lease / 8);
}

BitRate LeaseModel::some_want() {
  if (chance(0.2)) return {0};
  if (chance(0.5)) return terms_.rate;
  return {number(0, terms_.rate.bits_per_second)};
}

void LeaseModel::after(Duration time, std::function<void()> happen) {
  events_.push({now_ + time, ++order_, std::move(happen)});
}

// In the process that runs now, or never; when it is stopped then, once it goes on.
void LeaseModel::in_process(std::size_t host, Duration time, std::function<void(Host&)> happen) {
  after(time, [this, host, process = hosts_[host].process, happen = std::move(happen)] {
    Host& then = hosts_[host];
    if (then.process != process) return;
    if (then.stopped_until <= now_) return happen(then);
    in_process(host, then.stopped_until - now_ + time_up_to(1ms), happen);
  });
}

Instant LeaseModel::clock_of(const Host& host) const {
  return kTestStart + host.offset + now_ + Duration(now_.count() * host.drift / 1'000'000);
}

// By the host's clock, at least.
Duration LeaseModel::until(const Host& host, Instant time) const {
  const Duration left = time - clock_of(host);
  return std::max(Duration{}, left + Duration(left.count() * -host.drift / 1'000'000) + 1us);
}

void LeaseModel::start(std::size_t number_of_host) {
  Host& host = hosts_[number_of_host];
  ++host.process;
  host.runs = true;
  host.name = "host-" + std::to_string(number_of_host) + "-" + std::to_string(host.process);
  host.drift = static_cast<std::int64_t>(number(0, 2'000)) - 1'000;
  host.offset = time_up_to(1h);
  host.stopped_until = {};
  host.lease = std::make_unique<BudgetLease>(terms_, OnLoss::floor, clock_of(host));
  host.published = host.lease->lease();
  host.workers.assign(number(1, 2), {host.published, std::nullopt});
  schedule(number_of_host);
}

void LeaseModel::schedule(std::size_t number_of_host) {
  Host& host = hosts_[number_of_host];
  in_process(
      number_of_host, until(host, host.lease->next_ask()),
      [this, number_of_host, tick_number = ++host.ticks](Host&) { tick(number_of_host, tick_number); });
}

void LeaseModel::tick(std::size_t number_of_host, std::uint64_t tick_number) {
  Host& host = hosts_[number_of_host];
  if (tick_number != host.ticks) return;
  if (clock_of(host) >= host.lease->next_ask()) ask(number_of_host);
  schedule(number_of_host);
}

void LeaseModel::ask(std::size_t number_of_host) {
  Host& host = hosts_[number_of_host];
  host.asked = clock_of(host);
  std::vector<std::string> arguments{host.name};
  append_arguments(host.lease->ask(host.want, host.asked, some_fraction()), arguments);
  send(number_of_host, std::move(arguments));
  if (chance(spite_ / 2)) stop(host);
}

void LeaseModel::send(std::size_t number_of_host, std::vector<std::string> arguments) {
  if (chance(loss_)) return;
  const int copies = chance(doubling_) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    after(delay(hosts_[number_of_host].delay_to_redis) + (copy == 0 ? Duration{} : delay_of_copy()),
          [this, number_of_host, arguments] { serve(number_of_host, arguments); });
  }
}

void LeaseModel::serve(std::size_t number_of_host, const std::vector<std::string>& arguments) {
  Host& host = hosts_[number_of_host];
  if (now_ < redis_down_until_ || now_ < host.cut_off_until) return;
  const std::string line = redis_.run({kKey}, arguments).at(0);
  if (arguments.front() != host.name || !host.runs) return;
  if (chance(loss_)) return;
  const int copies = chance(doubling_) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy)
    in_process(number_of_host, delay(host.delay_to_host) + (copy == 0 ? Duration{} : delay_of_copy()),
               [this, number_of_host, line](Host&) { receive(number_of_host, line); });
}

void LeaseModel::receive(std::size_t number_of_host, const std::string& line) {
  Host& host = hosts_[number_of_host];
  if (now_ < host.cut_off_until) return;
  const LeaseReply reply = std::get<LeaseReply>(read_lease_reply(line));
  const Instant now = rules_.flaw == HostFlaw::reply_from_the_asking ? host.asked : clock_of(host);
  if (host.lease->on_reply(reply, now)) publish(number_of_host);
  if (chance(spite_)) host.cut_off_until = now_ + terms_.lease * 2;
  schedule(number_of_host);
}

void LeaseModel::publish(std::size_t number_of_host) {
  Host& host = hosts_[number_of_host];
  host.published = host.lease->lease();
  if (rules_.flaw == HostFlaw::lease_from_the_reply) host.published.until = clock_of(host) + terms_.lease;
  if (rules_.flaw == HostFlaw::acknowledges_early)
    host.lease->on_applied(host.published.serial, clock_of(host));
  for (std::size_t worker = 0; worker < host.workers.size(); ++worker) {
    const Duration time = rules_.is_calm || chance(0.9) ? time_up_to(5ms) : time_up_to(terms_.lease / 2);
    in_process(number_of_host, time,
               [this, number_of_host, worker](Host&) { apply(number_of_host, worker); });
  }
}

void LeaseModel::apply(std::size_t number_of_host, std::size_t worker) {
  Host& host = hosts_[number_of_host];
  host.workers[worker] = {host.published, std::nullopt};
  in_process(number_of_host, time_up_to(100us),
             [this, number_of_host, serial = applied_serial(host)](Host& then) {
               if (serial > 0) then.lease->on_applied(serial, clock_of(then));
               schedule(number_of_host);
             });
}

// By all workers.
std::uint64_t LeaseModel::applied_serial(const Host& host) const {
  std::uint64_t serial = host.published.serial;
  for (const Worker& worker : host.workers) serial = std::min(serial, worker.lease.serial);
  return serial;
}

BitRate LeaseModel::in_force(const Host& host) const {
  BitRate most;
  if (!host.runs) return most;
  for (const Worker& worker : host.workers) {
    most = std::max(most, worker.lease.at(clock_of(host)).value());
    if (now_ >= host.stopped_until) most = std::max(most, worker.when_stopped.value_or(BitRate{}));
  }
  return most;
}

void LeaseModel::disturb() {
  if (rules_.is_calm) return;
  const std::size_t host = number(0, hosts_.size() - 1);
  if (chance(0.5)) {
    hosts_[host].want = some_want();
    if (hosts_[host].runs) {
      in_process(host, {}, [this, host](Host& its) {
        its.lease->on_demand(its.want);
        schedule(host);
      });
    }
  } else if (chance(0.6)) {
    disturb_host(host);
  } else {
    disturb_redis();
  }
  after(time_up_to(terms_.lease / 2), [this] { disturb(); });
}

void LeaseModel::disturb_host(std::size_t number_of_host) {
  Host& host = hosts_[number_of_host];
  const Duration time = time_up_to(terms_.lease * 3 / 2);
  switch (host.runs ? number(0, 3) : 3) {
    case 0:  // The connection is not closed: it hangs.
      host.cut_off_until = now_ + time;
      break;
    case 1:
      host.cut_off_until = now_ + time;
      in_process(number_of_host, time, [this, number_of_host](Host& then) {
        then.lease->on_connection_lost(clock_of(then));
        schedule(number_of_host);
      });
      break;
    case 2:
      stop(host);
      break;
    default:
      stop_forever(number_of_host);
      after(time, [this, number_of_host] {
        if (!hosts_[number_of_host].runs) start(number_of_host);
      });
  }
}

void LeaseModel::stop(Host& host) {
  host.stopped_until = now_ + time_up_to(terms_.lease * 3 / 2);
  if (rules_.flaw != HostFlaw::sends_on_after_stop) return;
  for (Worker& worker : host.workers) worker.when_stopped = worker.lease.at(clock_of(host));
}

void LeaseModel::disturb_redis() {
  switch (number(0, 4)) {
    case 0:
      copy_ = redis_.data;
      break;
    case 1:
      redis_.data.clear();
      break;
    case 2:
      redis_.clock += std::chrono::duration_cast<std::chrono::microseconds>(time_up_to(5min) - 2min);
      break;
    default:
      redis_.restart(chance(0.4) ? copy_ : chance(0.5) ? redis_.data : FakeData{});
      if (chance(0.5)) redis_down_until_ = now_ + time_up_to(terms_.lease);
  }
}

// Between two events no host's rate grows.
void LeaseModel::check() {
  std::uint64_t sum = 0;
  for (const Host& host : hosts_) sum += in_force(host).bits_per_second;
  used_ += last_use_ * static_cast<double>((now_ - last_check_).count());
  last_check_ = now_;
  last_use_ = static_cast<double>(sum) / static_cast<double>(terms_.rate.bits_per_second);
  if (sum <= terms_.rate.bits_per_second) return;
  overshoot_ = "after " +
               std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(now_).count()) +
               " ms: " + std::to_string(sum) + " bit/s of " + std::to_string(terms_.rate.bits_per_second);
  for (const Host& host : hosts_)
    overshoot_ += "\n  " + host.name + " " + std::to_string(in_force(host).bits_per_second);
}

}  // namespace headgate
