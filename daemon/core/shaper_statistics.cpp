#include <algorithm>

#include "core/shaper.hpp"
#include "core/shaper_state.hpp"

namespace headgate {
namespace {

// Flow records that one call may look at for expiry: few when packets wait that it could make late.
constexpr std::uint32_t kLooksBeforePackets = 4'096;
constexpr std::uint32_t kLooksAtRest = 65'536;

}  // namespace

ShaperStatistics Shaper::statistics(Instant now) {
  ShaperState& state = *state_;
  const bool packets_wait = state.schedule != nullptr && state.schedule->queues > 0;
  state.expire_flows(packets_wait ? kLooksBeforePackets : kLooksAtRest, now, state.idle);
  if (state.plans_unseen > 0) state.look_up_plans(kLooksBeforePackets, now);
  ClassCounters all = state.unmatched;
  all += state.retired;
  ShaperStatistics statistics;
  statistics.unmatched = state.unmatched.received;
  statistics.shifts = state.shifts;
  statistics.classes.reserve(state.class_numbers.size());
  for (const ClassNumber class_number : state.class_numbers) {
    const ShapedClass& shaped = *state.classes[class_number];
    all += shaped.counters;
    statistics.classes.push_back(
        {.name = shaped.config.name,
         .flows = shaped.flows,
         .received = shaped.counters.received,
         .sent = shaped.counters.sent,
         .dropped = shaped.counters.dropped,
         .queued = shaped.counters.queued,
         .delay = shaped.delays.summary(now),
         .delays = shaped.delays.totals(),
         .guaranteed = shaped.guaranteed,
         .marked = shaped.marked,
         .remarked = shaped.remarked,
         .held_by = state.held_by(shaped, now),
         .members = shaped.plans ? shaped.plans->members.counts() : std::vector<std::uint32_t>()});
  }
  statistics.received = all.received;
  statistics.sent = all.sent;
  statistics.dropped = all.dropped;
  statistics.queued = all.queued;
  return statistics;
}

std::string ShaperState::held_by(const ShapedClass& shaped, Instant now) const {
  if (shaped.ready == 0) return {};
  const TreeNode node = tree->rates.held_by(shaped.node, now);
  return node == kNoNode ? std::string() : name_of(node);
}

std::string ShaperState::name_of(TreeNode node) const {
  if (node == kLink) return "link";
  const ClassNumber class_number = tree->class_of[node];
  return class_number == kNoClass ? tree->config.groups[node - 1].name : classes[class_number]->config.name;
}

std::vector<DelayCounts> Shaper::delays(Instant now) const {
  std::vector<DelayCounts> delays;
  delays.reserve(state_->class_numbers.size());
  for (const ClassNumber class_number : state_->class_numbers)
    delays.push_back(state_->classes[class_number]->delays.counts(now));
  return delays;
}

std::optional<std::uint32_t> Shaper::visit_flows(
    ClassIndex class_index, std::uint32_t from, std::uint32_t records,
    const std::function<void(const FlowStatistics&)>& visit) const {
  const ShaperState& state = *state_;
  const ClassNumber class_number = state.class_numbers[class_index];
  const auto end = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(std::uint64_t{from} + records, state.flows.numbers()));
  for (FlowNumber flow = from; flow < end; ++flow) {
    const FlowRecord& record = state.flows[flow];
    if (record.class_number != class_number) continue;
    const Cost queued = state.queued_in(record.queue);
    visit({.key = state.flows.key(flow),
           .plan = state.class_at(class_index).plans ? record.generation : kNoPlan,
           .sent = record.sent,
           .dropped = state.flows.dropped(flow),
           .queued = {queued.packets, queued.bytes}});
  }
  if (end >= state.flows.numbers()) return std::nullopt;
  return end;
}

}  // namespace headgate
