#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "core/arrival_merge.hpp"
#include "core/shaper.hpp"
#include "core/shaper_state.hpp"

namespace headgate {

struct Shaper::Change::Content {
  std::vector<ClassConfig> configs;  // by new index
  std::vector<ClassNumber> numbers;  // by new index
  std::vector<std::unique_ptr<ShapedClass>>
      classes;  // by number: those that are added; then those that are gone
  std::vector<std::unique_ptr<ClassPlans>> plans;  // by new index, of those that stay; then those that were
  std::unique_ptr<ShapeTree> tree;
  std::vector<TreeNode> nodes_before;  // by node: where its clocks come from; kNoNode: they are new
  std::vector<bool> stays;             // by number
  std::vector<bool> keeps_flows;       // by number
  std::vector<std::byte> frame;        // room for the longest
};

namespace {

// Its flows are the same, and what their limiters remember means the same.
bool keeps_flows(const ClassConfig& before, const ClassConfig& after) {
  if (before.key != after.key || before.bypass != after.bypass || before.action != after.action) return false;
  return before.action == ClassAction::shape || polices_alike(before, after);
}

}  // namespace

Shaper::Change::Change() : content_(std::make_unique<Content>()) {}

Shaper::Change::~Change() = default;

// Reads of the state only what reconfigure() alone writes: the classes' numbers, names, keys and whether they are bypassed,
// and which nodes the tree has.
std::unique_ptr<Shaper::Change> Shaper::prepare(std::vector<ClassConfig> configs,
                                                const TreeConfig& tree) const {
  const std::vector<std::unique_ptr<ShapedClass>>& classes = state_->classes;
  const std::vector<ClassNumber>& numbers = state_->class_numbers;
  std::unique_ptr<Change> change(new Change);
  Change::Content& content = *change->content_;
  content.classes.resize(classes.size());
  content.stays.resize(classes.size());
  content.keeps_flows.resize(classes.size());
  content.numbers.resize(configs.size(), kNoClass);
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const ClassConfig& config = configs[i];
    const auto known = std::find_if(numbers.begin(), numbers.end(), [&](ClassNumber number) {
      return !content.stays[number] && classes[number]->config.name == config.name;
    });
    if (known == numbers.end()) continue;
    const ClassConfig& old = classes[*known]->config;
    content.numbers[i] = *known;
    content.stays[*known] = true;
    content.keeps_flows[*known] = keeps_flows(old, config);
  }
  content.plans.resize(configs.size());
  for (std::size_t i = 0; i < configs.size(); ++i)
    if (content.numbers[i] != kNoClass) content.plans[i] = make_class_plans(configs[i]);
  std::size_t free = 0;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    if (content.numbers[i] != kNoClass) continue;
    while (free < classes.size() && classes[free]) ++free;
    if (free >= content.classes.size()) content.classes.resize(free + 1);
    content.numbers[i] = static_cast<ClassNumber>(free);
    content.classes[free++] = std::make_unique<ShapedClass>(configs[i]);
  }
  content.tree = make_shape_tree(configs, content.numbers, tree);
  if (content.tree && state_->tree) content.nodes_before = nodes_before(*content.tree, *state_->tree);
  content.configs = std::move(configs);
  content.frame.reserve(kMaxFrameParts * PacketPool::kChunkBytes);
  return change;
}

void Shaper::reconfigure(Change& change, const Reclassify& classify, Instant now,
                         const GiveAway& give_away) noexcept {
  ShaperState& state = *state_;
  Change::Content& content = *change.content_;
  assert(state.outstanding == 0);
  state.leave_rounds(Rounds::to_wheel);
  PacketHandle packet = state.take_out_packets(content);
  state.erase_flows(content);
  state.put_in_force(content, now);
  gathers_ = state.gathers();
  if (state.some_moved) state.move_packets(now);
  if (state.schedule->wheel.empty()) state.schedule->wheel.start_at(now);
  while (packet != kNoPacket) {
    const PacketHandle next = state.pool()[packet].next;
    state.readmit(packet, classify, give_away, content.frame, now);
    packet = next;
  }
}

// Every packet whose class goes or has its flows told apart anew, and those that were due at once: a chain in order of
// arrival, in which the packets of a flow keep their order.
PacketHandle ShaperState::take_out_packets(const Shaper::Change::Content& change) {
  const auto goes = [&](FlowNumber flow) { return !change.keeps_flows[flows[flow].class_number]; };
  if (!suspended) {
    schedule->wheel.remove_if(
        [&](const TimingWheel::Item& item) { return item.shape == shape_number && goes(item.flow); });
  }
  ArrivalMerge merge(pool());
  for (FlowNumber flow = 0; flow < flows.numbers(); ++flow) {
    if (flows.in_use(flow) && goes(flow)) merge.add(take_out_queue(flow));
  }
  merge.add(std::exchange(immediate_head, kNoPacket));
  immediate_tail = kNoPacket;
  const PacketHandle all = merge.result();
  for (PacketHandle packet = all; packet != kNoPacket; packet = pool()[packet].next) {
    const StoredPacket& stored = pool()[packet];
    ClassCounters& counters = counters_of(stored.class_number);
    counters.received -= stored.cost();
    counters.queued -= stored.cost();
    forget_remark(stored);
  }
  return all;
}

// The whole queue, as a chain.
PacketHandle ShaperState::take_out_queue(FlowNumber flow) {
  const PacketHandle first = first_of(flows[flow].queue);
  while (!flows[flow].queue.empty()) unlink_head(flow);
  return first;
}

void ShaperState::erase_flows(const Shaper::Change::Content& change) {
  for (FlowNumber flow = 0; flow < flows.numbers(); ++flow) {
    if (flows.in_use(flow) && !change.keeps_flows[flows[flow].class_number]) erase_flow(flow);
  }
}

// Of no packet that is queued or on its way.
void ShaperState::erase_flow(FlowNumber flow) {
  --classes[flows[flow].class_number]->flows;
  --schedule->flows;
  --budget->flows;
  flows.erase(flow);
}

void ShaperState::put_in_force(Shaper::Change::Content& change, Instant now) {
  leases.clear();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (!classes[i]) continue;
    if (change.stays[i]) {
      change.classes[i] = std::move(classes[i]);
    } else {
      retired += classes[i]->counters;
    }
  }
  for (TreeNode node = 0; node < change.nodes_before.size(); ++node) {
    const TreeNode before = change.nodes_before[node];
    if (before != kNoNode) change.tree->rates.go_on_from(tree->rates, before, node, now);
  }
  tree.swap(change.tree);
  note_event();
  classes.swap(change.classes);
  class_numbers.swap(change.numbers);
  bool some_policed = false;
  bool some_planned = false;
  for (std::size_t i = 0; i < class_numbers.size(); ++i) {
    ShapedClass& shaped = *classes[class_numbers[i]];
    ClassConfig& config = change.configs[i];
    shaped.index = static_cast<ClassIndex>(i);
    end_lease_of(shaped, config, now);
    const bool members_changed = shaped.plans && shaped.plans->changed;
    if ((shaped.plans || change.plans[i]) && (members_changed || shaped.config != config)) {
      shaped.plans_before = shaped.plans.get();
      shaped.parameters_before = shaped.parameters;
      shaped.plans.swap(change.plans[i]);
      shaped.plans_are_new = some_planned = true;
    }
    const bool stays_policed = shaped.polices && change.keeps_flows.size() > class_numbers[i] &&
                               change.keeps_flows[class_numbers[i]];
    if (stays_policed) {
      if (shaped.config != config) {
        change_policer(shaped, config, now);
        some_policed = true;
      }
      shaped.parameters = bucket_parameters(config);
    } else if (shaped.config.rate != config.rate || shaped.config.burst != config.burst ||
               shaped.config.link_layer != config.link_layer || shaped.config.action != config.action) {
      shaped.parameters_before = std::exchange(shaped.parameters, bucket_parameters(config));
      ++shaped.generation;
    }
    std::swap(shaped.config, config);
    if (!stays_policed) shaped.set_policer();
    shaped.node = tree ? tree->node_of[i] : kNoNode;
  }
  if (some_policed) change_policed_flows();
  if (some_planned) change_planned_flows(now);
}

void ShaperState::readmit(PacketHandle packet, const Shaper::Reclassify& classify,
                          const Shaper::GiveAway& give_away, std::vector<std::byte>& frame, Instant now) {
  StoredPacket& stored = pool()[packet];
  const bool was_remarked = stored.remarked != 0;
  stored.remarked = 0;
  std::array<std::span<const std::byte>, kMaxFrameParts> parts;
  const std::size_t count = pool().parts(packet, parts);
  frame.clear();
  for (const auto& part : std::span(parts).first(count)) frame.insert(frame.end(), part.begin(), part.end());

  ArrivingPacket arriving;
  arriving.frame = std::span<const std::byte>(frame).subspan(frame_prefix);
  arriving.arrival = stored.arrival;
  arriving.charged_bytes = stored.charged_bytes;
  arriving.charged_packets = stored.charged_packets;
  arriving.prefix_bytes = static_cast<std::uint8_t>(frame_prefix);
  arriving.cgroups = stored.cgroups;
  classify(arriving);

  gather(arriving);
  const ClassNumber class_number =
      arriving.class_index == kUnmatched ? kNoClass : class_numbers[arriving.class_index];
  const bool unshaped = class_number == kNoClass || classes[class_number]->config.bypass;
  if (!unshaped && give_away && give_away(arriving)) return free_packet(packet);
  ClassCounters& counters = counters_of(class_number);
  counters.received += stored.cost();
  counters.queued += stored.cost();
  if (unshaped) return enqueue_immediate(packet, class_number, now);
  stored.class_number = class_number;
  stored.flow = kNoFlow;
  const FlowNumber flow = find_or_add_flow(arriving, now);
  if (flow == kNoFlow) return drop_queued(packet, DropReason::flow_table_full);
  readmit_to(flow, packet, was_remarked, now);
}

// A packet that is counted as queued by the flow's class, and stored.
void ShaperState::readmit_to(FlowNumber flow, PacketHandle packet, bool was_remarked, Instant now) {
  StoredPacket& stored = pool()[packet];
  FlowRecord& record = flows[flow];
  record.last_used = now;
  stored.class_number = record.class_number;
  stored.flow = flow;
  stored.earliest = now;  // the time it has waited so far earns its new bucket nothing
  stored.next = kNoPacket;
  stored.previous = kNoPacket;
  ShapedClass& shaped = *classes[record.class_number];
  const bool in_tree = shaped.in_tree();
  if (!(in_tree ? make_place_in_tree(record.queue) : make_place(record.queue)))
    return drop_queued(packet, DropReason::pool_full);
  charge_readmitted(shaped, record, stored, was_remarked, now);
  in_tree ? enqueue_in_tree(flow, packet) : enqueue(flow, packet);
}

void Shaper::readmit(const ArrivingPacket& packet, Instant now) {
  ShaperState& state = *state_;
  if (state.schedule->wheel.empty()) state.schedule->wheel.start_at(now);
  ClassCounters& counters = state.counters_at(packet.class_index);
  counters.received += packet.cost();
  const FlowNumber flow = state.find_or_add_flow(packet, now);
  if (flow == kNoFlow) return state.drop(packet, flow, DropReason::flow_table_full);
  const PacketHandle stored = state.store(state.flows[flow], packet, Frames::copied);
  if (stored == kNoPacket) return state.drop(packet, flow, DropReason::pool_full);
  counters.queued += packet.cost();
  state.readmit_to(flow, stored, false, now);
}

void ShaperState::enqueue_immediate(PacketHandle packet, ClassNumber class_number, Instant now) {
  StoredPacket& stored = pool()[packet];
  stored.class_number = class_number;
  stored.flow = kNoFlow;
  stored.earliest = now;
  stored.next = kNoPacket;
  (immediate_tail == kNoPacket ? immediate_head : pool()[immediate_tail].next) = packet;
  immediate_tail = packet;
  immediate_since = now;
  schedule->some_immediate = true;
}

}  // namespace headgate
