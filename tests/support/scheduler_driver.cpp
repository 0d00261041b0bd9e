#include "support/scheduler_driver.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace headgate {
namespace {

constexpr double kCreditItems = 20;
constexpr std::uint64_t kNanosecondsOfAByte = 8'000'000'000;  // at one bit a second

// Rounded up.
Duration time_of(unsigned __int128 bytes, std::uint64_t rate) {
  return Duration{static_cast<std::int64_t>((bytes * kNanosecondsOfAByte + rate - 1) / rate)};
}

}  // namespace

SchedulerDriver::SchedulerDriver(const Scheduler::Config& config, const SchedulerDrive& drive)
    : config_(config),
      drive_(drive),
      random_(drive.seed),
      scheduler_(config),
      now_(drive.start),
      classes_(config.classes.size()) {
  add_node({}, config.rate);
  nodes_.front().parent.reset();
  for (const Scheduler::Group& group : config.groups) add_node(group.parent, group.ceiling);
  for (const Scheduler::Class& each : config.classes) {
    add_node(each.parent, each.ceiling);
    if (!each.guarantee) continue;
    for (std::optional<std::size_t> node = nodes_.size() - 1; node; node = nodes_[*node].parent)
      ++nodes_[*node].guarantees;
  }
}

void SchedulerDriver::add_node(const std::optional<Scheduler::GroupNumber>& parent,
                               const std::optional<BitRate>& ceiling) {
  nodes_.push_back({.parent = parent ? *parent + 1 : 0, .ceiling = ceiling, .level_at = now_});
}

void SchedulerDriver::set_source(const Scheduler::Flow& name, const ItemSource& source) {
  auto found = std::ranges::find_if(flows_, [&](const Flow& flow) { return flow.name == name; });
  if (found == flows_.end()) {
    found = flows_.insert(flows_.end(), Flow{.name = name});
    const Scheduler::FlowRate& rate = config_.classes[name.of_class].flow_rate;
    if (rate.packets)
      found->packets.emplace(rate.packets->packets, rate.packets->seconds * 1'000'000'000ULL,
                             rate.burst_packets);
    if (rate.bits) found->bits.emplace(rate.bits->bits_per_second, kNanosecondsOfAByte, rate.burst.bytes);
  }
  const auto number = static_cast<std::size_t>(found - flows_.begin());
  found->source = source;
  found->source_bytes = 0;
  ++found->generation;
  if (source.saturating) {
    refill(number);
  } else if (source.rate != 0) {
    const auto item = static_cast<std::uint64_t>(time_of(source.most, source.rate).count());
    found->since = now_ + Duration{up_to(item)};
    arrivals_.push({found->since, number, found->generation});
  }
}

void SchedulerDriver::run_for(Duration duration) {
  const Instant end = now_ + duration;
  while (!testing::Test::HasFailure()) {
    arrive_until_now();
    while (dequeue_one()) arrive_until_now();
    const std::optional<Instant> event = scheduler_.next_event();
    EXPECT_EQ(event.has_value(), scheduler_.items() > 0);
    EXPECT_TRUE(!event || *event > now_) << "would not sleep, though nothing may go";
    Instant next = end;
    if (event) next = std::min(next, *event);
    if (!arrivals_.empty()) next = std::min(next, arrivals_.top().at);
    if (next >= end) break;
    now_ = next +
           Duration{drive_.late > Duration{0} ? up_to(static_cast<std::uint64_t>(drive_.late.count())) : 0};
  }
  now_ = std::max(now_, end);
}

void SchedulerDriver::arrive_until_now() {
  while (!arrivals_.empty() && arrivals_.top().at <= now_) {
    const auto [at, number, generation] = arrivals_.top();
    arrivals_.pop();
    Flow& flow = flows_[number];
    if (generation != flow.generation) continue;
    flow.source_bytes += arrive(number + up_to(flow.source.flows - 1), flow.source);
    arrivals_.push({flow.since + time_of(flow.source_bytes, flow.source.rate), number, generation});
  }
}

void SchedulerDriver::refill(std::size_t number) {
  const Flow& flow = flows_[number];
  if (!flow.source.saturating) return;
  const std::uint64_t before = refused_;
  while (flow.queue.size() < flow.source.waiting && refused_ == before) arrive(number, flow.source);
}

// Returns how many bytes.
std::uint64_t SchedulerDriver::arrive(std::size_t number, const ItemSource& source) {
  Flow& flow = flows_[number];
  const std::uint64_t bytes = source.least + up_to(source.most - source.least);
  const Scheduler::Handle handle = flow_of_.size();
  if (!scheduler_.enqueue(handle, flow.name, {1, bytes}, now_)) {
    ++refused_;
    return bytes;
  }
  largest_ = std::max(largest_, bytes);
  flow_of_.push_back(number);
  flow.queue.push_back({handle, number, bytes, now_});
  ++taken_;
  expect_conservation();
  return bytes;
}

bool SchedulerDriver::dequeue_one() {
  const std::optional<Scheduler::Departure> departure = scheduler_.dequeue(now_);
  if (!departure) return false;
  const Item item = take_back(departure->handle);
  if (testing::Test::HasFailure()) return false;
  Flow& flow = flows_[item.flow];
  const Scheduler::Class& its_class = config_.classes[flow.name.of_class];
  const Duration waited = now_ - item.arrival;
  EXPECT_LE(departure->at, now_);
  EXPECT_GE(departure->at,
            std::max(item.arrival,
                     departure->verdict == Scheduler::Verdict::send ? now_ - config_.catch_up : now_));
  const bool exact = drive_.late == Duration{0} && drained_ == 0;
  if (exact) {
    EXPECT_EQ(departure->at, now_);
  }
  if (departure->verdict == Scheduler::Verdict::too_old) {
    ++too_old_;
    EXPECT_GT(waited, its_class.queue.longest_wait.value_or(Duration::max()));
  } else if (departure->verdict == Scheduler::Verdict::congested) {
    ++congested_;
    EXPECT_TRUE(its_class.codel && waited >= its_class.codel->target);
  } else {
    ++sent_;
    EXPECT_GE(departure->at, flow.left);
    flow.left = departure->at;
    EXPECT_LE(waited, its_class.queue.longest_wait.value_or(Duration::max()));
    flow.sent_bytes += item.bytes;
    classes_[flow.name.of_class].sent_bytes += item.bytes;
    expect_flow_rate(flow, item, departure->at);
    if (exact || config_.catch_up == Duration{0})
      expect_rates(1 + config_.groups.size() + flow.name.of_class, item.bytes, now_);
  }
  EXPECT_EQ(scheduler_.items(flow.name), flow.queue.size());
  refill(item.flow);
  expect_conservation();
  return true;
}

// In its flow's order, and once.
SchedulerDriver::Item SchedulerDriver::take_back(Scheduler::Handle handle) {
  if (handle >= flow_of_.size()) {
    ADD_FAILURE() << "no such handle: " << handle;
    return {};
  }
  Flow& flow = flows_[flow_of_[handle]];
  if (flow.queue.empty() || flow.queue.front().number != handle) {
    ADD_FAILURE() << "handle " << handle << " is not the first of its flow";
    return {};
  }
  const Item item = flow.queue.front();
  flow.queue.pop_front();
  return item;
}

void SchedulerDriver::drain_some() {
  if (flows_.empty()) return;
  const Flow& flow = flows_[up_to(flows_.size() - 1)];
  const std::optional<Scheduler::Handle> handle =
      up_to(3) == 0 ? scheduler_.drain() : scheduler_.drain(flow.name);
  if (!handle) return;
  const Item item = take_back(*handle);
  ++drained_;
  refill(item.flow);
  expect_conservation();
}

void SchedulerDriver::drain_all() {
  while (const auto handle = scheduler_.drain()) {
    take_back(*handle);
    ++drained_;
    expect_conservation();
  }
  EXPECT_EQ(scheduler_.items(), 0U);
  EXPECT_FALSE(scheduler_.next_event());
}

void SchedulerDriver::expect_flow_rate(Flow& flow, const Item& item, Instant at) {
  const std::int64_t departure = at.time_since_epoch().count();
  for (std::optional<NaiveLimit>* limit : {&flow.packets, &flow.bits}) {
    if (!*limit) continue;
    const std::uint64_t units = limit == &flow.packets ? 1 : item.bytes;
    EXPECT_GE(departure, (*limit)->earliest(units)) << "flow " << flow.name.name << " is too early";
    (*limit)->charge(departure, units);
  }
}

// In any window: what comes in one at its end counts from each beginning, so the most of all windows is the level of a bucket
// that leaks at the rate.
void SchedulerDriver::expect_rates(std::size_t number, std::uint64_t bytes, Instant at) {
  const auto link = nodes_.front().ceiling;
  for (std::optional<std::size_t> each = number; each; each = nodes_[*each].parent) {
    Node& node = nodes_[*each];
    if (!node.ceiling) continue;
    const auto rate = static_cast<double>(node.ceiling->bits_per_second);
    node.level = std::max(0.0, node.level - static_cast<double>((at - node.level_at).count()) * rate / 8e9);
    node.level += static_cast<double>(bytes);
    node.level_at = at;
    const auto item = static_cast<double>(largest_);
    double slack = item + rate / 8e9 + 1e-3;
    if (*each != 0) {
      const double of_link = link ? item * rate / static_cast<double>(link->bits_per_second) : 0;
      slack += kCreditItems * std::max(item, of_link) + item * static_cast<double>(node.guarantees);
    }
    if (*each != 0) worst_excess_ = std::max(worst_excess_, node.level / slack);
    EXPECT_LE(node.level, slack) << "node " << *each;
  }
}

// What was taken has been sent, dropped or drained, or waits.
void SchedulerDriver::expect_conservation() const {
  EXPECT_EQ(taken_, sent_ + too_old_ + congested_ + drained_ + scheduler_.items());
}

}  // namespace headgate
