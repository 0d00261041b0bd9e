#include "linux/pcap_source.hpp"

#include <linux/if_packet.h>
#include <net/if.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include "linux/capture_time.hpp"
#include "linux/file_descriptor.hpp"
#include "linux/outgoing_filter.hpp"
#include "linux/system_call.hpp"

namespace headgate {

namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kEthernetHeader = 14;
constexpr std::size_t kTags = 2 * 4;

struct CloseCapture {
  void operator()(pcap_t* capture) const { pcap_close(capture); }
};
using Capture = std::unique_ptr<pcap_t, CloseCapture>;

std::size_t slot_bytes(unsigned mtu) {
  return (kEthernetHeader + kTags + mtu + kCacheLine - 1) / kCacheLine * kCacheLine;
}

std::uint32_t slot_count(const PcapSourceOptions& options) {
  const std::size_t most = std::max<std::size_t>(1, kMaxPcapSlotBytes / slot_bytes(options.mtu));
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(options.slots, 1, most));
}

std::string device_name(int device_index) {
  std::array<char, IF_NAMESIZE> name{};
  if (if_indextoname(static_cast<unsigned>(device_index), name.data()) == nullptr)
    check_system_call("find the device to capture from", -1);
  return name.data();
}

// Negative results of libpcap are errors, positive ones warnings.
void check_capture(pcap_t* capture, const std::string& attempt, int result) {
  if (result >= 0) return;
  const std::string why = pcap_geterr(capture);
  throw std::runtime_error(attempt + ": " + (why.empty() ? pcap_statustostr(result) : why));
}

Capture open_capture_of(const std::string& device, std::size_t longest_frame) {
  std::array<char, PCAP_ERRBUF_SIZE> error{};
  Capture capture(pcap_create(device.c_str(), error.data()));
  if (!capture) throw std::runtime_error("capture from " + device + ": " + error.data());
  pcap_set_snaplen(capture.get(), static_cast<int>(longest_frame));
  pcap_set_immediate_mode(capture.get(), 1);
  pcap_set_buffer_size(capture.get(), static_cast<int>(kPcapBufferBytes));
  check_capture(capture.get(), "capture from " + device + " (needs CAP_NET_RAW)",
                pcap_activate(capture.get()));
  check_capture(capture.get(), "capture from " + device + ": select outgoing packets",
                pcap_setdirection(capture.get(), PCAP_D_OUT));
  // libpcap by itself would only pass over the others after they have taken room in its buffer, and its filters know no
  // direction where libpcap runs them itself.
  take_only_what_is_sent(pcap_get_selectable_fd(capture.get()));
  if (pcap_setnonblock(capture.get(), 1, error.data()) < 0)
    throw std::runtime_error("capture from " + device + ": " + error.data());
  return capture;
}

}  // namespace

struct PcapSource::State {
  explicit State(const PcapSourceOptions& options)
      : bytes_per_slot(slot_bytes(options.mtu)),
        slots(slot_count(options)),
        memory(bytes_per_slot * slots),
        capture(open_capture_of(device_name(options.device_index), bytes_per_slot)),
        descriptor(pcap_get_selectable_fd(capture.get())) {}

  // Exact where there are fewer than `wanted`.
  std::uint64_t free_slots(std::uint64_t wanted) {
    if (slots - (received - given_back_seen) < wanted)
      given_back_seen = given_back.load(std::memory_order_acquire);
    return slots - (received - given_back_seen);
  }

  void copy(const pcap_pkthdr& header, const std::byte* bytes);
  void look_for_device();

  const std::size_t bytes_per_slot;
  const std::uint32_t slots;
  std::vector<std::byte> memory;
  Capture capture;
  const int descriptor;  // libpcap's, for poll

  // The worker.
  std::span<CapturedFrame> room;      // where copy() describes the next frame
  bool first = false;                 // it is the first of a batch
  std::uint32_t next = 0;             // slot that it fills
  std::uint64_t received = 0;         // frames
  std::uint64_t given_back_seen = 0;  // `given_back` as last looked at
  timeval captured{};                 // when the first frame of the last batch was; wall time
  bool gone = false;

  // Slots come back in order, so their number tells which are free.
  alignas(kCacheLine) std::atomic<std::uint64_t> given_back{0};  // frames

  // Whoever asks for counts(): libpcap adds up without a lock. The worker never takes it.
  alignas(kCacheLine) std::mutex statistics_mutex;
  CaptureCounts counts;
  pcap_stat last_statistics{};  // libpcap's counters, which wrap
};

void PcapSource::State::copy(const pcap_pkthdr& header, const std::byte* bytes) {
  const std::size_t length = std::min<std::size_t>(header.caplen, bytes_per_slot);
  std::byte* const slot = &memory[next * bytes_per_slot];
  std::memcpy(slot, bytes, length);
  if (first) captured = header.ts;
  first = false;
  room.front() = {.frame = {slot, length}, .wire_length = header.len, .slot = next};
  room = room.subspan(1);
  next = next + 1 == slots ? 0 : next + 1;
  ++received;
}

// Called when libpcap or the socket has an error. A device that is down is none for us: the kernel goes on when
// it is up again. A deleted device leaves the socket bound to no interface.
void PcapSource::State::look_for_device() {
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length);  // clears it
  sockaddr_ll address{};
  length = sizeof address;
  check_system_call("getsockname", getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length));
  if (address.sll_ifindex <= 0) gone = true;
}

PcapSource::PcapSource(const PcapSourceOptions& options) : state_(std::make_unique<State>(options)) {}

PcapSource::~PcapSource() = default;

std::size_t PcapSource::receive(std::span<CapturedFrame> out) {
  State& state = *state_;
  const std::size_t limit = std::min<std::uint64_t>(out.size(), state.free_slots(out.size()));
  if (limit == 0) return 0;
  state.room = out.first(limit);
  state.first = true;
  const auto copy = [](u_char* user, const pcap_pkthdr* header, const u_char* bytes) {
    reinterpret_cast<State*>(user)->copy(*header, reinterpret_cast<const std::byte*>(bytes));
  };
  const int result = pcap_dispatch(state.capture.get(), static_cast<int>(limit), copy,
                                   reinterpret_cast<u_char*>(state_.get()));
  if (result < 0) state.look_for_device();
  const std::size_t count = limit - state.room.size();
  if (count == 0 && state.gone)
    throw std::system_error(ENODEV, std::system_category(), "the divert device was deleted");
  return count;
}

Duration PcapSource::waited() const {
  return waited_since({.tv_sec = state_->captured.tv_sec, .tv_nsec = state_->captured.tv_usec * 1000});
}

void PcapSource::give_back(std::span<const std::uint32_t> slots) {
  state_->given_back.store(state_->given_back.load(std::memory_order_relaxed) + slots.size(),
                           std::memory_order_release);
}

int PcapSource::descriptor() const {
  return state_->descriptor;
}

void PcapSource::note_error() {
  state_->look_for_device();
}

bool PcapSource::waiting() const {
  pollfd descriptor{.fd = state_->descriptor, .events = POLLIN, .revents = 0};
  return poll(&descriptor, 1, 0) > 0 && (descriptor.revents & POLLIN) != 0;
}

std::size_t PcapSource::slots() const {
  return state_->slots;
}

CaptureCounts PcapSource::counts() const {
  const std::lock_guard lock(state_->statistics_mutex);
  pcap_stat now{};
  if (pcap_stats(state_->capture.get(), &now) == 0) {
    const pcap_stat before = std::exchange(state_->last_statistics, now);
    state_->counts.seen += std::uint32_t{now.ps_recv - before.ps_recv};
    state_->counts.lost += std::uint32_t{now.ps_drop - before.ps_drop};
  }
  return state_->counts;
}

}  // namespace headgate
