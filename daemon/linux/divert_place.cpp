#include "linux/divert_place.hpp"

#include <linux/bpf.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "pipeline/worker_health.hpp"

namespace headgate {

namespace {

constexpr Duration kPatience{DIVERT_PATIENCE_NS};
static_assert(kPatience == WorkerHealth::kPatience);  // who looks from here means the kernel's

template <typename Value>
std::atomic_ref<Value> shared(Value& value) {
  return std::atomic_ref<Value>(value);
}

void set_bound(divert_bound& bound, const ControlLimit::Bound& to) {
  shared(bound.per_second).store(to.per_second, std::memory_order_relaxed);
  shared(bound.burst_ns).store(static_cast<std::uint64_t>(to.burst.count()), std::memory_order_relaxed);
}

Count count_of(divert_count& count) {
  return {.packets = shared(count.packets).load(std::memory_order_relaxed),
          .bytes = shared(count.bytes).load(std::memory_order_relaxed)};
}

}  // namespace

DivertPlace::DivertPlace(DivertPrograms& programs, const DivertPlaceOptions& options)
    : programs_(programs), place_(programs), shape_(place_.shape()) {
  shape_.divert_device = static_cast<std::uint32_t>(options.divert_device);
  shape_.return_device = static_cast<std::uint32_t>(options.return_device);
  shape_.return_flags = options.return_to_ingress ? BPF_F_INGRESS : 0;
  shape_.copies = options.copies;
  shape_.workers = options.workers;
  shape_.raw_ip = options.raw_ip;
  shape_.ends_packets = options.ends_packets;
  shape_.minds_tunnel_metadata = options.minds_tunnel_metadata;
  shape_.keeps_tunnel_metadata = options.keeps_tunnel_metadata;
  shape_.tunnel_has_key = options.tunnel_has_key;
  shape_.minds_decryption = options.minds_decryption;
  place_.find_by(options.device, options.direction == Direction::egress ? DIVERT_EGRESS : DIVERT_INGRESS);
}

DivertPlace::~DivertPlace() {
  free_let_go_counters();
}

void DivertPlace::serve_alone(int device) {
  place_.find_by(device, DIVERT_RETURN);
}

void DivertPlace::copy_to(std::uint32_t worker, std::uint32_t ring, std::uint32_t channel) {
  shape_.channels[worker] = {.ring = ring, .number = channel};
}

void DivertPlace::ask_cgroups(std::uint32_t places) {
  shared(shape_.cgroups_asked).store(places, std::memory_order_relaxed);
}

void DivertPlace::let_go_by(std::span<const HookClass> classes) {
  auto matches = programs_.load_matches(classes);
  const auto counters = static_cast<std::uint32_t>(classes.size()) + 1;
  if (let_go_taken_.size() != counters) {
    free_let_go_counters();
    const auto first = programs_.take_let_go_counters(counters);
    if (!first) throw std::runtime_error("all shapes together have too many classes to count them there");
    shape_.let_go_at = *first;
    shape_.classes = counters - 1;
    let_go_taken_ = programs_.read_let_go(*first, counters);
  }
  programs_.set_find_class(number(), matches->program());
  std::copy(matches->unshaped().begin(), matches->unshaped().end(), shape_.unshaped_classes);
  matches_ = std::move(matches);
  rules_ = std::max(rules_ + 1, 1U);
  shared(shape_.lets_go_by).store(rules_);
}

void DivertPlace::take_all_out() {
  shared(shape_.lets_go_by).store(0);
}

void DivertPlace::forget_matches() {
  matches_.reset();
}

void DivertPlace::free_let_go_counters() {
  if (let_go_taken_.empty()) return;
  programs_.free_let_go_counters(shape_.let_go_at, static_cast<std::uint32_t>(let_go_taken_.size()));
  let_go_taken_.clear();
}

// Each processor has counters of its own.
std::vector<Count> DivertPlace::take_let_go() {
  std::vector<Count> fresh;
  if (let_go_taken_.empty()) return fresh;
  const auto now = programs_.read_let_go(shape_.let_go_at, static_cast<std::uint32_t>(let_go_taken_.size()));
  for (std::size_t i = 0; i < now.size(); ++i)
    fresh.push_back(Count{.packets = now[i].packets - let_go_taken_[i].packets,
                          .bytes = now[i].bytes - let_go_taken_[i].bytes});
  let_go_taken_ = now;
  return fresh;
}

void DivertPlace::set_diverting(bool on) {
  shared(shape_.diverting).store(on ? 1 : 0);
}

void DivertPlace::set_divert_control(bool on) {
  shared(shape_.divert_control).store(on ? 1 : 0);
}

void DivertPlace::set_control_limit(const ControlLimit& limit) {
  set_bound(shape_.control_packets, limit.packets());
  set_bound(shape_.control_bits, limit.bits());
}

HookCounts DivertPlace::counts() const {
  return {.unshapable = count_of(shape_.unshapable),
          .control_traffic = count_of(shape_.control_traffic),
          .foreign = {}};
}

std::uint64_t DivertPlace::found_no_room() const {
  return count_of(shape_.found_no_room).packets;
}

std::uint64_t DivertPlace::to_be_cut() const {
  return count_of(shape_.to_be_cut).packets;
}

std::uint64_t DivertPlace::cut() const {
  return count_of(shape_.cut).packets;
}

void DivertPlace::reset(Instant now) {
  const auto unread_since = shared(shape_.unread_since);
  const std::uint64_t since = unread_since.load(std::memory_order_relaxed);
  // Only where needed: a store takes the cache line away from the processor that diverts.
  if (since == 0) return;
  // Of several threads one finds what stood there.
  const std::uint64_t ended = unread_since.exchange(0, std::memory_order_relaxed);
  if (ended != 0) note_opening(since_kernel_time(ended, now));
}

void DivertPlace::arm() {
  shared(shape_.unread_since).store(0, std::memory_order_relaxed);
  passed_at_reset_ = passed_unshaped();
}

void DivertPlace::note_opening(Duration unread) {
  const std::uint64_t passed = passed_unshaped();
  if (unread <= kPatience || passed == passed_at_reset_.exchange(passed, std::memory_order_relaxed)) return;
  openings_.fetch_add(1, std::memory_order_relaxed);
  open_time_.fetch_add((unread - kPatience).count(), std::memory_order_relaxed);
}

Duration DivertPlace::unread_for(Instant now) const {
  const auto since = shared(shape_.unread_since).load(std::memory_order_relaxed);
  if (since == 0) return Duration::zero();
  return since_kernel_time(since, now);
}

Duration DivertPlace::since_kernel_time(std::uint64_t nanoseconds, Instant now) const {
  return now.time_since_epoch() - clock_offset_ - Duration(static_cast<Duration::rep>(nanoseconds));
}

std::uint64_t DivertPlace::passed_unshaped() const {
  return shared(shape_.passed_unshaped).load(std::memory_order_relaxed);
}

bool DivertPlace::has_let_pass() const {
  return passed_unshaped() != passed_at_reset_.load(std::memory_order_relaxed);
}

std::uint64_t DivertPlace::openings() const {
  return openings_.load(std::memory_order_relaxed);
}

Duration DivertPlace::open_time() const {
  return Duration(open_time_.load(std::memory_order_relaxed));
}

}  // namespace headgate
