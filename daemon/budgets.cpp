#include "budgets.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "linux/system_call.hpp"

namespace headgate {
namespace {

constexpr Duration kLook = std::chrono::milliseconds(25);  // for what is due, while there are budgets
constexpr Duration kServerPatience = std::chrono::milliseconds(500);

// The random number tells this run from all others of this host.
std::string host_name() {
  std::array<char, 65> name{};
  if (gethostname(name.data(), name.size() - 1) < 0) name = {'h', 'o', 's', 't'};
  std::random_device random;
  const auto number = static_cast<std::uint64_t>(random()) << 32 | random();
  return std::string(name.data()) + "-" + std::to_string(number);
}

FileDescriptor open_events(std::initializer_list<int> descriptors) {
  FileDescriptor events(check_system_call("epoll_create1", epoll_create1(EPOLL_CLOEXEC)));
  for (const int descriptor : descriptors) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = descriptor}};
    check_system_call("epoll_ctl", epoll_ctl(events.get(), EPOLL_CTL_ADD, descriptor, &event));
  }
  return events;
}

void clear(const FileDescriptor& descriptor) {
  std::uint64_t times = 0;
  while (::read(descriptor.get(), &times, sizeof times) > 0) {
  }
}

Shape* find(Budgets::Shapes shapes, const std::string& interface, Direction direction) {
  const auto found = std::find_if(shapes.begin(), shapes.end(), [&](const auto& shape) {
    return shape->config().interface == interface && shape->config().direction == direction;
  });
  return found == shapes.end() ? nullptr : found->get();
}

using Names = std::vector<std::string>;

// One line for all of them, however many.
std::string named(const Names& budgets) {
  const std::size_t more = budgets.size() - 1;
  return "budget " + budgets.front() + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

Rate rate_of(const std::optional<BitRate>& bits) {
  return {.packets = {}, .bits = bits.value_or(kMaxBitRate)};
}

}  // namespace

Budgets::Budgets(Log log, Log warn)
    : log_(std::move(log)),
      warn_(std::move(warn)),
      host_(host_name()),
      random_(std::random_device{}()),
      answered_(check_system_call("eventfd", eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))),
      timer_(
          check_system_call("timerfd_create", timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC))),
      events_(open_events({answered_.get(), timer_.get()})) {}

void Budgets::set_timer() {
  const bool some =
      std::any_of(budgets_.begin(), budgets_.end(), [](const auto& one) { return one.second->place; });
  itimerspec period{};
  if (some) period.it_value.tv_nsec = period.it_interval.tv_nsec = kLook.count();
  check_system_call("timerfd_settime", timerfd_settime(timer_.get(), 0, &period, nullptr));
}

RedisTalk& Budgets::talk_with(const BudgetConfig& config) {
  std::unique_ptr<RedisTalk>& talk = talks_[config.redis + "\n" + config.password_file];
  if (!talk) {
    redis::Server server{.address = config.redis, .timeout = kServerPatience};
    talk = std::make_unique<RedisTalk>(std::move(server), config.password_file, host_, answered_.get());
  }
  return *talk;
}

void Budgets::put_in_force(const Config& config) {
  const Instant now = clock_.now();
  std::map<const Budget*, std::pair<std::optional<BudgetPlace>, const RedisTalk*>> before;
  for (auto& [name, budget] : budgets_)
    before[budget.get()] = {std::exchange(budget->place, std::nullopt), std::exchange(budget->talk, nullptr)};
  const std::map<std::string, BudgetPlace> places = budget_places(config);
  demands_.clear();
  for (const BudgetConfig& wanted : config.budgets) {
    const auto place = places.find(wanted.name);
    if (place == places.end()) continue;
    Budget& budget = budget_of(wanted, now);
    budget.place = place->second;
    budget.talk = &talk_with(wanted);
    budget.handed_over.reset();  // new classes go by the configuration
    const auto& [place_before, talk_before] = before[&budget];
    if (!place_before || !place_before->is_where(*budget.place)) {
      budget.meter = {};  // what came elsewhere does not count here
      budget.in_force.clear();
    }
    if (talk_before != nullptr && talk_before != budget.talk) budget.lease.on_connection_lost(now);
    ShapeDemands& shape = demands_of(*budget.place);
    shape.places.push_back(budget.place->rate);
    shape.budgets.push_back(&budget);
  }
  std::map<RedisTalk*, std::size_t> of_server;
  for (const auto& [name, budget] : budgets_) ++of_server[budget->talk];
  for (auto& [name, budget] : budgets_) budget->lease.set_budgets(of_server[budget->talk]);
  set_timer();
}

Budgets::Budget& Budgets::budget_of(const BudgetConfig& wanted, Instant now) {
  std::unique_ptr<Budget>& budget = budgets_[wanted.name];
  if (!budget) {
    budget = std::make_unique<Budget>(
        Budget{.config = wanted, .lease = BudgetLease(wanted.terms, wanted.on_loss, now)});
  } else if (budget->config != wanted) {
    budget->config = wanted;
    budget->lease.set(wanted.terms, wanted.on_loss, now);
  }
  return *budget;
}

Budgets::ShapeDemands& Budgets::demands_of(const BudgetPlace& place) {
  const auto known = std::find_if(demands_.begin(), demands_.end(), [&](const ShapeDemands& shape) {
    return shape.interface == place.interface && shape.direction == place.direction;
  });
  if (known != demands_.end()) return *known;
  return demands_.emplace_back(ShapeDemands{.interface = place.interface, .direction = place.direction});
}

void Budgets::work(Shapes shapes) {
  clear(timer_);
  clear(answered_);
  const Instant now = clock_.now();
  take_answers();
  measure_demand(shapes, now);
  hand_over(shapes);
  hear_of_applied(now);
  ask(now);
}

// Each with the time at which it is there: what is proven by an answer hangs on that.
void Budgets::take_answers() {
  for (auto& [server, talk] : talks_)
    if (const std::optional<LeaseAnswers> answers = talk->take()) take(*answers, *talk, clock_.now());
  // Not while it is busy: the end would wait for the server.
  std::erase_if(talks_, [this](const auto& each) {
    const RedisTalk* const talk = each.second.get();
    return !talk->busy() && std::none_of(budgets_.begin(), budgets_.end(),
                                         [talk](const auto& one) { return one.second->talk == talk; });
  });
}

void Budgets::take(const LeaseAnswers& answers, const RedisTalk& talk, Instant now) {
  Names lost, back;
  const auto note = [&](Budget& budget, const std::string& trouble) {
    if (budget.trouble.empty() != trouble.empty())
      (trouble.empty() ? back : lost).push_back(budget.config.name);
    budget.trouble = trouble;
  };
  for (auto& [name, budget] : budgets_) {
    if (answers.trouble.empty() || budget->talk != &talk) continue;
    budget->lease.on_connection_lost(now);
    note(*budget, answers.trouble);
  }
  std::string trouble = answers.trouble;
  for (const LeaseAnswer& answer : answers.answers) {
    Budget& budget = *budgets_.at(answer.budget);
    if (budget.talk != &talk) continue;  // of a server that it does not ask any more
    if (const auto* const error = std::get_if<ReplyError>(&answer.reply)) {
      note(budget, trouble = error->message);
      continue;
    }
    budget.lease.on_reply(std::get<LeaseReply>(answer.reply), now);
    budget.answered = now;
    note(budget, {});
  }
  if (!lost.empty()) warn_(named(lost) + ": " + trouble);
  if (!back.empty()) log_(named(back) + ": Redis answers again");
}

void Budgets::measure_demand(Shapes shapes, Instant now) {
  for (ShapeDemands& shape : demands_) {
    if (!shape.asked || !shape.asked->are_there()) continue;
    for (std::size_t i = 0; i < shape.places.size(); ++i) {
      const RateDemand demand = shape.asked->sum(i);
      Budget& budget = *shape.budgets[i];
      budget.want =
          budget.meter.measure({demand.received.bytes}, {demand.queued.bytes}, shape.asked->read_at());
      budget.lease.on_demand(budget.want);
    }
    shape.asked.reset();
  }
  if (now < next_demand_) return;
  next_demand_ = now + DemandMeter::kLook - kLook / 5;  // no later for a tick that comes a little early
  for (ShapeDemands& each : demands_) {
    if (each.asked) continue;
    if (Shape* const shape = find(shapes, each.interface, each.direction))
      each.asked = shape->ask_for_demands(each.places);
  }
}

void Budgets::hand_over(Shapes shapes) {
  for (auto& [name, budget] : budgets_) {
    const RateLease& lease = budget->lease.lease();
    if (!budget->place || budget->handed_over == lease) continue;
    Shape* const shape = find(shapes, budget->place->interface, budget->place->direction);
    if (shape == nullptr) continue;
    const LeasedRate rate{.place = budget->place->rate,
                          .rate = rate_of(lease.rate),
                          .until = lease.until,
                          .after = rate_of(lease.beyond),
                          .serial = lease.serial};
    if (!shape->lease(rate, budget->in_force)) continue;
    budget->handed_over = lease;
    budget->is_applied = false;
  }
}

void Budgets::hear_of_applied(Instant now) {
  for (auto& [name, budget] : budgets_) {
    if (!budget->place || !budget->handed_over || budget->is_applied) continue;
    const std::uint64_t serial = budget->handed_over->serial;
    budget->is_applied = std::all_of(
        budget->in_force.begin(), budget->in_force.end(),
        [serial](const auto& worker) { return worker->load(std::memory_order_acquire) == serial; });
    if (budget->is_applied) budget->lease.on_applied(serial, now);
  }
}

void Budgets::ask(Instant now) {
  std::map<RedisTalk*, std::vector<LeaseQuestion>> questions;
  std::uniform_real_distribution<double> early(0, 1);
  for (auto& [name, budget] : budgets_) {
    if (!budget->place || budget->talk->busy() || now < budget->lease.next_ask()) continue;
    questions[budget->talk].push_back({name, budget->lease.ask(budget->want, now, early(random_))});
  }
  for (auto& [talk, of_talk] : questions) talk->ask(std::move(of_talk));
}

std::vector<BudgetStatistics> Budgets::statistics() const {
  const Instant now = clock_.now();
  std::vector<BudgetStatistics> statistics;
  for (const auto& [name, budget] : budgets_) {
    if (!budget->place) continue;
    const RateLease& lease = budget->lease.lease();
    BudgetStatistics one{.config = budget->config,
                         .interface = budget->place->interface,
                         .direction = budget->place->direction,
                         .want = budget->want,
                         .rate = lease.at(now),
                         .trouble = budget->trouble};
    if (now < lease.until) one.ends_in = lease.until - now;
    if (budget->answered) one.answered_ago = now - *budget->answered;
    if (const auto& reply = budget->lease.last_reply())
      one.told = {.share = reply->share,
                  .used = reply->used,
                  .hosts = reply->live,
                  .bound = std::string(to_text(reply->bound)),
                  .agreed = reply->agreed};
    statistics.push_back(std::move(one));
  }
  return statistics;
}

}  // namespace headgate
