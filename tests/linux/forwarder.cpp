#include "linux/forwarder.hpp"
#include "linux/timer_waiter.hpp"
#include "pipeline/frame_prefix.hpp"

#include <arpa/inet.h>

#include <array>
#include <cstring>
#include <vector>

namespace headgate::test {

namespace {

constexpr std::size_t kBatch = 64;
constexpr std::size_t kAddressBytes = 12;

// A frame in its parts, behind its virtio header if it has one, with the tag that the kernel stripped.
struct Parts {
  explicit Parts(const CapturedFrame& captured) {
    const std::span frame(captured.frame.data() - captured.prefix_bytes,
                          captured.frame.size() + captured.prefix_bytes);
    if (captured.vlan_tpid == 0) {
      parts[count++] = frame;
      return;
    }
    const std::size_t tag_at = captured.prefix_bytes + kAddressBytes;
    const std::array<std::uint16_t, 2> fields{htons(captured.vlan_tpid), htons(captured.vlan_tci)};
    std::memcpy(tag.data(), fields.data(), tag.size());
    parts[count++] = frame.first(tag_at);
    parts[count++] = tag;
    parts[count++] = frame.subspan(tag_at);
  }

  std::array<std::byte, 4> tag{};
  std::array<std::span<const std::byte>, 3> parts;
  std::size_t count = 0;
};

}  // namespace

Forwarder::Forwarder(TrafficDivert& divert, Observer observe, bool virtio_header)
    : divert_(divert),
      observe_(std::move(observe)),
      ring_({.device_index = divert.device_index(), .mtu = divert.mtu(), .virtio_header = virtio_header}),
      transmitter_({.interface_index = divert.transmit_index(),
                    .mark = kMark,
                    .prefix_bytes = virtio_header ? kVirtioPrefixBytes : std::uint8_t{0},
                    .detour_index = divert.peer_index(),
                    .mtu = divert.transmit_mtu()}),
      thread_([this] { run(); }) {}

Forwarder::~Forwarder() {
  stop_ = true;
  waiter_.wake();
  thread_.join();
}

void Forwarder::run() {
  std::array<CapturedFrame, kBatch> frames;
  while (!stop_) {
    const std::size_t count = ring_.receive(frames);
    divert_.reset(MonotonicClock().now());
    if (count > 0) {
      forward(std::span(frames).first(count));
    } else {
      waiter_.prepare();
      waiter_.wait_prepared(stop_ ? Duration::zero() : std::optional<Duration>());
    }
  }
}

void Forwarder::forward(std::span<const CapturedFrame> frames) {
  captured_ += frames.size();
  std::vector<Parts> parts;
  parts.reserve(frames.size());
  std::vector<OutgoingFrame> outgoing;
  std::vector<std::uint32_t> slots;
  for (const CapturedFrame& frame : frames) {
    if (observe_) observe_(frame);
    const Parts& one = parts.emplace_back(frame);
    outgoing.push_back({std::span(one.parts).first(one.count)});
    slots.push_back(frame.slot);
  }
  std::array<bool, kBatch> sent{};
  transmitter_.send(outgoing, std::span(sent).first(outgoing.size()));
  for (std::size_t i = 0; i < outgoing.size(); ++i)
    if (!sent[i]) ++refused_;
  ring_.give_back(slots);
}

}  // namespace headgate::test
