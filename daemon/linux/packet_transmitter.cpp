#include "linux/packet_transmitter.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "linux/bulk_release.hpp"
#include "linux/file_descriptor.hpp"
#include "linux/notes_table.hpp"
#include "linux/system_call.hpp"
#include "pipeline/frame_prefix.hpp"

namespace headgate {

namespace {

constexpr std::size_t kMessagesMax = 256;  // per system call
constexpr std::size_t kTypeBytes = 2;      // of an EtherType
constexpr std::size_t kPartsMax = 4096;    // of all messages of a call; more than one frame ever has
// As large as the kernel lets it be: the limits of the qdiscs count, each for those who wait there.
constexpr int kSendBuffer = std::numeric_limits<int>::max() / 2;

sockaddr_ll address_of(int interface_index) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = interface_index;
  return address;
}

FileDescriptor open_send_socket(const PacketTransmitterOptions& options) {
  // Protocol 0: receives nothing.
  FileDescriptor descriptor(check_system_call("open a packet socket (needs CAP_NET_RAW)",
                                              socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)));
  const sockaddr_ll address = address_of(options.interface_index);
  check_system_call("bind the packet socket to its interface",
                    bind(descriptor.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
  check_system_call("mark what is sent (needs CAP_NET_ADMIN)",
                    setsockopt(descriptor.get(), SOL_SOCKET, SO_MARK, &options.mark, sizeof options.mark));
  check_system_call(
      "enlarge the send buffer (needs CAP_NET_ADMIN)",
      setsockopt(descriptor.get(), SOL_SOCKET, SO_SNDBUFFORCE, &kSendBuffer, sizeof kSendBuffer));
  if (options.prefix_bytes > 0) {
    const int on = 1;
    check_system_call("send virtio headers",
                      setsockopt(descriptor.get(), SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on));
  }
  return descriptor;
}

// Of a packet without the header that would tell: the socket is told.
std::array<sockaddr_ll, 2> addresses_of(int interface_index) {
  std::array<sockaddr_ll, 2> addresses{};
  addresses.fill(address_of(interface_index));
  addresses[0].sll_protocol = htons(ETH_P_IP);
  addresses[1].sll_protocol = htons(ETH_P_IPV6);
  return addresses;
}

// Room for the mark of one message.
struct alignas(cmsghdr) MarkControl {
  std::array<std::byte, CMSG_SPACE(sizeof(std::uint32_t))> bytes{};
};

void set_mark(msghdr& message, MarkControl& control, std::uint32_t mark) {
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SO_MARK;
  header->cmsg_len = CMSG_LEN(sizeof mark);
  std::memcpy(CMSG_DATA(header), &mark, sizeof mark);
}

// What the mark of a message names, as set_mark() has set it.
std::uint32_t place_in_mark(const msghdr& message) {
  std::uint32_t mark = 0;
  if (message.msg_controllen > 0) std::memcpy(&mark, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof mark);
  return mark & NotesTable::kPlaceBits;
}

// The first bytes of a message, zeros where it is shorter.
template <std::size_t size>
std::array<std::uint8_t, size> start_of(const msghdr& message) {
  std::array<std::uint8_t, size> start{};
  std::size_t used = 0;
  for (std::size_t i = 0; i < message.msg_iovlen && used < size; ++i) {
    const std::size_t bytes = std::min(size - used, message.msg_iov[i].iov_len);
    std::memcpy(start.data() + used, message.msg_iov[i].iov_base, bytes);
    used += bytes;
  }
  return start;
}

// Leaves out the first bytes of a message.
void skip(msghdr& message, std::size_t bytes) {
  for (; bytes > 0 && message.msg_iovlen > 0 && bytes >= message.msg_iov->iov_len; --message.msg_iovlen)
    bytes -= (message.msg_iov++)->iov_len;
  if (bytes == 0 || message.msg_iovlen == 0) return;
  iovec& first = *message.msg_iov;
  first = {.iov_base = static_cast<std::byte*>(first.iov_base) + bytes, .iov_len = first.iov_len - bytes};
}

std::size_t length_of(const msghdr& message) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < message.msg_iovlen; ++i) bytes += message.msg_iov[i].iov_len;
  return bytes;
}

// Whether the MTU is kept by what stands behind one or two tags, but not by the rules for packet sockets, which allow for
// one tag of 802.1Q.
bool needs_detour(const msghdr& message, std::size_t prefix, unsigned mtu) {
  constexpr std::size_t kTypeAt = 2 * ETH_ALEN;
  constexpr std::size_t kTagBytes = 4;
  const auto start = start_of<sizeof(VirtioHeader) + kTypeAt + 2 * kTagBytes>(message);
  const auto type_at = [&start](std::size_t at) { return start[at] << 8U | start[at + 1]; };
  std::size_t tags = 0;
  for (std::size_t at = prefix + kTypeAt; tags < 2; at += kTagBytes, ++tags)
    if (type_at(at) != ETH_P_8021Q && type_at(at) != ETH_P_8021AD) break;
  const std::size_t bare = prefix + ETH_HLEN + mtu;
  const std::size_t allowed = bare + (type_at(prefix + kTypeAt) == ETH_P_8021Q ? kTagBytes : 0);
  return length_of(message) > allowed && length_of(message) <= bare + tags * kTagBytes;
}

}  // namespace

struct PacketTransmitter::State {
  explicit State(const PacketTransmitterOptions& options)
      : sent_prefix_bytes(options.prefix_bytes > 0 ? kVirtioPrefixBytes : 0),
        noted_bytes(options.prefix_bytes - sent_prefix_bytes),
        added_bytes(headgate::added_bytes(options.link_header)),
        addresses(addresses_of(options.interface_index)),
        mark(options.mark),
        notes(options.notes),
        shape(options.shape),
        sends_on_peer(options.sends_on_peer),
        mtu(options.mtu),
        detour_index(options.detour_index),
        socket(open_send_socket(options)) {}
  ~State() { BulkRelease::close(std::move(socket)); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Describes as many of the frames as fit into one call, at least one. Returns how many.
  std::size_t gather(std::span<const OutgoingFrame> frames);
  void take_notes(msghdr& message, MarkControl& control);
  void take_added_header(msghdr& message, VirtioHeader& virtio);
  // Sends the first `count` of what was gathered, and says for each in `sent` whether it was.
  void send_gathered(std::size_t count, std::span<bool> sent);

  bool send_by_detour(const msghdr& message) const;

  std::size_t sent_prefix_bytes;
  std::size_t noted_bytes;               // in front of them, that the socket does not take
  std::size_t added_bytes;               // behind them, likewise
  std::array<sockaddr_ll, 2> addresses;  // of IPv4, IPv6
  std::uint32_t mark;
  NotesTable* notes;
  std::uint32_t shape;
  bool sends_on_peer;
  unsigned mtu;
  int detour_index;
  FileDescriptor socket;
  std::vector<mmsghdr> messages = std::vector<mmsghdr>(kMessagesMax);
  std::vector<MarkControl> controls = std::vector<MarkControl>(kMessagesMax);
  std::vector<VirtioHeader> virtio_headers = std::vector<VirtioHeader>(kMessagesMax);
  std::vector<iovec> parts = std::vector<iovec>(kPartsMax);
};

std::size_t PacketTransmitter::State::gather(std::span<const OutgoingFrame> frames) {
  std::size_t used = 0;
  std::size_t count = 0;
  for (; count < std::min(frames.size(), kMessagesMax); ++count) {
    const auto& frame = frames[count].parts;
    const std::size_t extra = added_bytes > 0 ? 1 : 0;  // part, for take_added_header()
    if (used + extra + frame.size() > kPartsMax) break;
    used += extra;
    msghdr& message = messages[count].msg_hdr;
    message = {.msg_iov = &parts[used], .msg_iovlen = frame.size()};
    for (const auto& part : frame)
      parts[used++] = {.iov_base = const_cast<std::byte*>(part.data()), .iov_len = part.size()};
    if (noted_bytes > 0) take_notes(message, controls[count]);
    if (added_bytes > 0) take_added_header(message, virtio_headers[count]);
  }
  return count;
}

// Of a message's first bytes, which are not sent.
void PacketTransmitter::State::take_notes(msghdr& message, MarkControl& control) {
  iovec& first = message.msg_iov[0];
  auto* const start = static_cast<std::byte*>(first.iov_base);
  const std::uint32_t place =
      notes == nullptr ? 0
                       : notes->place_of(read_packet_notes({start, noted_bytes}), sends_on_peer ? shape : 0);
  first = {.iov_base = start + noted_bytes, .iov_len = first.iov_len - noted_bytes};
  if (place != 0) set_mark(message, control, mark | place);
}

// The virtio header gets a part of its own ahead of the rest, for the frame may be in memory that only the kernel writes.
void PacketTransmitter::State::take_added_header(msghdr& message, VirtioHeader& virtio) {
  const auto start = start_of<sizeof(VirtioHeader) + kEthernetHeaderBytes>(message);
  const bool ipv4 =
      std::memcmp(&start[start.size() - kTypeBytes], &addresses[0].sll_protocol, kTypeBytes) == 0;
  std::memcpy(&virtio, start.data(), sizeof virtio);
  const auto shorten = [this](std::uint16_t& offset) {
    offset = static_cast<std::uint16_t>(offset - std::min<std::size_t>(offset, added_bytes));
  };
  shorten(virtio.checksum_start);
  shorten(virtio.header_length);
  skip(message, start.size());
  *--message.msg_iov = {.iov_base = &virtio, .iov_len = sizeof virtio};
  ++message.msg_iovlen;
  message.msg_name = &addresses[ipv4 ? 0 : 1];
  message.msg_namelen = sizeof addresses[0];
}

void PacketTransmitter::State::send_gathered(std::size_t count, std::span<bool> sent) {
  std::size_t done = 0;
  while (done < count) {
    const int result =
        sendmmsg(socket.get(), &messages[done], static_cast<unsigned>(count - done), MSG_DONTWAIT);
    if (result < 0 && errno == EINTR) continue;
    const auto accepted = static_cast<std::size_t>(std::max(result, 0));
    std::fill_n(sent.begin() + static_cast<std::ptrdiff_t>(done), accepted, true);
    done += accepted;
    if (done == count) return;
    // The call ends at a frame that was refused, and says why only of the first. It is not tried again; the next may pass.
    sent[done] = send_by_detour(messages[done].msg_hdr);
    ++done;
  }
}

// Only what the kernel has not tried to send because of its length.
bool PacketTransmitter::State::send_by_detour(const msghdr& message) const {
  if (detour_index == 0 || !needs_detour(message, sent_prefix_bytes, mtu)) return false;
  sockaddr_ll address = address_of(detour_index);
  msghdr detoured = message;
  detoured.msg_name = &address;
  detoured.msg_namelen = sizeof address;
  MarkControl control;
  if (notes != nullptr && shape != 0)
    set_mark(detoured, control, mark | notes->place_of_shape(place_in_mark(message), shape));
  return sendmsg(socket.get(), &detoured, MSG_DONTWAIT) >= 0;
}

PacketTransmitter::PacketTransmitter(const PacketTransmitterOptions& options)
    : state_(std::make_unique<State>(options)) {
  set_qdisc_bypass(options.qdisc_bypass);
}

PacketTransmitter::~PacketTransmitter() = default;

void PacketTransmitter::send(std::span<const OutgoingFrame> frames, std::span<bool> sent) {
  while (!frames.empty()) {
    std::size_t count = state_->gather(frames);
    state_->send_gathered(count, sent);
    if (count == 0) sent[count++] = false;  // a frame in more parts than there is room for
    frames = frames.subspan(count);
    sent = sent.subspan(count);
  }
}

void PacketTransmitter::set_qdisc_bypass(bool on) {
  const int value = on ? 1 : 0;
  check_system_call("set PACKET_QDISC_BYPASS",
                    setsockopt(state_->socket.get(), SOL_PACKET, PACKET_QDISC_BYPASS, &value, sizeof value));
}

}  // namespace headgate
