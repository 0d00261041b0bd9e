#include "linux/divert_program.hpp"

#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

#include "linux/divert_memory.h"

#include "divert.skel.h"

namespace headgate {

namespace {

// libbpf's last complaint on this thread: it tells more than errno does.
thread_local std::string g_complaint;

int keep_complaint(libbpf_print_level level, const char* format, va_list arguments) {
  if (level != LIBBPF_WARN) return 0;
  char text[512];
  std::vsnprintf(text, sizeof text, format, arguments);
  g_complaint = text;
  while (!g_complaint.empty() && g_complaint.back() == '\n') g_complaint.pop_back();
  return 0;
}

[[noreturn]] void fail(int error) {
  std::string attempt = "load the BPF programs";
  if (!g_complaint.empty()) attempt += " (" + g_complaint + ")";
  if (error == EPERM) attempt += "; CAP_BPF and CAP_NET_ADMIN must hold in the host's user namespace";
  throw std::system_error(error, std::system_category(), attempt);
}

template <typename Value>
std::atomic_ref<Value> shared(Value& value) {
  return std::atomic_ref<Value>(value);
}

// A kernel without IPsec refuses a program that asks for it.
bool kernel_has_ipsec() {
  static const bool has =
      libbpf_probe_bpf_helper(BPF_PROG_TYPE_SCHED_CLS, BPF_FUNC_skb_get_xfrm_state, nullptr) != 0;
  return has;
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

DivertProgram::DivertProgram(const DivertProgramOptions& options) : skeleton_(nullptr) {
  libbpf_set_print(keep_complaint);
  g_complaint.clear();
  skeleton_ = divert_bpf::open();
  if (skeleton_ == nullptr) fail(errno);
  skeleton_->rodata->own_mark = options.own_mark;
  skeleton_->rodata->divert_device = static_cast<std::uint32_t>(options.divert_device);
  skeleton_->rodata->return_device = static_cast<std::uint32_t>(options.return_device);
  skeleton_->rodata->return_flags = options.return_to_ingress ? BPF_F_INGRESS : 0;
  skeleton_->rodata->wire_device = static_cast<std::uint32_t>(options.wire_device);
  skeleton_->rodata->minds_tunnel_metadata = options.minds_tunnel_metadata;
  skeleton_->rodata->minds_decryption = options.minds_decryption && kernel_has_ipsec();
  if (const int result = divert_bpf::load(skeleton_); result < 0) {
    divert_bpf::destroy(skeleton_);
    fail(-result);
  }
}

DivertProgram::~DivertProgram() {
  divert_bpf::destroy(skeleton_);
}

int DivertProgram::divert() const {
  return bpf_program__fd(skeleton_->progs.divert);
}

int DivertProgram::refuse_foreign() const {
  return bpf_program__fd(skeleton_->progs.refuse_foreign);
}

int DivertProgram::drop_captured() const {
  return bpf_program__fd(skeleton_->progs.drop_captured);
}

int DivertProgram::consume_captured() const {
  return bpf_program__fd(skeleton_->progs.consume_captured);
}

int DivertProgram::return_shaped() const {
  return bpf_program__fd(skeleton_->progs.return_shaped);
}

int DivertProgram::wire() const {
  return bpf_program__fd(skeleton_->progs.wire);
}

void DivertProgram::set_diverting(bool on) {
  shared(skeleton_->bss->diverting).store(on ? 1 : 0);
}

void DivertProgram::set_divert_control(bool on) {
  shared(skeleton_->bss->divert_control).store(on ? 1 : 0);
}

void DivertProgram::set_control_limit(const ControlLimit& limit) {
  set_bound(skeleton_->bss->control_packets, limit.packets());
  set_bound(skeleton_->bss->control_bits, limit.bits());
}

HookCounts DivertProgram::counts() const {
  return {.unshapable = count_of(skeleton_->bss->unshapable),
          .control_traffic = count_of(skeleton_->bss->control_traffic),
          .foreign = count_of(skeleton_->bss->foreign)};
}

void DivertProgram::reset(Instant now) {
  const auto unread_since = shared(skeleton_->bss->unread_since);
  const std::uint64_t since = unread_since.load(std::memory_order_relaxed);
  // Only where needed: a store takes the cache line away from the processor that diverts.
  if (since == 0) return;
  // Of several threads one finds what stood there.
  const std::uint64_t ended = unread_since.exchange(0, std::memory_order_relaxed);
  if (ended != 0) note_opening(since_kernel_time(ended, now));
}

void DivertProgram::arm() {
  shared(skeleton_->bss->unread_since).store(0, std::memory_order_relaxed);
  passed_at_reset_ = passed_unshaped();
}

void DivertProgram::note_opening(Duration unread) {
  const Duration patience(static_cast<Duration::rep>(skeleton_->rodata->patience_ns));
  const std::uint64_t passed = passed_unshaped();
  if (unread <= patience || passed == passed_at_reset_.exchange(passed, std::memory_order_relaxed)) return;
  openings_.fetch_add(1, std::memory_order_relaxed);
  open_time_.fetch_add((unread - patience).count(), std::memory_order_relaxed);
}

Duration DivertProgram::unread_for(Instant now) const {
  const auto since = shared(skeleton_->bss->unread_since).load(std::memory_order_relaxed);
  if (since == 0) return Duration::zero();
  return since_kernel_time(since, now);
}

Duration DivertProgram::since_kernel_time(std::uint64_t nanoseconds, Instant now) const {
  return now.time_since_epoch() - clock_offset_ - Duration(static_cast<Duration::rep>(nanoseconds));
}

std::uint64_t DivertProgram::passed_unshaped() const {
  return shared(skeleton_->bss->passed_unshaped).load(std::memory_order_relaxed);
}

bool DivertProgram::has_let_pass() const {
  return passed_unshaped() != passed_at_reset_.load(std::memory_order_relaxed);
}

std::uint64_t DivertProgram::openings() const {
  return openings_.load(std::memory_order_relaxed);
}

Duration DivertProgram::open_time() const {
  return Duration(open_time_.load(std::memory_order_relaxed));
}

}  // namespace headgate
