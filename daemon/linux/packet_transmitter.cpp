#include "linux/packet_transmitter.hpp"

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
#include "linux/system_call.hpp"
#include "pipeline/virtio_header.hpp"

namespace headgate {

namespace {

constexpr std::size_t kMessagesMax = 256;  // per system call
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
  if (options.virtio_header) {
    const int on = 1;
    check_system_call("send virtio headers",
                      setsockopt(descriptor.get(), SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on));
  }
  return descriptor;
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
      : prefix_bytes(options.virtio_header ? sizeof(VirtioHeader) : 0),
        mtu(options.mtu),
        detour_index(options.detour_index),
        socket(open_send_socket(options)) {}
  ~State() { BulkRelease::close(std::move(socket)); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Describes as many of the frames as fit into one call, at least one. Returns how many.
  std::size_t gather(std::span<const OutgoingFrame> frames);
  // Sends the first `count` of what was gathered, and says for each in `sent` whether it was.
  void send_gathered(std::size_t count, std::span<bool> sent);

  bool send_by_detour(const msghdr& message) const;

  std::size_t prefix_bytes;
  unsigned mtu;
  int detour_index;
  FileDescriptor socket;
  std::vector<mmsghdr> messages = std::vector<mmsghdr>(kMessagesMax);
  std::vector<iovec> parts = std::vector<iovec>(kPartsMax);
};

std::size_t PacketTransmitter::State::gather(std::span<const OutgoingFrame> frames) {
  std::size_t used = 0;
  std::size_t count = 0;
  for (; count < std::min(frames.size(), kMessagesMax); ++count) {
    const auto& frame = frames[count].parts;
    if (used + frame.size() > kPartsMax) break;
    messages[count].msg_hdr = {.msg_iov = &parts[used], .msg_iovlen = frame.size()};
    for (const auto& part : frame)
      parts[used++] = {.iov_base = const_cast<std::byte*>(part.data()), .iov_len = part.size()};
  }
  return count;
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
  if (detour_index == 0 || !needs_detour(message, prefix_bytes, mtu)) return false;
  sockaddr_ll address = address_of(detour_index);
  msghdr detoured = message;
  detoured.msg_name = &address;
  detoured.msg_namelen = sizeof address;
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
