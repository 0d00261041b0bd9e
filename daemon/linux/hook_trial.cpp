#include "linux/hook_trial.hpp"

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace headgate {

namespace {

constexpr std::size_t kRingBytes = 256 * 1024;  // has room for the largest record
constexpr std::int32_t kGoOn = -1;              // of divert.bpf.c

constexpr std::uint32_t kPlaces = 2;                         // that of none, and one
constexpr std::uint32_t kCounters = DIVERT_CLASSES_MAX + 1;  // of each class, and of none

DivertProgramsOptions for_one_shape(DivertProgramsOptions options) {
  options.shapes = kPlaces;
  options.let_go = kCounters;
  return options;
}

// Begins to count from nothing, and copies where nobody else reads.
void set_apart(divert_shape& shape, std::uint32_t ring, std::uint32_t channel) {
  for (divert_channel& each : shape.channels) each = {.ring = ring, .number = channel};
  for (divert_count* count : {&shape.unshapable, &shape.control_traffic, &shape.foreign, &shape.found_no_room,
                              &shape.to_be_cut, &shape.cut})
    *count = {};
  shape.passed_unshaped = 0;
  shape.let_go_at = 0;
  shape.cgroups_asked = 0;  // the kernel gives what it tries out a socket, of the daemon's own cgroup
  shape.raw_ip = 0;         // the frame has a header, as its record would have
}

}  // namespace

HookTrial::HookTrial(DivertProgramsOptions options)
    : programs_(for_one_shape(options)),
      ring_(kRingBytes),
      channel_(ring_.open_channel()),
      ring_number_(programs_.add_ring(ring_.map())) {
  channel_->begin();
}

HookTrialResult HookTrial::run(const Hook& hook, std::span<const std::byte> frame, std::uint32_t mark) {
  ShapePlace place(programs_);
  prepare(hook, place);
  const std::uint64_t let_go = let_go_so_far(hook);
  __sk_buff context{};
  context.mark = mark;
  context.ifindex = static_cast<std::uint32_t>(hook.device);
  __sk_buff after{};
  bpf_test_run_opts options{};
  options.sz = sizeof options;
  options.data_in = frame.data();
  options.data_size_in = static_cast<std::uint32_t>(frame.size());
  options.ctx_in = &context;
  options.ctx_size_in = sizeof context;
  options.ctx_out = &after;
  options.ctx_size_out = sizeof after;
  if (const int result = bpf_prog_test_run_opts(programs_.divert(hook.direction), &options); result < 0)
    return {.why_not_asked = "the kernel does not try out a packet of " + std::to_string(frame.size()) +
                             " bytes on the hook: " + std::generic_category().message(-result),
            .copied = {}};
  HookTrialResult tried{.why_not_asked = {}, .copied = take_copy()};
  const bool unmarked = mark != 0 && after.mark == 0;
  const auto returned = static_cast<std::int32_t>(options.retval);
  tried.verdict = let_go_so_far(hook) != let_go
                      ? HookVerdict::let_go
                      : verdict_of(place.shape(), returned, tried.copied.has_value(), unmarked);
  return tried;
}

void HookTrial::prepare(const Hook& hook, ShapePlace& place) {
  divert_shape& shape = place.shape();
  shape = hook.place.state();
  set_apart(shape, ring_number_, channel_->number());
  programs_.set_control_clocks(place.number(), hook.place.control_clocks());
  if (shape.lets_go_by != 0) {
    matches_ = programs_.load_matches(hook.classes);
    programs_.set_find_class(place.number(), matches_->program());
  }
  place.find_by(hook.device, hook.direction == Direction::egress ? DIVERT_EGRESS : DIVERT_INGRESS);
}

// By what the program returned, and what it counted of this packet.
HookVerdict HookTrial::verdict_of(const divert_shape& after, std::int32_t returned, bool copied,
                                  bool unmarked) const {
  if (after.control_traffic.packets > 0) return HookVerdict::control_traffic;
  if (after.unshapable.packets > 0) return HookVerdict::unshapable;
  if (after.passed_unshaped > 0) return HookVerdict::reader_dead;
  if (after.to_be_cut.packets > 0) return HookVerdict::cut_first;
  if (copied || returned != kGoOn) return HookVerdict::taken_out;
  if (after.diverting == 0) return HookVerdict::open;
  return unmarked ? HookVerdict::own_packet : HookVerdict::not_ip;
}

std::uint64_t HookTrial::let_go_so_far(const Hook& hook) const {
  std::uint64_t packets = 0;
  const auto counters = static_cast<std::uint32_t>(hook.classes.size()) + 1;
  for (const let_go_count& each : programs_.read_let_go(0, std::min(counters, kCounters)))
    packets += each.packets;
  return packets;
}

std::optional<CapturedCopy> HookTrial::take_copy() {
  ring_.distribute(1);
  CapturedFrame captured;
  if (channel_->receive(std::span(&captured, 1)) == 0) return std::nullopt;
  CapturedCopy copy(captured);
  channel_->give_back(std::span(&captured.slot, 1));
  ring_.before_wait();  // so that the next finds the ring empty
  return copy;
}

}  // namespace headgate
