#include "linux/bpf_ring.hpp"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "linux/file_descriptor.hpp"
#include "linux/ring_record.h"
#include "linux/system_call.hpp"
#include "linux/time_namespace.hpp"
#include "linux/timer_waiter.hpp"
#include "pipeline/frame_prefix.hpp"

namespace headgate {

namespace {

static_assert(offsetof(ring_record, frame) == RING_FRAME_AT);
static_assert(offsetof(ring_record, mark) + kWholePrefixBytes == RING_FRAME_AT);
static_assert(sizeof(ring_virtio_header) == sizeof(VirtioHeader));

constexpr std::size_t kSlotMask = BpfRing::kSlots - 1;
static_assert((BpfRing::kSlots & kSlotMask) == 0);

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// In front of each record: its length, with two bits of the kernel's.
constexpr std::uint64_t record_bytes(std::uint32_t header) {
  const std::uint64_t length = header & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
  return (length + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
}

class ChannelOfRing;

}  // namespace

// Positions count all bytes since the ring was made.
struct BpfRing::State {
  explicit State(std::size_t ring_bytes);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // A record that was taken out.
  struct Slot {
    const ring_record* record = nullptr;
    std::uint64_t end = 0;       // position behind it
    std::uint32_t next = kNone;  // of the same channel
    std::atomic<bool> given_back{false};
  };

  std::atomic_ref<std::uint64_t> consumed_position() const {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(consumer_page));
  }
  std::uint64_t produced() const {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(producer_page)).load(std::memory_order_seq_cst);
  }
  std::uint32_t header_at(std::uint64_t position) const {
    auto* const header = reinterpret_cast<std::uint32_t*>(data + (position & (bytes - 1)));
    return std::atomic_ref(*header).load(std::memory_order_seq_cst);
  }
  // Whether a record stands there that has been written.
  bool is_written(std::uint64_t position) const {
    return position < produced() && (header_at(position) & BPF_RINGBUF_BUSY_BIT) == 0;
  }

  // The record that stands there, if those before it are as long as the last: what is read of it, up to its addresses.
  void prefetch(std::uint64_t position) const {
    const std::byte* const at = data + (position & (bytes - 1));
    __builtin_prefetch(at);
    __builtin_prefetch(at + 64);
  }

  void take(std::uint32_t header, std::uint64_t position);
  ChannelOfRing* find_channel(std::uint32_t number);
  void reclaim();
  void publish(std::uint64_t position);

  std::size_t bytes;
  std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  FileDescriptor map;
  std::byte* consumer_page = nullptr;
  std::byte* producer_page = nullptr;
  std::byte* data = nullptr;  // twice in a row, so that each record is in one piece

  std::atomic<std::uint32_t> channels_opened{0};

  // The worker that reads.
  std::unordered_map<std::uint32_t, ChannelOfRing*> channels;
  ChannelOfRing* last_channel = nullptr;
  std::atomic<std::uint64_t> taken{0};  // position up to which records have been taken out; read by any
  std::uint64_t last_taken = 0;         // position of the last of them
  std::uint64_t published = 0;
  std::uint64_t next_slot = 0, oldest_slot = 0;  // counted on for ever
  std::uint64_t free_to = 0;                     // position up to which all has been given back
  std::vector<Slot> slots = std::vector<Slot>(kSlots);
};

namespace {

class ChannelOfRing : public BpfRing::Channel {
 public:
  ChannelOfRing(BpfRing::State& ring, std::uint32_t number) : ring_(ring), number_(number) {}

  std::uint32_t number() const override { return number_; }

  void add(std::uint32_t slot);

  std::size_t receive(std::span<CapturedFrame> out) override;
  Duration waited() const override;
  bool waiting() const override;
  void draw_line() override { line_ = ring_.produced(); }
  bool reached_line() const override;
  void give_back(std::span<const std::uint32_t> slots) override;
  std::size_t slots() const override { return BpfRing::kSlots; }
  void begin() override { ring_.channels[number_] = this; }
  void end() override;
  bool is_shared() const override { return true; }

  // The divert program counts.
  CaptureCounts counts() const override { return {}; }

 private:
  BpfRing::State& ring_;
  const std::uint32_t number_;
  const Duration clock_offset_ = monotonic_offset();

  // The worker that reads; the first by any.
  std::atomic<std::uint32_t> first_{kNone};
  std::uint32_t last_ = kNone;
  std::uint64_t line_ = 0;
  std::uint64_t oldest_time_ = 0;  // of the first frame that the last receive() gave
};

void ChannelOfRing::add(std::uint32_t slot) {
  if (first_.load(std::memory_order_relaxed) == kNone) {
    first_.store(slot, std::memory_order_relaxed);
  } else {
    ring_.slots[last_].next = slot;
  }
  last_ = slot;
}

std::size_t ChannelOfRing::receive(std::span<CapturedFrame> out) {
  std::uint32_t slot = first_.load(std::memory_order_relaxed);
  std::size_t count = 0;
  for (; count < out.size() && slot != kNone; ++count) {
    const BpfRing::State::Slot& entry = ring_.slots[slot];
    const ring_record& record = *entry.record;
    if (count == 0) oldest_time_ = record.time;
    out[count] = {.frame = std::as_bytes(std::span(record.frame, record.length)),
                  .wire_length = record.length,
                  .prefix_bytes = kWholePrefixBytes,
                  .slot = slot,
                  .vlan_tpid = record.vlan_tpid,
                  .vlan_tci = record.vlan_tci,
                  .cgroups = record.cgroups};
    slot = entry.next;
  }
  first_.store(slot, std::memory_order_relaxed);
  return count;
}

Duration ChannelOfRing::waited() const {
  const Instant captured(clock_offset_ + Duration(static_cast<Duration::rep>(oldest_time_)));
  return std::max(MonotonicClock().now() - captured, Duration::zero());
}

bool ChannelOfRing::waiting() const {
  return first_.load(std::memory_order_relaxed) != kNone ||
         ring_.is_written(ring_.taken.load(std::memory_order_relaxed));
}

bool ChannelOfRing::reached_line() const {
  return first_.load(std::memory_order_relaxed) == kNone &&
         ring_.taken.load(std::memory_order_relaxed) >= line_;
}

void ChannelOfRing::give_back(std::span<const std::uint32_t> slots) {
  for (const std::uint32_t slot : slots) ring_.slots[slot].given_back.store(true, std::memory_order_release);
}

void ChannelOfRing::end() {
  ring_.channels.erase(number_);
  ring_.last_channel = nullptr;
  for (std::uint32_t slot = first_.load(std::memory_order_relaxed); slot != kNone;
       slot = ring_.slots[slot].next)
    ring_.slots[slot].given_back.store(true, std::memory_order_relaxed);
  first_.store(kNone, std::memory_order_relaxed);
}

}  // namespace

BpfRing::State::State(std::size_t ring_bytes)
    : bytes(ring_bytes),
      map(check_system_call("make a BPF ring buffer (needs CAP_BPF)",
                            bpf_map_create(BPF_MAP_TYPE_RINGBUF, "headgate_ring", 0, 0,
                                           static_cast<std::uint32_t>(ring_bytes), nullptr))) {
  const auto map_memory = [this](std::size_t length, int protection, std::size_t offset) {
    void* const memory = mmap(nullptr, length, protection, MAP_SHARED, map.get(), static_cast<off_t>(offset));
    if (memory == MAP_FAILED) check_system_call("map the BPF ring buffer", -1);
    return static_cast<std::byte*>(memory);
  };
  consumer_page = map_memory(page, PROT_READ | PROT_WRITE, 0);
  try {
    producer_page = map_memory(page + 2 * bytes, PROT_READ, page);
  } catch (...) {
    munmap(consumer_page, page);
    throw;
  }
  data = producer_page + page;
}

BpfRing::State::~State() {
  munmap(consumer_page, page);
  munmap(producer_page, page + 2 * bytes);
}

// What nobody wants is given back at once.
void BpfRing::State::take(std::uint32_t header, std::uint64_t position) {
  const std::uint64_t end = position + record_bytes(header);
  const auto number = static_cast<std::uint32_t>(next_slot++ & kSlotMask);
  const std::byte* const at = data + (position & (bytes - 1)) + BPF_RINGBUF_HDR_SZ;
  Slot& slot = slots[number];
  slot.record = reinterpret_cast<const ring_record*>(at);
  slot.end = end;
  slot.next = kNone;
  last_taken = position;
  taken.store(end, std::memory_order_relaxed);
  ChannelOfRing* const channel =
      (header & BPF_RINGBUF_DISCARD_BIT) != 0 ? nullptr : find_channel(slot.record->channel);
  slot.given_back.store(channel == nullptr, std::memory_order_relaxed);
  if (channel != nullptr) channel->add(number);
}

// Most often many packets in a row are of one.
ChannelOfRing* BpfRing::State::find_channel(std::uint32_t number) {
  if (last_channel == nullptr || last_channel->number() != number) {
    const auto found = channels.find(number);
    last_channel = found == channels.end() ? nullptr : found->second;
  }
  return last_channel;
}

void BpfRing::State::reclaim() {
  for (; oldest_slot < next_slot; ++oldest_slot) {
    const Slot& slot = slots[oldest_slot & kSlotMask];
    if (!slot.given_back.load(std::memory_order_acquire)) return;
    free_to = slot.end;
  }
}

// Sequentially consistent: the kernel looks at it after it has written a record, and a waiter looks at the record after it
// has written this.
void BpfRing::State::publish(std::uint64_t position) {
  if (position <= published) return;
  published = position;
  consumed_position().store(position, std::memory_order_seq_cst);
}

BpfRing::BpfRing(std::size_t bytes) : state_(std::make_unique<State>(bytes)) {}

BpfRing::~BpfRing() = default;

std::unique_ptr<BpfRing::Channel> BpfRing::open_channel() {
  return std::make_unique<ChannelOfRing>(*state_, state_->channels_opened.fetch_add(1));
}

void BpfRing::distribute(std::size_t most) {
  State& state = *state_;
  state.reclaim();
  const std::uint64_t produced = state.produced();
  std::uint64_t position = state.taken.load(std::memory_order_relaxed);
  for (; most > 0 && position < produced && state.next_slot - state.oldest_slot < kSlots; --most) {
    const std::uint32_t header = state.header_at(position);
    if ((header & BPF_RINGBUF_BUSY_BIT) != 0) break;
    state.take(header, position);
    const std::uint64_t taken_bytes = record_bytes(header);
    position += taken_bytes;
    state.prefetch(position + taken_bytes);
  }
  state.publish(std::min(state.free_to, state.last_taken));
}

bool BpfRing::waiting() const {
  return state_->is_written(state_->taken.load(std::memory_order_relaxed));
}

int BpfRing::descriptor() const {
  return state_->map.get();
}

void BpfRing::before_wait() {
  state_->reclaim();
  state_->publish(state_->free_to);
}

}  // namespace headgate
