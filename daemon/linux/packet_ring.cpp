#include "linux/packet_ring.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <utility>

#include "linux/bulk_release.hpp"
#include "linux/capture_time.hpp"
#include "linux/connection_hash.hpp"
#include "linux/file_descriptor.hpp"
#include "linux/outgoing_filter.hpp"
#include "linux/system_call.hpp"
#include "pipeline/virtio_header.hpp"

namespace headgate {

namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kSmallestBlock = 64 * 1024;
constexpr std::size_t kSlotsPerBlock =
    8;  // at least, so that no more than an eighth of the memory is left over
constexpr std::size_t kInnerTags = 2 * 4;
constexpr std::uint16_t kTagBytes = 4;
constexpr unsigned kLargestPacket = 65'535;  // the kernel cuts a super-packet that is longer

// In a slot's status: received but not given back. Neither of the two who look at it knows this bit: to the kernel a slot
// is taken that is not TP_STATUS_KERNEL, to receive() one is new that has TP_STATUS_USER.
constexpr std::uint32_t kTaken = 1U << 16;

constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

// A slot: the kernel's header, the sender's address, and the frame so that its network header is aligned.
std::size_t slot_bytes(const PacketRingOptions& options) {
  const std::size_t network_offset = TPACKET_ALIGN(TPACKET2_HDRLEN + 16);
  if (!options.virtio_header) return round_up(network_offset + kInnerTags + options.mtu, kCacheLine);
  return round_up(network_offset + sizeof(VirtioHeader) + kInnerTags + std::max(options.mtu, kLargestPacket),
                  kCacheLine);
}

// The kernel takes memory for a block in powers of two.
tpacket_req ring_layout(const PacketRingOptions& options) {
  const std::size_t slot = slot_bytes(options);
  std::size_t block = std::max(kSmallestBlock, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  while (block / slot < kSlotsPerBlock) block *= 2;
  const std::size_t slots_per_block = block / slot;
  const std::size_t wanted = (std::max(options.slots, 1U) + slots_per_block - 1) / slots_per_block;
  const std::size_t blocks =
      std::clamp<std::size_t>(wanted, 1, std::max<std::size_t>(1, options.max_bytes / block));
  return {.tp_block_size = static_cast<unsigned>(block),
          .tp_block_nr = static_cast<unsigned>(blocks),
          .tp_frame_size = static_cast<unsigned>(slot),
          .tp_frame_nr = static_cast<unsigned>(blocks * slots_per_block)};
}

template <typename Value>
void set_option(const FileDescriptor& socket, int option, const Value& value, const char* attempt) {
  check_system_call(attempt, setsockopt(socket.get(), SOL_PACKET, option, &value, sizeof value));
}

// Protocol 0 until the ring stands and is bound: until then nothing is received, and never from another device.
FileDescriptor open_ring_socket(const tpacket_req& layout, bool virtio_header) {
  FileDescriptor descriptor(check_system_call("open a packet socket (needs CAP_NET_RAW)",
                                              socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
  set_option(descriptor, PACKET_VERSION, int{TPACKET_V2}, "select TPACKET_V2");
  take_only_what_is_sent(descriptor.get());
  if (virtio_header) set_option(descriptor, PACKET_VNET_HDR, int{1}, "ask for virtio headers");
  set_option(descriptor, PACKET_RX_RING, layout, "make a packet ring");
  return descriptor;
}

void bind_to(const FileDescriptor& descriptor, int device_index) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = device_index;
  check_system_call("bind the packet ring to its device",
                    bind(descriptor.get(), reinterpret_cast<sockaddr*>(&address), sizeof address));
}

std::atomic_ref<std::uint32_t> status_of(tpacket2_hdr& header) {
  return std::atomic_ref<std::uint32_t>(header.tp_status);
}

// The kernel counts from the start of the frame without the tag that it stripped; whoever sends the frame puts the tag
// back.
void count_the_tag(std::byte* header_bytes) {
  VirtioHeader header{};
  std::memcpy(&header, header_bytes, sizeof header);
  if ((header.flags & VirtioHeader::kNeedsChecksum) != 0)
    header.checksum_start = static_cast<std::uint16_t>(header.checksum_start + kTagBytes);
  if (header.gso_type != VirtioHeader::kNoGso)
    header.header_length = static_cast<std::uint16_t>(header.header_length + kTagBytes);
  std::memcpy(header_bytes, &header, sizeof header);
}

CapturedFrame describe(tpacket2_hdr& header, std::uint32_t status, std::uint32_t slot,
                       std::uint8_t prefix_bytes) {
  std::byte* const start = reinterpret_cast<std::byte*>(&header) + header.tp_mac;
  CapturedFrame frame{.frame = {start, header.tp_snaplen},
                      .wire_length = header.tp_len,
                      .prefix_bytes = prefix_bytes,
                      .slot = slot};
  if ((status & TP_STATUS_VLAN_VALID) != 0) {
    if (prefix_bytes > 0) count_the_tag(start - prefix_bytes);
    frame.vlan_tci = header.tp_vlan_tci;
    frame.vlan_tpid =
        (status & TP_STATUS_VLAN_TPID_VALID) != 0 ? header.tp_vlan_tpid : std::uint16_t{ETH_P_8021Q};
  }
  return frame;
}

}  // namespace

struct PacketRing::State {
  explicit State(const PacketRingOptions& options)
      : layout(ring_layout(options)),
        slots_per_block(layout.tp_block_size / layout.tp_frame_size),
        prefix_bytes(options.virtio_header ? sizeof(VirtioHeader) : 0),
        several_consumers(options.several_consumers),
        socket(open_ring_socket(layout, options.virtio_header)) {
    void* mapped = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, socket.get(), 0);
    if (mapped == MAP_FAILED) check_system_call("map the packet ring", -1);
    memory = static_cast<std::byte*>(mapped);
    try {
      bind_to(socket, options.device_index);
    } catch (...) {
      munmap(memory, bytes());
      throw;
    }
  }
  ~State() {
    munmap(memory, bytes());
    BulkRelease::close(std::move(socket));
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::size_t bytes() const { return std::size_t{layout.tp_block_size} * layout.tp_block_nr; }

  // Slots do not cross blocks, so a block may end with unused bytes.
  tpacket2_hdr& header(std::uint32_t slot) const {
    const std::size_t offset = std::size_t{slot / slots_per_block} * layout.tp_block_size +
                               std::size_t{slot % slots_per_block} * layout.tp_frame_size;
    return *reinterpret_cast<tpacket2_hdr*>(memory + offset);
  }

  // More must not be looked at: those slots hold frames that were received but not given back.
  // Exact where it is fewer than `wanted`.
  std::uint64_t receivable(std::uint64_t wanted) {
    if (several_consumers) return layout.tp_frame_nr;  // a mark tells each of them
    if (layout.tp_frame_nr - (received - given_back_seen) < wanted)
      given_back_seen = given_back.load(std::memory_order_acquire);
    return layout.tp_frame_nr - (received - given_back_seen);
  }

  void join_fanout(std::uint16_t group, int flags);

  void require_device();

  tpacket_req layout;
  std::uint32_t slots_per_block;
  std::uint8_t prefix_bytes;
  bool several_consumers;
  FileDescriptor socket;
  std::byte* memory = nullptr;

  // The worker that reads writes; `next` is read by any.
  std::atomic<std::uint32_t> next{0};  // slot that receive() looks at next
  std::uint64_t received = 0;          // frames
  std::uint64_t given_back_seen = 0;   // `given_back` as last looked at
  timespec captured{};                 // when the first frame of the last batch was; wall time
  bool gone = false;

  // The worker that gives slots back writes.
  alignas(kCacheLine) std::atomic<std::uint64_t> given_back{0};  // frames

  // Whoever asks for counts().
  alignas(kCacheLine) std::atomic<std::uint64_t> seen{0};
  std::atomic<std::uint64_t> lost{0};
};

// Called when the socket has an error. A device that is down is none for us: the kernel goes on when it is up
// again. A deleted device leaves the socket bound to no interface.
void PacketRing::State::require_device() {
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);  // clears it
  sockaddr_ll address{};
  length = sizeof address;
  check_system_call("getsockname", getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length));
  if (address.sll_ifindex > 0) return;
  gone = true;
}

PacketRing::PacketRing(const PacketRingOptions& options) : state_(std::make_unique<State>(options)) {}

PacketRing::~PacketRing() = default;

std::size_t PacketRing::receive(std::span<CapturedFrame> out) {
  const std::size_t limit = std::min<std::uint64_t>(out.size(), state_->receivable(out.size()));
  std::size_t count = 0;
  std::uint32_t next = state_->next.load(std::memory_order_relaxed);
  for (; count < limit; ++count) {
    tpacket2_hdr& header = state_->header(next);
    // Acquires what the kernel wrote to the slot before it set the status.
    const std::uint32_t status = status_of(header).load(std::memory_order_acquire);
    if ((status & TP_STATUS_USER) == 0) break;
    if (count == 0) state_->captured = {.tv_sec = header.tp_sec, .tv_nsec = header.tp_nsec};
    out[count] = describe(header, status, next, state_->prefix_bytes);
    if (state_->several_consumers) status_of(header).store(kTaken, std::memory_order_relaxed);
    next = next + 1 == state_->layout.tp_frame_nr ? 0 : next + 1;
  }
  state_->next.store(next, std::memory_order_relaxed);
  state_->received += count;
  if (count == 0 && state_->gone)
    throw std::system_error(ENODEV, std::system_category(), "the divert device was deleted");
  return count;
}

Duration PacketRing::waited() const {
  return waited_since(state_->captured);
}

void PacketRing::give_back(std::span<const std::uint32_t> slots) {
  // Releases what was read from the slot before the kernel may write to it again.
  for (const std::uint32_t slot : slots)
    status_of(state_->header(slot)).store(TP_STATUS_KERNEL, std::memory_order_release);
  if (state_->several_consumers) return;
  state_->given_back.store(state_->given_back.load(std::memory_order_relaxed) + slots.size(),
                           std::memory_order_release);
}

int PacketRing::descriptor() const {
  return state_->socket.get();
}

void PacketRing::note_error() {
  state_->require_device();
}

std::size_t PacketRing::slots() const {
  return state_->layout.tp_frame_nr;
}

bool PacketRing::waiting() const {
  const std::uint32_t next = state_->next.load(std::memory_order_relaxed);
  return (status_of(state_->header(next)).load(std::memory_order_relaxed) & TP_STATUS_USER) != 0;
}

void PacketRing::State::join_fanout(std::uint16_t group, int flags) {
  const int how = PACKET_FANOUT_CBPF | flags;
  set_option(socket, PACKET_FANOUT, group | how << 16, "share packets among rings");
}

void PacketRing::share_packets() {
  state_->join_fanout(0, PACKET_FANOUT_FLAG_UNIQUEID);
  std::vector<sock_filter> program = connection_hash_program();
  const sock_fprog hash{.len = static_cast<unsigned short>(program.size()), .filter = program.data()};
  set_option(state_->socket, PACKET_FANOUT_DATA, hash, "say how rings share packets");
}

void PacketRing::share_packets_of(const PacketRing& first) {
  int group = 0;
  socklen_t length = sizeof group;
  check_system_call("ask for the group of rings",
                    getsockopt(first.state_->socket.get(), SOL_PACKET, PACKET_FANOUT, &group, &length));
  state_->join_fanout(static_cast<std::uint16_t>(group), 0);
}

CaptureCounts PacketRing::counts() const {
  tpacket_stats statistics{};
  socklen_t length = sizeof statistics;
  // The kernel zeroes its counters when they are read.
  if (getsockopt(state_->socket.get(), SOL_PACKET, PACKET_STATISTICS, &statistics, &length) < 0)
    statistics = {};
  return {.seen = state_->seen.fetch_add(statistics.tp_packets) + statistics.tp_packets,
          .lost = state_->lost.fetch_add(statistics.tp_drops) + statistics.tp_drops};
}

}  // namespace headgate
