#include "pipeline/drain_loop.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace headgate {

DrainLoop::DrainLoop(const std::vector<DrainInput>& inputs, PacketSink& sink, Waiter& waiter, Clock& clock,
                     Shaper& shaper, std::shared_ptr<const Classifier> classifier, std::size_t worker)
    : worker_(worker),
      sink_(sink),
      waiter_(waiter),
      clock_(clock),
      shaper_(shaper),
      classifier_(std::move(classifier)),
      parts_(kBatch * kMaxFrameParts + 3 * kBatch) {
  for (const DrainInput& input : inputs) {
    inputs_.push_back({.hand_off = &input.hand_off, .source = &input.source});
    inputs_.back().slots.reserve(kMostSlots);
  }
}

void DrainLoop::run() {
  stretch_since_ = clock_.now();
  processor_time_ = waiter_.processor_time();
  while (!all_ended()) {
    if (has_requests_.load(std::memory_order_relaxed)) {
      give_back_slots();
      run_requests();
    }
    if (reconfiguration_ != nullptr) {
      give_back_slots();
      go_on_with_reconfiguration();
    }
    if (reader_ != nullptr) reader_->look();
    const bool took = take_hand_overs();
    const Instant now = clock_.now();
    rest_at_times(now);
    due_count_ = shaper_.release(now, due_);
    const bool sends = unshaped_count_ + due_count_ > 0;
    if (sends) send_staged();
    const std::optional<Instant> next = shaper_.next_release();
    if (slot_count_ > 0 && !leaves_lent(next)) give_back_slots();
    publish_next_due(next);
    if (!took && !sends) sleep_until(next);
  }
  give_back_slots();
  if (send_rest_at_end_.load(std::memory_order_acquire)) send_rest();
  publish_next_due(std::nullopt);
  ended_.store(true, std::memory_order_release);
  run_requests();
}

bool DrainLoop::all_ended() const {
  return std::all_of(inputs_.begin(), inputs_.end(), [](const Input& input) { return input.ended; });
}

// Admits one batch of hand-overs, of all inputs together. Frames that go on unshaped are staged, and the slots of all are
// noted to give back.
bool DrainLoop::take_hand_overs() {
  arriving_count_ = 0;
  batch_count_ = 0;
  bool took = false;
  for (std::size_t i = 0, at = first_input_; i < inputs_.size(); ++i) {
    took = take_from(inputs_[at]) || took;
    at = at + 1 == inputs_.size() ? 0 : at + 1;
  }
  first_input_ = first_input_ + 1 == inputs_.size() ? 0 : first_input_ + 1;
  slot_count_ += batch_count_;
  if (arriving_count_ > 0) shaper_.admit_lent({arriving_.data(), arriving_count_}, clock_.now());
  return took;
}

bool DrainLoop::take_from(Input& input) {
  if (input.stands || input.ended) return false;
  const std::span<HandOffEntry> entries = input.hand_off->peek(kBatch - batch_count_);
  if (entries.empty()) return false;
  std::size_t taken = 0;
  for (HandOffEntry& entry : entries) {
    ++taken;
    if (entry.kind != HandOffEntry::Kind::packet) {
      // What was classified before this entry is admitted before it takes effect.
      if (entry.kind == HandOffEntry::Kind::reconfiguration) reconfiguration_ = entry.reconfiguration;
      (entry.kind == HandOffEntry::Kind::end ? input.ended : input.stands) = true;
      break;
    }
    input.slots.push_back(entry.slot);
    ++batch_count_;
    const ArrivingPacket& packet = entry.packet;
    if (taps_ != nullptr) tap_arrival(entry);
    if (entry.clipped) {
      shaper_.count_dropped(packet.class_index, {packet.charged_packets, packet.charged_bytes},
                            DropReason::clipped);
    } else if (classifier_->unshaped(packet.class_index)) {
      stage_unshaped(entry);
    } else {
      arriving_[arriving_count_++] = packet;
    }
  }
  input.hand_off->consume(taken);
  return true;
}

// A frame that leaves soon is not worth a copy; as long as there is room for the slots of the next batch.
bool DrainLoop::leaves_lent(std::optional<Instant> next) const {
  return next && shaper_.lends() && slot_count_ + kBatch <= kMostSlots && *next - clock_.now() <= kLoan;
}

void DrainLoop::give_back_slots() {
  shaper_.keep_lent();
  for (Input& input : inputs_) {
    if (!input.slots.empty()) input.source->give_back(input.slots);
    input.slots.clear();
  }
  slot_count_ = 0;
}

void DrainLoop::observe(PacketTaps* taps) {
  taps_ = taps;
  shaper_.observe_drops(taps);
}

void DrainLoop::tap_arrival(const HandOffEntry& entry) {
  taps_->set_time(clock_.now());
  taps_->received(entry.packet, entry.clipped);
  if (entry.clipped) taps_->clipped(entry.packet);
}

// Of a capture loop that has ended nothing more comes.
bool DrainLoop::every_input_stands() const {
  return std::all_of(inputs_.begin(), inputs_.end(),
                     [](const Input& input) { return input.stands || input.ended; });
}

bool DrainLoop::reconfiguration_can_go_on() const {
  if (reconfiguration_ == nullptr) return false;
  return waits_for_ ? reconfiguration_->all_ended(*waits_for_) : every_input_stands();
}

void DrainLoop::go_on_with_reconfiguration() {
  using Step = Reconfiguration::Step;
  Reconfiguration& reconfiguration = *reconfiguration_;
  if (!waits_for_ && every_input_stands()) {
    waits_for_ = Step::stand;
    reconfiguration.end(Step::stand);
  }
  if (waits_for_ == Step::stand && reconfiguration.all_ended(Step::stand)) {
    put_in_force(reconfiguration);
    waits_for_ = Step::put_in_force;
    reconfiguration.end(Step::put_in_force);
  }
  if (waits_for_ == Step::put_in_force && reconfiguration.all_ended(Step::put_in_force)) {
    reconfiguration.take_in(worker_, shaper_, clock_.now());
    for (Input& input : inputs_) input.stands = false;
    waits_for_.reset();
    reconfiguration_ = nullptr;
    reconfiguration.end(Step::take_in);
  }
}

void DrainLoop::put_in_force(Reconfiguration& reconfiguration) {
  const std::shared_ptr<const Classifier>& next = reconfiguration.classifier();
  if (taps_ != nullptr) taps_->reconfigure(next->classes());
  const Instant now = clock_.now();
  if (!reconfiguration.put_in_force(worker_, shaper_, now)) return;
  classifier_ = next;
  // What is not shaped any more is due: other threads may be sending what comes behind it.
  if (inputs_.size() > 1) send_due(now);
}

void DrainLoop::send_due(Instant now) {
  while ((due_count_ = shaper_.release(now, due_)) > 0) send_staged();
}

// The frame is sent from its capture slot; a stripped tag goes back between the MAC addresses and the rest.
void DrainLoop::stage_unshaped(const HandOffEntry& entry) {
  constexpr std::size_t kMacAddresses = 12;
  const ArrivingPacket& packet = entry.packet;
  const std::size_t first_part = part_count_;
  if (packet.vlan_tpid != 0 && packet.frame.size() >= kMacAddresses) {
    auto& header = tagged_headers_[unshaped_count_].bytes;
    const std::size_t prefix = packet.prefix_bytes;
    std::memcpy(header.data(), packet.frame.data() - prefix, prefix + kMacAddresses);
    const std::array<std::uint8_t, 4> tag = {
        static_cast<std::uint8_t>(packet.vlan_tpid >> 8), static_cast<std::uint8_t>(packet.vlan_tpid),
        static_cast<std::uint8_t>(packet.vlan_tci >> 8), static_cast<std::uint8_t>(packet.vlan_tci)};
    std::memcpy(header.data() + prefix + kMacAddresses, tag.data(), tag.size());
    parts_[part_count_++] = std::span(header).first(prefix + kMacAddresses + tag.size());
    parts_[part_count_++] = packet.frame.subspan(kMacAddresses);
  } else {
    parts_[part_count_++] = {packet.frame.data() - packet.prefix_bytes,
                             packet.frame.size() + packet.prefix_bytes};
  }
  unshaped_class_[unshaped_count_] = packet.class_index;
  unshaped_charge_[unshaped_count_] = {packet.charged_packets, packet.charged_bytes};
  frames_[unshaped_count_++] = {{&parts_[first_part], part_count_ - first_part}};
}

void DrainLoop::send_staged() {
  for (std::size_t i = 0; i < due_count_; ++i) {
    const std::size_t parts = shaper_.frame_parts(due_[i], std::span(parts_).subspan(part_count_));
    frames_[unshaped_count_ + i] = {{&parts_[part_count_], parts}};
    part_count_ += parts;
  }
  const std::size_t total = unshaped_count_ + due_count_;
  sink_.send({frames_.data(), total}, {sent_.data(), total});
  if (taps_ != nullptr) tap_results(total);
  count_unshaped_results();
  complete_due(unshaped_count_);
  unshaped_count_ = due_count_ = part_count_ = 0;
}

// Of a frame whose parts are in parts_: they are not needed any more, so the virtio header is cut off in place.
std::span<const std::span<const std::byte>> DrainLoop::without_prefix(
    std::span<const std::span<const std::byte>> frame) {
  std::span<const std::byte>& first = parts_[static_cast<std::size_t>(frame.data() - parts_.data())];
  first = first.subspan(shaper_.frame_prefix());
  return frame;
}

void DrainLoop::tap_results(std::size_t total) {
  taps_->set_time(clock_.now());
  for (std::size_t i = 0; i < total; ++i) {
    const bool unshaped = i < unshaped_count_;
    const ClassIndex class_index = unshaped ? unshaped_class_[i] : due_[i - unshaped_count_].class_index;
    const auto parts = without_prefix(frames_[i].parts);
    if (sent_[i]) {
      taps_->sent(class_index, parts);
    } else {
      taps_->dropped(class_index, parts, DropReason::send_failed);
    }
  }
}

void DrainLoop::count_unshaped_results() {
  for (std::size_t i = 0; i < unshaped_count_; ++i) {
    const Count& charge = unshaped_charge_[i];
    shaper_.count_unshaped(unshaped_class_[i], charge, sent_[i] ? charge : Count{},
                           sent_[i] ? Count{} : charge);
  }
}

// Runs of packets with the same outcome are completed together.
void DrainLoop::complete_due(std::size_t first_frame) {
  if (due_count_ == 0) return;
  const Instant now = clock_.now();
  for (std::size_t from = 0; from < due_count_;) {
    const bool sent = sent_[first_frame + from];
    std::size_t to = from + 1;
    while (to < due_count_ && sent_[first_frame + to] == sent) ++to;
    const std::span<const DuePacket> run{&due_[from], to - from};
    if (sent) {
      shaper_.complete_sent(run, now);
    } else {
      shaper_.complete_dropped(run, DropReason::send_failed);
    }
    from = to;
  }
}

void DrainLoop::publish_next_due(std::optional<Instant> next) {
  health_.next_due.store(next ? next->time_since_epoch().count() : DrainHealth::kNothingDue,
                         std::memory_order_relaxed);
}

// prepare() comes before the last look for work, so that a hand-over or request in between is not slept
// through.
void DrainLoop::sleep_until(std::optional<Instant> next) {
  waiter_.prepare();
  if (has_hand_overs() || reconfiguration_can_go_on() || has_requests_.load(std::memory_order_seq_cst)) {
    waiter_.cancel();
    return;
  }
  waiter_.wait(next);
}

void DrainLoop::rest_at_times(Instant now) {
  if (!real_time_ || now - stretch_since_ < kStretch) return;
  const Duration taken = waiter_.processor_time() - processor_time_;
  if (taken * 100 > (now - stretch_since_) * kMostPercent) clock_.sleep(kRest);
  processor_time_ += taken;
  stretch_since_ = clock_.now();
}

bool DrainLoop::has_hand_overs() const {
  return std::any_of(inputs_.begin(), inputs_.end(), [](const Input& input) {
    return !input.stands && !input.ended && !input.hand_off->empty();
  });
}

void DrainLoop::send_rest() {
  const Instant give_up = clock_.now() + kStopTime;
  while ((due_count_ = shaper_.release_all(due_)) > 0) {
    if (clock_.now() < give_up) {
      send_staged();
    } else {
      if (taps_ != nullptr) tap_stop();
      shaper_.complete_dropped({due_.data(), due_count_}, DropReason::stop);
    }
  }
}

void DrainLoop::tap_stop() {
  taps_->set_time(clock_.now());
  for (const DuePacket& packet : std::span(due_).first(due_count_)) {
    const std::size_t parts = shaper_.frame_parts(packet, parts_);
    taps_->dropped(packet.class_index, without_prefix(std::span(parts_).first(parts)), DropReason::stop);
  }
}

bool DrainLoop::call(Request request, Duration patience) {
  const auto pending = std::make_shared<PendingRequest>();
  pending->request = std::move(request);
  std::future<bool> done = pending->done.get_future();
  {
    const std::lock_guard lock(requests_mutex_);
    if (ended()) return false;
    requests_.push_back(pending);
    has_requests_.store(true, std::memory_order_seq_cst);
  }
  waiter_.wake();
  if (done.wait_for(patience) != std::future_status::ready) return false;
  return done.get();
}

void DrainLoop::run_requests() {
  std::vector<std::shared_ptr<PendingRequest>> requests;
  {
    const std::lock_guard lock(requests_mutex_);
    requests.swap(requests_);
    has_requests_.store(false, std::memory_order_relaxed);
  }
  for (const auto& pending : requests) {
    try {
      if (!ended()) pending->request(shaper_, sink_, clock_.now());
      pending->done.set_value(!ended());
    } catch (...) {
      pending->done.set_exception(std::current_exception());
    }
  }
}

}  // namespace headgate
