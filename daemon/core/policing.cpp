// Packets of policed classes: judged when they come. What conforms stands in its flow's queue as any other, due at once, so
// that order is kept; no bucket makes it wait there. What exceeds never does, or goes on with another code point.
#include <algorithm>
#include <cassert>

#include "core/shaper_state.hpp"
#include "core/traffic_class.hpp"

namespace headgate {

void ShaperState::police(const ArrivingPacket& packet, FlowNumber flow, Instant now, Shaper::Frames frames) {
  ShapedClass& shaped = class_at(packet.class_index);
  Policer& policer = *shaped.policer;
  FlowRecord& record = flows[flow];
  // No earlier than expire_flows() has reckoned with.
  const Instant at = policer.judged_at(std::max(packet.arrival, now - kMaxCatchUp));
  const bool conforms = policer.conforms(record.bucket, packet.cost(), at);
  const bool goes_on = conforms || (policer.exceed_dscp() && traffic_class_of(packet.frame));
  if (!goes_on) return drop(packet, flow, DropReason::policed);
  if (!make_place(record.queue)) return drop(packet, flow, DropReason::pool_full);
  const PacketHandle stored = store(record, packet, conforms ? frames : not_lent(frames));
  if (stored == kNoPacket) return drop(packet, flow, DropReason::pool_full);
  if (conforms) {
    policer.charge(record.bucket, packet.cost(), at);
  } else {
    remark(shaped, stored, packet.vlan_tpid != 0, *policer.exceed_dscp());
  }
  shaped.counters.queued += packet.cost();
  enqueue(flow, stored);
}

// The headers stand behind each other as in the frame that came; a tag that was put back is stepped over.
void ShaperState::remark(ShapedClass& shaped, PacketHandle packet, bool tag_put_back, std::uint8_t dscp) {
  const std::span<std::byte> stored = pool().first_bytes(packet);
  set_dscp(stored.subspan(frame_prefix + (tag_put_back ? PacketPool::kTagBytes : 0)), dscp);
  pool()[packet].remarked = 1;
  shaped.remarked += pool()[packet].cost();
}

// It will not be sent by the class that it is counted in.
void ShaperState::forget_remark(const StoredPacket& stored) {
  if (stored.remarked != 0) classes[stored.class_number]->remarked -= stored.cost();
}

// A packet that another queue, or another class, let go on: it is not judged again, but it counts.
void ShaperState::charge_readmitted(ShapedClass& shaped, FlowRecord& record, StoredPacket& stored,
                                    bool was_remarked, Instant now) {
  if (!shaped.polices) return;
  if (was_remarked) {
    stored.remarked = 1;
    shaped.remarked += stored.cost();
  } else {
    shaped.policer->charge(record.bucket, stored.cost(), shaped.policer->judged_at(now));
  }
}

// The class stays policed, and its flows stay: change_policed_flows() is to follow.
void ShaperState::change_policer(ShapedClass& shaped, const ClassConfig& config, Instant now) {
  shaped.policer_before = shaped.policer;
  shaped.policer.emplace(config);
  shaped.policer->go_on_from(*shaped.policer_before, now);
}

void ShaperState::change_policed_flows() {
  for (FlowNumber flow = 0; flow < flows.numbers(); ++flow) {
    if (!flows.in_use(flow)) continue;
    const ShapedClass& shaped = *classes[flows[flow].class_number];
    if (shaped.policer_before) shaped.policer->change(flows[flow].bucket, *shaped.policer_before);
  }
  for (const auto& shaped : classes)
    if (shaped) shaped->policer_before.reset();
}

}  // namespace headgate
