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

// Entries of each hand-off ring where there are several to a capture loop: together they hold what its ring holds. One
// that is full makes the capture loop wait.
constexpr std::size_t kFewestEntries = 128;

bool takes_control(const ShapeConfig& shape) {
  return std::any_of(shape.classes.begin(), shape.classes.end(),
                     [](const ClassConfig& one) { return one.control; });
}

bool keeps_super_packets(const ShapeConfig& shape) {
  return shape.segmentation == Segmentation::whole;
}

// A super-packet costs more to copy than to shape, and least while its memory is still in the processor's cache: an
// ordinary thread lets the receiver at it in between. Not where departures are to be exact first of all.
bool in_real_time(const ShapeConfig& shape) {
  return !keeps_super_packets(shape) || shape.precision == Precision::high;
}

std::size_t hand_off_entries(std::size_t slots, std::size_t workers) {
  if (workers == 1) return slots + CaptureLoop::kReservedEntries;
  return std::max(slots / workers, kFewestEntries);
}

}  // namespace

std::string title_of(const ShapeConfig& shape) {
  if (!shape.forward_to.empty()) return shape.interface + " to " + shape.forward_to;
  return shape.interface + (shape.direction == Direction::egress ? " egress" : " ingress");
}

Attachment::Attachment(const DaemonConfig& daemon, const ShapeConfig& shape,
                       std::shared_ptr<const Classifier> classifier, const WorkerStates& states,
                       const CaptureShare& share, Log log)
    : title_(title_of(shape)),
      log_(std::move(log)),
      real_time_(in_real_time(shape)),
      divert_(DivertOptions{.interface = shape.interface,
                            .direction = shape.direction,
                            .method = daemon.divert,
                            .mark = daemon.mark,
                            .divert_control = takes_control(shape),
                            .forward_to = shape.forward_to,
                            .whole_super_packets = keeps_super_packets(shape)}) {
  make_workers(daemon, shape, states, share);
  join_workers(classifier);
  for (const std::string& line : divert_.swept()) log_("left over from before: " + line);
}

void Attachment::make_workers(const DaemonConfig& daemon, const ShapeConfig& shape,
                              const WorkerStates& states, const CaptureShare& share) {
  const CaptureOptions capture{.device_index = divert_.device_index(),
                               .mtu = divert_.mtu(),
                               .virtio_header = keeps_super_packets(shape),
                               .share = share};
  const PacketTransmitterOptions transmit{.interface_index = divert_.transmit_index(),
                                          .mark = daemon.mark,
                                          .qdisc_bypass = shape.qdisc_bypass,
                                          .virtio_header = keeps_super_packets(shape),
                                          .detour_index = divert_.peer_index(),
                                          .mtu = divert_.transmit_mtu()};
  auto sources = open_captures(shape.capture, capture, states.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    workers_.push_back(std::make_unique<Worker>(i, *states[i], std::move(sources[i]), transmit));
    workers_.back()->waiter.set_precision(shape.precision);
  }
}

void Attachment::join_workers(const std::shared_ptr<const Classifier>& classifier) {
  for (const auto& worker : workers_) {
    worker->last_consumed.resize(workers_.size());
    for (std::size_t i = 0; i < workers_.size(); ++i)
      worker->hand_offs.push_back(
          std::make_unique<HandOff>(hand_off_entries(worker->source->slots(), workers_.size())));
  }
  std::vector<PipelineWatch::Watched> watched;
  for (const auto& worker : workers_) {
    std::vector<DrainInput> inputs;
    for (const auto& from : workers_) inputs.push_back({*from->hand_offs[worker->number], *from->source});
    worker->drain_loop.emplace(inputs, worker->transmitter, worker->waiter, clock_, worker->state.shaper,
                               classifier, worker->number);
    watched.push_back({*worker->source, worker->drain_loop->health()});
  }
  watch_.emplace(divert_, watched);
  for (const auto& worker : workers_) {
    std::vector<CaptureOutput> outputs;
    for (const auto& to : workers_) {
      const bool same_thread = to == worker;
      outputs.push_back({*worker->hand_offs[to->number], same_thread ? nullptr : &to->waiter});
    }
    worker->capture_loop.emplace(*worker->source, outputs, *watch_, clock_, classifier, worker->number);
    worker->waiter.set_reader(*worker->capture_loop);
    worker->drain_loop->read_too(*worker->capture_loop);
  }
}

Attachment::~Attachment() {
  stop(Queued::keep);
}

void Attachment::start() {
  for (const auto& worker : workers_) {
    observe_taps(*worker);
    worker->thread = std::thread([this, &worker] { run(*worker); });
  }
  divert_.attach();
}

void Attachment::stop(Queued queued) {
  divert_.detach();
  for (const auto& worker : workers_) worker->drain_loop->send_rest_at_end(queued == Queued::send);
  for (const auto& worker : workers_) worker->capture_loop->stop();
  // The threads end when every capture loop has, also that of one that start() could not make.
  if (!workers_.front()->thread.joinable()) return;
  for (const auto& worker : workers_)
    if (!worker->thread.joinable()) worker->capture_loop->run();
  for (const auto& worker : workers_)
    if (worker->thread.joinable()) worker->thread.join();
}

// At most 15 characters.
std::string Attachment::thread_name(const std::string& name, const Worker& worker) const {
  return workers_.size() == 1 ? name : name + "-" + std::to_string(worker.number);
}

void Attachment::run(Worker& worker) {
  pthread_setname_np(pthread_self(), thread_name("hg-drain", worker).c_str());
  set_timer_slack();
  if (real_time_ && ask_for_real_time(worker)) worker.drain_loop->set_real_time();
  worker.drain_loop->run();
  note_failure(worker, worker.capture_loop->failure());
}

bool Attachment::ask_for_real_time(const Worker& worker) {
  const std::string refusal = set_real_time_priority();
  if (!refusal.empty() && worker.number == 0) {
    log_(title_ + ": departures are timed by an ordinary thread, less exact under load: " + refusal);
  }
  return refusal.empty();
}

void Attachment::note_failure(Worker& worker, const std::exception_ptr& failure) {
  if (!failure) return;
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    worker.capture_error = error.what();
    worker.capture_failed.store(true, std::memory_order_release);
  }
}

std::string Attachment::capture_error() const {
  for (const auto& worker : workers_) {
    if (worker->capture_failed.load(std::memory_order_acquire)) return worker->capture_error;
  }
  return {};
}

void Attachment::reconfigure(const ShapeConfig& shape, std::shared_ptr<const Classifier> classifier) {
  if (const std::string error = capture_error(); !error.empty()) {
    throw std::runtime_error(title_ + ": cannot be changed, capture ended: " + error);
  }
  // Each thread takes one at a time.
  if (reconfigured_.valid() && reconfigured_.wait_for(Duration::zero()) != std::future_status::ready) {
    throw std::runtime_error(title_ + ": its threads have not taken the classes of the last reload yet");
  }
  std::vector<Waiter*> drain_waiters;
  for (const auto& worker : workers_) {
    worker->transmitter.set_qdisc_bypass(shape.qdisc_bypass);
    worker->waiter.set_precision(shape.precision);
    drain_waiters.push_back(&worker->waiter);
  }
  reconfiguration_ = std::make_unique<Reconfiguration>(std::move(classifier), std::move(drain_waiters));
  reconfigured_ = reconfiguration_->done();
  for (const auto& worker : workers_) worker->capture_loop->reconfigure(*reconfiguration_);
  if (reconfigured_.wait_for(kReconfigurePatience) != std::future_status::ready) {
    throw std::runtime_error(title_ + ": its threads do not take the new classes");
  }
  reconfigured_.get();
  divert_.set_divert_control(takes_control(shape));
}

bool Attachment::check_progress() {
  const Instant now = clock_.now();
  // A packet that was diverted but lost on its way leaves the dead-man switch armed with nobody to reset it.
  const bool armed = divert_.unread_for(now) > DrainHealth::kPatience;
  bool all_move = true;
  for (const auto& worker : workers_) {
    if (armed) worker->source->interrupt();
    all_move = hand_overs_move(*worker) && all_move && !worker->drain_loop->health().overdue(now);
  }
  all_move = all_move && !watch_->leaves_frames(now, DrainHealth::kPatience);
  return all_move;
}

// Whether each drain thread has taken something since the last check of what this capture loop handed to it.
bool Attachment::hand_overs_move(Worker& worker) {
  bool all_move = true;
  for (std::size_t i = 0; i < worker.hand_offs.size(); ++i) {
    const std::size_t consumed = worker.hand_offs[i]->consumed();
    const bool moves = consumed != worker.last_consumed[i] || consumed == worker.hand_offs[i]->published();
    worker.last_consumed[i] = consumed;
    all_move = all_move && moves;
  }
  return all_move;
}

bool Attachment::change_taps(std::size_t worker, std::function<void(PacketTaps& taps)> change) {
  Worker& changed = *workers_[worker];
  return call(worker, [&changed, change = std::move(change)](Shaper&, PacketSink&, Instant) {
    change(changed.state.taps);
    observe_taps(changed);
  });
}

void Attachment::observe_taps(Worker& worker) {
  worker.drain_loop->observe(worker.state.taps.empty() ? nullptr : &worker.state.taps);
}

bool Attachment::call(std::size_t worker, DrainLoop::Request request) {
  return workers_[worker]->drain_loop->call(std::move(request), kCallPatience);
}

Attachment::Lost Attachment::lost() {
  const std::uint64_t came = divert_.packets();  // before the captures are asked, which may have more by then
  CaptureCounts captures;
  for (const auto& worker : workers_) {
    const CaptureCounts counts = worker->source->counts();
    captures.seen += counts.seen;
    captures.lost += counts.lost;
  }
  if (came > captures.seen) lost_device_ = std::max(lost_device_, came - captures.seen);
  return {.ring = captures.lost, .device = lost_device_};
}

}  // namespace headgate
