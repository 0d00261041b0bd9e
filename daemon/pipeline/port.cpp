#include "pipeline/port.hpp"

#include <algorithm>
#include <utility>

#include "pipeline/arriving_packet.hpp"
#include "pipeline/frame_prefix.hpp"
#include "pipeline/part_of_flow.hpp"
#include "pipeline/super_packet.hpp"

namespace headgate {

namespace {

constexpr std::size_t kTagBytes = 4;
// Room for the pieces of some super-packets; one piece is at most a super-packet.
constexpr std::size_t kPiecesBytes = 256 * 1024;

}  // namespace

Port::Port(PortOptions options, Clock& clock)
    : source_(options.source),
      sink_(options.sink),
      shaper_(options.shaper),
      taps_(options.taps),
      watch_(options.watch),
      clock_(clock),
      classifier_(std::move(options.classifier)),
      super_packet_cut_(options.super_packet_cut),
      added_bytes_(added_bytes(options.link_header)),
      part_(options.part),
      inputs_(options.peers.size()),
      outputs_(options.peers.size()) {
  for (std::size_t i = 0; i < options.peers.size(); ++i) {
    const std::optional<PortPeer>& peer = options.peers[i];
    inputs_[i].source = peer ? &peer->source : &source_;
    inputs_[i].slots.reserve(OutgoingBatch::kMostSlots);
    if (!peer) continue;
    inputs_[i].from = &peer->from;
    outputs_[i] = {.to = &peer->to, .waiter = &peer->waiter};
  }
  if (super_packet_cut_ != SuperPacketCut::none) pieces_.resize(kPiecesBytes);
}

std::size_t Port::read(std::size_t most, OutgoingBatch& outgoing) {
  was_late_ = false;
  if (!reads()) return 0;
  const std::size_t limit = std::min({most, room(), cuts_ ? kFramesWhileCutting : kBatch});
  blocked_ = limit == 0;
  const std::size_t count = receive(limit);
  if (!reads()) return count;
  const bool all = count < limit;  // the source has nothing more at hand
  if (count > 0 || must_look_again() || watch_.told(part_)) {
    const Instant now = clock_.now();
    look_whether_to_clear(now);
    if (count > 0) note_lateness(now);
    if (clearing_) {
      clear(count, all && source_.reached_line());
    } else {
      take(count, outgoing);
      const bool later = count >= kBusyFrames && watch_.may_reset_later(part_, now);
      reset_withheld_ = later || !watch_.reset(part_, now, clock_);
    }
  }
  if (all && !blocked_) late_ = false;
  if (ended_ && all && !blocked_ && source_.reached_line()) end_reading();
  return count;
}

// The switch is armed also by a packet that was lost on its way here, which no frame waited for.
void Port::note_lateness(Instant now) {
  const Duration unread = watch_.unread_for(now);
  if (unread <= kMaxCatchUp) return;
  const Duration waited = std::min(unread, source_.waited());
  if (waited <= kMaxCatchUp) return;
  was_late_ = late_ = true;
  late_until_ = now + std::max(waited, kEcho);
}

std::size_t Port::receive(std::size_t limit) {
  try {
    return source_.receive(std::span(frames_).first(limit));
  } catch (...) {
    end_reading(std::current_exception());
    return 0;
  }
}

// Of several parts, those that the frames of one batch go to. All may go to the same.
std::size_t Port::room() const {
  std::size_t least = kBatch + kReservedEntries;
  for (const Output& output : outputs_)
    if (output.to != nullptr) least = std::min(least, output.to->room(least));
  return least - std::min(least, kReservedEntries);
}

void Port::take(std::size_t count, OutgoingBatch& outgoing) {
  if (count == 0) return;
  cuts_ = false;
  const Instant now = clock_.now();
  if (observed_) taps_.set_time(now);
  for (const CapturedFrame& captured : std::span(frames_).first(count)) {
    const ArrivingPacket packet = describe(captured, now);
    const bool clipped = captured.frame.size() < captured.wire_length;
    const bool unshaped = classifier_->unshaped(packet.class_index);
    const std::size_t part = unshaped || clipped ? part_ : part_of_flow(packet.flow_hash, outputs_.size());
    if (part != part_) {
      hand_over(packet, captured.slot);
      continue;
    }
    own().slots.push_back(captured.slot);
    if (clipped) {
      drop(packet, DropReason::clipped, true);
      continue;
    }
    if (unshaped) {
      if (observed_) taps_.received(packet, false);
      outgoing.add_unshaped(*this, packet);
    } else {
      arrive(packet, now);
    }
  }
  admit(now);
  publish();
}

ArrivingPacket Port::describe(const CapturedFrame& captured, Instant now) const {
  ArrivingPacket packet = arriving_packet(captured, added_bytes_, now);
  packet.late = late_ || now < late_until_;
  classifier_->classify(packet);
  shaper_.gather(packet);
  return packet;
}

// Of a shaped class.
void Port::arrive(const ArrivingPacket& packet, Instant now) {
  const bool may_cut = super_packet_cut_ != SuperPacketCut::none && packet.charged_packets > 1;
  if (may_cut && arrive_in_pieces(packet, now)) return;
  add_arriving(packet, now, Shaper::Frames::lent);
}

// False: it is not to be cut at the rate of its class, or it is of a kind that cannot be.
bool Port::arrive_in_pieces(const ArrivingPacket& packet, Instant now) {
  const auto super_packet = SuperPacket::read(packet.frame, packet.vlan_tpid != 0 ? kTagBytes : 0);
  if (!super_packet) return false;
  const std::size_t segments = super_packet->segments();
  const std::size_t at_once = segments_of_a_piece(*super_packet, packet.class_index);
  if (at_once >= segments) return false;
  cuts_ = true;
  // Each piece has what is noted beside the packet.
  const std::size_t noted = packet.prefix_bytes - std::size_t{kVirtioPrefixBytes};
  const std::byte* const notes = packet.frame.data() - packet.prefix_bytes;
  for (std::size_t first = 0; first < segments; first += at_once) {
    const std::size_t count = std::min(at_once, segments - first);
    const std::size_t bytes = noted + super_packet->piece_bytes(first, count);
    if (pieces_used_ + bytes > pieces_.size()) admit(now);
    const Count charge = on_wire(super_packet->charge(first, count), added_bytes_);
    ArrivingPacket piece = packet;
    const std::span<std::byte> out = std::span(pieces_).subspan(pieces_used_, bytes);
    std::copy_n(notes, noted, out.begin());
    piece.frame = super_packet->write_piece(first, count, out.subspan(noted));
    piece.charged_packets = static_cast<std::uint16_t>(charge.packets);
    piece.charged_bytes = static_cast<std::uint32_t>(charge.bytes);
    pieces_used_ += bytes;
    add_arriving(piece, now, Shaper::Frames::copied);
  }
  return true;
}

// Kernels before Linux 6.2 refuse to send a UDP super-packet.
std::size_t Port::segments_of_a_piece(const SuperPacket& super_packet, ClassIndex class_index) const {
  if (super_packet_cut_ == SuperPacketCut::single_segments || super_packet.is_udp()) return 1;
  return segments_at_once(classifier_->classes()[class_index],
                          on_wire(super_packet.charge(0, 1), added_bytes_));
}

void Port::add_arriving(const ArrivingPacket& packet, Instant now, Shaper::Frames frames) {
  if (frames != arriving_frames_ || arriving_count_ == arriving_.size()) admit_arriving(now);
  arriving_frames_ = frames;
  if (observed_) taps_.received(packet, false);
  arriving_[arriving_count_++] = packet;
}

void Port::admit(Instant now) {
  admit_arriving(now);
  pieces_used_ = 0;
}

void Port::admit_arriving(Instant now) {
  if (arriving_count_ > 0) shaper_.admit({arriving_.data(), arriving_count_}, now, arriving_frames_);
  arriving_count_ = 0;
}

// Younger packets have passed what stands in the source, what waits in the shaper, and what peers have read before now.
void Port::clear(std::size_t count, bool all) {
  const Instant now = clock_.now();
  cleared_at_ = now;
  drop_queued();
  for (const CapturedFrame& captured : std::span(frames_).first(count)) {
    own().slots.push_back(captured.slot);
    drop(describe(captured, now), DropReason::overtaken, captured.frame.size() < captured.wire_length);
  }
  if (!all) return;
  watch_.cleared(part_, clock_);
  clearing_ = false;
}

void Port::drop_queued() {
  if (observed_) taps_.set_time(clock_.now());
  shaper_.drop_all(DropReason::overtaken);
}

// What has come by now is older than what passed.
void Port::look_whether_to_clear(Instant now) {
  const bool must = watch_.must_clear(part_, now);
  if (must && !clearing_) source_.draw_line();
  clearing_ = must;
}

void Port::look_after_pause(Instant now) {
  if (!reads() || clearing_) return;
  look_whether_to_clear(now);
  if (clearing_) drop_queued();
}

// A packet that is not admitted.
void Port::drop(const ArrivingPacket& packet, DropReason reason, bool clipped) {
  shaper_.count_dropped(packet.class_index, {packet.charged_packets, packet.charged_bytes}, reason);
  if (!observed_) return;
  taps_.set_time(clock_.now());
  taps_.received(packet, clipped);
  if (clipped) return taps_.clipped(packet);
  taps_.dropped(packet, reason);
}

void Port::hand_over(const ArrivingPacket& packet, std::uint32_t slot) {
  Output& output = outputs_[part_of_flow(packet.flow_hash, outputs_.size())];
  HandOffEntry* entry = output.to->stage();
  if (entry == nullptr) std::terminate();  // room() said otherwise
  *entry = {.packet = packet, .slot = slot};
  output.staged = true;
}

void Port::tell_peers(HandOffEntry::Kind kind) {
  for (Output& output : outputs_) {
    if (output.to == nullptr) continue;
    HandOffEntry* entry = output.to->stage();
    if (entry == nullptr) std::terminate();  // kReservedEntries are for these
    *entry = {.kind = kind};
    output.to->publish();
    output.waiter->wake();
  }
}

void Port::publish() {
  for (Output& output : outputs_) {
    if (!std::exchange(output.staged, false)) continue;
    output.to->publish();
    output.waiter->wake_soon();
  }
}

std::size_t Port::take_hand_overs(std::size_t most) {
  if (!has_hand_overs()) return 0;
  std::size_t taken = 0;
  const Instant now = clock_.now();
  if (observed_) taps_.set_time(now);
  for (Input& input : inputs_) {
    if (input.from == nullptr || input.stands || input.ended) continue;
    const std::span<HandOffEntry> entries = input.from->peek(most - taken);
    std::size_t done = 0;
    for (const HandOffEntry& entry : entries) {
      ++done;
      if (entry.kind != HandOffEntry::Kind::packet) {
        // What was classified before this entry is admitted before it takes effect.
        (entry.kind == HandOffEntry::Kind::end ? input.ended : input.stands) = true;
        break;
      }
      input.slots.push_back(entry.slot);
      if (clearing_ || entry.packet.arrival <= cleared_at_) {
        drop(entry.packet, DropReason::overtaken, false);
        continue;
      }
      ArrivingPacket packet = entry.packet;
      if (now - packet.arrival > kMaxCatchUp) packet.late = was_late_ = true;
      arrive(packet, now);
    }
    input.from->consume(done);
    taken += done;
  }
  admit(now);
  return taken;
}

bool Port::has_hand_overs() const {
  return std::any_of(inputs_.begin(), inputs_.end(), [](const Input& input) {
    return input.from != nullptr && !input.stands && !input.ended && !input.from->empty();
  });
}

void Port::give_back_slots() {
  for (Input& input : inputs_) {
    if (!input.slots.empty()) input.source->give_back(input.slots);
    input.slots.clear();
  }
}

std::size_t Port::slots_out() const {
  std::size_t sum = 0;
  for (const Input& input : inputs_) sum += input.slots.size();
  return sum;
}

void Port::look_at_switch() {
  const Instant now = clock_.now();
  if (!source_.reached_line() || clearing_) return;
  look_whether_to_clear(now);
  if (clearing_) return clear(0, source_.reached_line());
  reset_withheld_ = !watch_.reset(part_, now, clock_);
}

void Port::end_reading(std::exception_ptr failure) {
  own().ended = true;
  late_ = false;
  tell_peers(HandOffEntry::Kind::end);
  if (!failure) return;
  failure_ = std::move(failure);
  failed_.store(true, std::memory_order_release);
}

void Port::begin_end(std::function<void()> done) {
  source_.draw_line();
  ended_ = std::move(done);
}

bool Port::has_ended() const {
  return ended_ != nullptr && std::all_of(inputs_.begin(), inputs_.end(), [](const Input& input) {
           return input.ended && input.slots.empty();
         });
}

void Port::observe(bool on) {
  observed_ = on;
  shaper_.observe_drops(on ? &taps_ : nullptr);
}

void Port::begin(Reconfiguration& reconfiguration) {
  reconfiguration_ = &reconfiguration;
  own().stands = true;
  if (!own().ended) tell_peers(HandOffEntry::Kind::reconfiguration);
}

// From a part that has ended nothing more comes.
bool Port::every_input_stands() const {
  return std::all_of(inputs_.begin(), inputs_.end(),
                     [](const Input& input) { return input.stands || input.ended; });
}

bool Port::can_go_on() const {
  if (reconfiguration_ == nullptr) return false;
  return waits_for_ ? reconfiguration_->all_ended(*waits_for_) : every_input_stands();
}

void Port::go_on(const std::function<void()>& send_due) {
  using Step = Reconfiguration::Step;
  if (!can_go_on()) return;
  Reconfiguration& reconfiguration = *reconfiguration_;
  const auto end = [&](Step step) {
    waits_for_ = step;
    reconfiguration.end(step);
  };
  if (!waits_for_) end(Step::stand);
  if (waits_for_ == Step::stand && reconfiguration.all_ended(Step::stand)) {
    put_in_force(reconfiguration);
    // What is not shaped any more is due, and must leave before what comes behind it, here or at other workers.
    send_due();
    end(Step::put_in_force);
  }
  if (waits_for_ == Step::put_in_force && reconfiguration.all_ended(Step::put_in_force)) {
    reconfiguration.take_in(part_, shaper_, clock_.now());
    for (Input& input : inputs_) input.stands = false;
    waits_for_.reset();
    reconfiguration_ = nullptr;
    reconfiguration.end(Step::take_in);
  }
}

void Port::put_in_force(Reconfiguration& reconfiguration) {
  if (observed_) taps_.reconfigure(reconfiguration.classifier()->classes());
  reconfiguration.put_in_force(part_, shaper_, clock_.now());
  classifier_ = reconfiguration.classifier();
}

}  // namespace headgate
