#include "simulation.hpp"

#include <algorithm>

#include "config/compiled_matches.hpp"
#include "config/shape_classifier.hpp"
#include "core/header_parser.hpp"
#include "core/shaper_settings.hpp"
#include "core/stripped_tag.hpp"

namespace headgate {
namespace {

// The flows' places in the table are the same at each run.
constexpr std::uint64_t kHashSeed = 0x6865'6164'6761'7465;

constexpr Duration kStep = std::chrono::microseconds(100);
constexpr std::uint64_t kPacketsBetweenProgress = 1 << 16;

ShaperLimits limits_of(const DaemonConfig& daemon) {
  return {.memory = daemon.memory,
          .max_flows = daemon.max_flows,
          .frame_prefix = kKeptBytes,
          .idle = daemon.idle,
          .hash_seed = kHashSeed};
}

std::unique_ptr<ControlMeter> control_meter_of(const ShapeConfig& shape) {
  const auto& classes = shape.classes;
  if (std::any_of(classes.begin(), classes.end(), [](const ClassConfig& one) { return one.control; }))
    return nullptr;
  return std::make_unique<ControlMeter>(ControlLimit(shape.control_limit));
}

}  // namespace

Simulation::Simulation(const DaemonConfig& daemon, const ShapeConfig& shape, CompiledMatches& matches,
                       Instant start, SimulationWitness* witness)
    : shape_(shape),
      start_(start),
      witness_(witness),
      step_(has_tree(shape) || witness != nullptr ? Duration::zero() : kStep),
      classifier_(make_classifier(shape, kHashSeed, matches)),
      control_meter_(control_meter_of(shape)),
      shaper_(limits_of(daemon), classes_of(shape), memory_, tree_of(shape)),
      schedule_({.memory = daemon.memory, .max_flows = daemon.max_flows}, memory_, start),
      tally_(start, shape.classes.size() + 1),
      now_(start),
      end_(start) {
  schedule_.add(shaper_);
  shaper_.observe_drops(this);
}

Simulation::~Simulation() {
  shaper_.observe_drops(nullptr);
  shaper_.drop_all(DropReason::stop);
  schedule_.remove(shaper_);
}

void Simulation::run(Traffic& traffic, std::optional<Duration> until, const Progress& progress) {
  const Instant last = until ? start_ + *until : Instant::max();
  while (const OfferedPacket* const offered = traffic.next()) {
    if (offered->at > last) break;
    const bool full = arriving_count_ == kBatch;
    if (arriving_count_ > 0 && (full || offered->at - arriving_[0].arrival > step_)) admit();
    if (arriving_count_ == 0) release_until(offered->at);
    take(*offered);
    if (++taken_ % kPacketsBetweenProgress == 0 && progress) progress(offered->at - start_, taken_);
  }
  admit();
  release_until(last);
  end_ = until ? last : tally_.last_event();
  now_ = std::max(now_, end_);
}

void Simulation::take(const OfferedPacket& offered) {
  ArrivingPacket packet = slots_.put(arriving_count_, offered);
  KeptNotes& kept = slots_.kept(arriving_count_);
  kept.notes.mark = offered.mark;
  if (control_meter_ && goes_on_as_control(packet)) return;
  classifier_->classify(packet);
  shaper_.gather(packet);
  const auto class_number = static_cast<std::uint32_t>(
      packet.class_index == kUnmatched ? shape_.classes.size() : packet.class_index);
  kept.tallied = {.arrival = packet.arrival,
                  .flow = tally_.offered(class_number, packet.key, packet.flow_hash, packet.charged_bytes,
                                         packet.arrival),
                  .bytes = packet.charged_bytes,
                  .captured = static_cast<std::uint32_t>(offered.frame.size())};
  if (classifier_->unshaped(packet.class_index)) return pass_unshaped(packet);
  arriving_[arriving_count_++] = packet;
}

// As the program in the kernel does where no class takes control traffic.
bool Simulation::goes_on_as_control(const ArrivingPacket& packet) {
  const ParsedHeaders headers = parse_headers(packet.frame, packet.vlan_tpid != 0, packet.vlan_tci);
  if (!headers.control || !control_meter_->take({1, packet.charged_bytes}, packet.arrival)) return false;
  control_traffic_ += packet.cost();
  return true;
}

void Simulation::pass_unshaped(const ArrivingPacket& packet) {
  const Count one{1, packet.charged_bytes};
  shaper_.count_unshaped(packet.class_index, one, one, {});
  const TalliedPacket tallied = tallied_packet(packet.frame.data());
  tally_.sent(tallied, packet.arrival);
  if (witness_ != nullptr) witness_->sent(packet.class_index, with_tag(packet), tallied, packet.arrival);
}

// The frame of a packet that is not stored, its tag put back: as it came.
std::span<const std::span<const std::byte>> Simulation::with_tag(const ArrivingPacket& packet) {
  constexpr std::size_t kMacBytes = 12;
  parts_[0] = packet.frame;
  if (packet.vlan_tpid == 0) return {parts_.data(), 1};
  tag_ = tag_bytes({packet.vlan_tpid, packet.vlan_tci});
  parts_[0] = packet.frame.first(kMacBytes);
  parts_[1] = tag_;
  parts_[2] = packet.frame.subspan(kMacBytes);
  return {parts_.data(), 3};
}

// Only a witness is shown more than the first part of a frame, where the notes on it are.
void Simulation::admit() {
  if (arriving_count_ == 0) return;
  now_ = std::max(now_, arriving_[arriving_count_ - 1].arrival);
  const Shaper::Frames frames = witness_ != nullptr ? Shaper::Frames::lent : Shaper::Frames::first_parts;
  shaper_.admit({arriving_.data(), arriving_count_}, now_, frames);
  arriving_count_ = 0;
  release_due();
  if (witness_ != nullptr) schedule_.keep_lent();
  schedule_.grow_ahead();
}

// Steps are far below kMaxCatchUp, so that what leaves within one leaves at its own time.
void Simulation::release_until(Instant end) {
  for (Instant next; (next = schedule_.first_due()) <= end && next != Instant::max();) {
    const Instant before = now_;
    now_ = std::max(now_, std::min(std::max(next, now_) + step_, end));
    release_due();
    // A turn in a tree that nobody takes is over at the next instant.
    if (now_ == before && schedule_.first_due() == next) now_ += Duration(1);
  }
}

void Simulation::release_due() {
  while (const std::size_t count = schedule_.release(now_, due_)) {
    for (const DuePacket& packet : std::span(due_).first(count)) {
      const std::size_t parts = schedule_.frame_parts(packet, parts_);
      parts_[0] = parts_[0].subspan(kKeptBytes);
      const TalliedPacket tallied = tallied_packet(parts_[0].data());
      tally_.sent(tallied, packet.ideal);
      if (witness_ != nullptr)
        witness_->sent(packet.class_index, std::span(parts_).first(parts), tallied, packet.ideal);
    }
    schedule_.complete_sent(std::span(due_).first(count), now_);
  }
}

void Simulation::dropped(const ArrivingPacket& packet, DropReason reason) {
  const TalliedPacket tallied = tallied_packet(packet.frame.data());
  tally_.dropped(tallied, reason, packet.arrival);
  if (witness_ != nullptr)
    witness_->dropped(packet.class_index, with_tag(packet), tallied, reason, packet.arrival);
}

void Simulation::dropped(ClassIndex class_index, std::span<const std::span<const std::byte>> frame,
                         DropReason reason) {
  const TalliedPacket tallied = tallied_packet(frame.front().data());
  tally_.dropped(tallied, reason, now_);
  if (witness_ != nullptr) witness_->dropped(class_index, frame, tallied, reason, now_);
}

}  // namespace headgate
