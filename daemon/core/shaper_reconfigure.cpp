#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "core/shaper.hpp"
#include "core/shaper_state.hpp"

namespace headgate {

// All that a reconfiguration allocates, before it changes anything.
struct Shaper::State::Plan {
  std::vector<ClassConfig> configs;
  std::vector<ClassSlot> slots;  // by new index
  std::vector<std::unique_ptr<ShapedClass>>
      added;                          // by slot; null: the slot holds a class that stays, or none
  std::vector<bool> stays;            // by slot
  std::vector<bool> keeps_flows;      // by slot
  std::vector<PacketHandle> packets;  // to be admitted again; room for all there are
  std::vector<std::byte> frame;       // room for the longest
};

void Shaper::reconfigure(std::vector<ClassConfig> classes, const Reclassify& classify, Instant now,
                         const Leaves& leaves) {
  State& state = *state_;
  assert(state.outstanding == 0);
  State::Plan plan = state.plan(std::move(classes));
  // From here on nothing throws.
  state.take_out_packets(plan);
  state.erase_flows(plan);
  state.put_in_force(plan);
  if (state.wheel.empty()) state.wheel.start_at(now);
  // Packets of a flow have been taken out in order, so equal instants keep theirs.
  std::stable_sort(plan.packets.begin(), plan.packets.end(), [&](PacketHandle left, PacketHandle right) {
    return state.pool[left].arrival < state.pool[right].arrival;
  });
  for (const PacketHandle packet : plan.packets) state.readmit(packet, classify, leaves, plan.frame, now);
}

Shaper::State::Plan Shaper::State::plan(std::vector<ClassConfig> configs) {
  Plan plan;
  std::vector<bool> taken(classes.size());
  plan.stays.resize(classes.size());
  plan.keeps_flows.resize(classes.size());
  plan.added.resize(classes.size());
  for (const ClassConfig& config : configs) {
    const auto known = std::find_if(slots.begin(), slots.end(), [&](ClassSlot slot) {
      return !plan.stays[slot] && classes[slot]->config.name == config.name;
    });
    if (known == slots.end()) {
      plan.slots.push_back(kNoClass);
      continue;
    }
    const ClassConfig& old = classes[*known]->config;
    plan.slots.push_back(*known);
    plan.stays[*known] = true;
    plan.keeps_flows[*known] = old.key == config.key && old.bypass == config.bypass;
  }
  std::size_t free_slot = 0;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    if (plan.slots[i] != kNoClass) continue;
    while (free_slot < classes.size() && classes[free_slot]) ++free_slot;
    if (free_slot == classes.size()) classes.emplace_back();
    plan.slots[i] = static_cast<ClassSlot>(free_slot++);
    if (plan.added.size() < classes.size()) plan.added.resize(classes.size());
    plan.added[plan.slots[i]] = std::make_unique<ShapedClass>(configs[i]);
  }
  plan.configs = std::move(configs);
  plan.stays.resize(classes.size());
  plan.keeps_flows.resize(classes.size());
  plan.packets.reserve(pool.chunks() - pool.free_chunks());
  plan.frame.reserve(kMaxFrameParts * PacketPool::kChunkBytes);
  return plan;
}

// Every packet whose class goes or has its flows told apart anew, and those that were due at once.
void Shaper::State::take_out_packets(Plan& plan) {
  const auto goes = [&](FlowNumber flow) { return !plan.keeps_flows[flows[flow].class_slot]; };
  wheel.remove_if(goes);
  for (FlowNumber flow = 0; flow < flows.numbers(); ++flow) {
    if (!flows.in_use(flow) || !goes(flow)) continue;
    while (!flows[flow].queue.empty()) plan.packets.push_back(unlink_head(flow));
  }
  for (; immediate_head != kNoPacket; immediate_head = pool[immediate_head].next) {
    plan.packets.push_back(immediate_head);
  }
  immediate_tail = kNoPacket;
  for (const PacketHandle packet : plan.packets) {
    const StoredPacket& stored = pool[packet];
    ClassCounters& counters = counters_of(stored.class_slot);
    counters.received -= stored.charge();
    counters.queued -= stored.charge();
  }
}

void Shaper::State::erase_flows(const Plan& plan) {
  for (FlowNumber flow = 0; flow < flows.numbers(); ++flow) {
    if (!flows.in_use(flow) || plan.keeps_flows[flows[flow].class_slot]) continue;
    --classes[flows[flow].class_slot]->flows;
    flows.erase(flow);
  }
}

void Shaper::State::put_in_force(Plan& plan) {
  for (ClassSlot slot = 0; slot < classes.size(); ++slot) {
    if (classes[slot] && !plan.stays[slot]) {
      retired += classes[slot]->counters;
      classes[slot].reset();
    }
    if (plan.added[slot]) classes[slot] = std::move(plan.added[slot]);
  }
  slots = std::move(plan.slots);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    ShapedClass& shaped = *classes[slots[i]];
    ClassConfig& config = plan.configs[i];
    if (shaped.config.rate != config.rate || shaped.config.burst != config.burst ||
        shaped.config.link_layer != config.link_layer) {
      shaped.parameters = BucketParameters(config.rate, config.burst, config.link_layer);
      ++shaped.generation;
    }
    shaped.config = std::move(config);
    shaped.index = static_cast<ClassIndex>(i);
  }
}

void Shaper::State::readmit(PacketHandle packet, const Reclassify& classify, const Leaves& leaves,
                            std::vector<std::byte>& frame, Instant now) {
  StoredPacket& stored = pool[packet];
  std::array<std::span<const std::byte>, kMaxFrameParts> parts;
  const std::size_t count = pool.parts(packet, parts);
  frame.clear();
  for (const auto& part : std::span(parts).first(count)) frame.insert(frame.end(), part.begin(), part.end());

  ArrivingPacket arriving;
  arriving.frame = std::span<const std::byte>(frame).subspan(frame_prefix);
  arriving.arrival = stored.arrival;
  arriving.charged_bytes = stored.charged_bytes;
  arriving.charged_packets = stored.charged_packets;
  arriving.prefix_bytes = static_cast<std::uint8_t>(frame_prefix);
  classify(arriving);

  const ClassSlot slot = arriving.class_index == kUnmatched ? kNoClass : slots[arriving.class_index];
  const bool unshaped = slot == kNoClass || classes[slot]->config.bypass;
  if (!unshaped && leaves && leaves(arriving)) return pool.free(packet);
  ClassCounters& counters = counters_of(slot);
  counters.received += stored.charge();
  if (unshaped) {
    counters.queued += stored.charge();
    enqueue_immediate(packet, slot, now);
    return;
  }
  const FlowNumber flow = find_or_add_flow(arriving, now);
  if (flow == kNoFlow) {
    counters.dropped_for(DropReason::flow_table_full) += stored.charge();
    show_drop(packet, arriving.class_index, DropReason::flow_table_full);
    pool.free(packet);
    return;
  }
  readmit_to(flow, packet, now);
}

void Shaper::State::readmit_to(FlowNumber flow, PacketHandle packet, Instant now) {
  StoredPacket& stored = pool[packet];
  FlowRecord& record = flows[flow];
  counters_of(record.class_slot).queued += stored.charge();
  record.last_used = now;
  stored.class_slot = record.class_slot;
  stored.departure = now;  // the time it has waited so far earns its new bucket nothing
  stored.next = kNoPacket;
  stored.previous = kNoPacket;
  enqueue(flow, packet);
}

void Shaper::readmit(const ArrivingPacket& packet, Instant now) {
  State& state = *state_;
  if (state.wheel.empty()) state.wheel.start_at(now);
  state.counters_at(packet.class_index).received += Count{packet.charged_packets, packet.charged_bytes};
  const FlowNumber flow = state.find_or_add_flow(packet, now);
  const PacketHandle stored = flow == kNoFlow ? kNoPacket : state.store(state.flows[flow], packet);
  if (stored != kNoPacket) return state.readmit_to(flow, stored, now);
  state.drop(packet, flow, flow == kNoFlow ? DropReason::flow_table_full : DropReason::pool_full);
}

void Shaper::State::enqueue_immediate(PacketHandle packet, ClassSlot slot, Instant now) {
  StoredPacket& stored = pool[packet];
  stored.class_slot = slot;
  stored.flow = kNoFlow;
  stored.departure = now;
  stored.next = kNoPacket;
  (immediate_tail == kNoPacket ? immediate_head : pool[immediate_tail].next) = packet;
  immediate_tail = packet;
  immediate_since = now;
}

}  // namespace headgate
