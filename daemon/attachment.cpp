#include "attachment.hpp"

#include <pthread.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "linux/real_time.hpp"

namespace headgate {

namespace {

constexpr Duration kCallPatience = std::chrono::milliseconds(200);
constexpr Duration kReconfigurePatience = std::chrono::seconds(2);
constexpr std::size_t kEntriesThatAreNoPackets = 16;

bool takes_control(const ShapeConfig& shape) {
  return std::any_of(shape.classes.begin(), shape.classes.end(),
                     [](const ClassConfig& one) { return one.control; });
}

bool keeps_super_packets(const ShapeConfig& shape) {
  return shape.segmentation == Segmentation::whole;
}

}  // namespace

std::string title_of(const ShapeConfig& shape) {
  if (!shape.forward_to.empty()) return shape.interface + " to " + shape.forward_to;
  return shape.interface + (shape.direction == Direction::egress ? " egress" : " ingress");
}

Attachment::Attachment(const DaemonConfig& daemon, const ShapeConfig& shape,
                       std::shared_ptr<const Classifier> classifier, Shaper& shaper, PacketTaps& taps,
                       Log log)
    : title_(title_of(shape)),
      log_(std::move(log)),
      divert_(DivertOptions{.interface = shape.interface,
                            .direction = shape.direction,
                            .method = daemon.divert,
                            .mark = daemon.mark,
                            .divert_control = takes_control(shape),
                            .forward_to = shape.forward_to,
                            .whole_super_packets = keeps_super_packets(shape)}),
      source_(open_capture(shape.capture, CaptureOptions{.interface_index = divert_.capture_index(),
                                                         .mtu = divert_.mtu(),
                                                         .virtio_header = keeps_super_packets(shape)})),
      transmitter_(PacketTransmitterOptions{.interface_index = divert_.transmit_index(),
                                            .mark = daemon.mark,
                                            .qdisc_bypass = shape.qdisc_bypass,
                                            .virtio_header = keeps_super_packets(shape),
                                            .detour_index = divert_.capture_index(),
                                            .mtu = divert_.transmit_mtu()}),
      taps_(taps),
      hand_off_(source_->slots() + kEntriesThatAreNoPackets),
      drain_loop_(hand_off_, *source_, transmitter_, waiter_, clock_, shaper, classifier),
      capture_loop_(*source_, hand_off_, waiter_, divert_, drain_loop_.health(), clock_, classifier) {
  waiter_.set_precision(shape.precision);
  for (const std::string& line : divert_.swept()) log_("left over from before: " + line);
}

Attachment::~Attachment() {
  stop(Queued::keep);
}

void Attachment::start() {
  observe_taps();
  drain_thread_ = std::thread([this] { drain(); });
  capture_thread_ = std::thread([this] { capture(); });
  divert_.attach();
}

void Attachment::stop(Queued queued) {
  divert_.detach();
  if (!capture_thread_.joinable()) return;
  drain_loop_.send_rest_at_end(queued == Queued::send);
  capture_loop_.stop();
  capture_thread_.join();
  drain_thread_.join();
}

void Attachment::capture() {
  pthread_setname_np(pthread_self(), "hg-capture");
  set_timer_slack();
  try {
    capture_loop_.run();
  } catch (const std::exception& error) {
    capture_error_ = error.what();
    capture_failed_.store(true, std::memory_order_release);
  }
}

void Attachment::drain() {
  pthread_setname_np(pthread_self(), "hg-drain");
  set_timer_slack();
  if (const std::string refusal = set_real_time_priority(); !refusal.empty()) {
    log_(title_ + ": departures are timed by an ordinary thread, less exact under load: " + refusal);
  }
  drain_loop_.run();
}

std::string Attachment::capture_error() const {
  return capture_failed_.load(std::memory_order_acquire) ? capture_error_ : std::string();
}

void Attachment::reconfigure(const ShapeConfig& shape, std::shared_ptr<const Classifier> classifier) {
  if (const std::string error = capture_error(); !error.empty()) {
    throw std::runtime_error(title_ + ": cannot be changed, capture ended: " + error);
  }
  transmitter_.set_qdisc_bypass(shape.qdisc_bypass);
  waiter_.set_precision(shape.precision);
  reconfiguration_ = std::make_unique<Reconfiguration>();
  reconfiguration_->classifier = std::move(classifier);
  std::future<void> done = reconfiguration_->done.get_future();
  capture_loop_.reconfigure(*reconfiguration_);
  if (done.wait_for(kReconfigurePatience) != std::future_status::ready) {
    throw std::runtime_error(title_ + ": its threads do not take the new classes");
  }
  done.get();
  divert_.set_divert_control(takes_control(shape));
}

bool Attachment::check_progress() {
  const Instant now = clock_.now();
  // A packet that was diverted but lost on its way leaves the dead-man switch armed with nobody to reset it.
  if (divert_.unread_for(now) > DrainHealth::kPatience) source_->interrupt();
  const std::size_t consumed = hand_off_.consumed();
  const bool moves = consumed != last_consumed_ || consumed == hand_off_.published();
  last_consumed_ = consumed;
  return moves && !drain_loop_.health().overdue(now);
}

bool Attachment::change_taps(std::function<void(PacketTaps& taps)> change) {
  return call([this, change = std::move(change)](Shaper&, PacketSink&, Instant) {
    change(taps_);
    observe_taps();
  });
}

void Attachment::observe_taps() {
  drain_loop_.observe(taps_.empty() ? nullptr : &taps_);
}

bool Attachment::call(DrainLoop::Request request) {
  return drain_loop_.call(std::move(request), kCallPatience);
}

}  // namespace headgate
