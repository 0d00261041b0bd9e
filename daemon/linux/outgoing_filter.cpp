#include "linux/outgoing_filter.hpp"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>

#include "linux/system_call.hpp"

namespace headgate {

void take_only_what_is_sent(int packet_socket) {
  std::array<sock_filter, 4> code{
      {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_PKTTYPE)),
       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 1, 0), BPF_STMT(BPF_RET | BPF_K, 0),
       BPF_STMT(BPF_RET | BPF_K, 0xffff'ffff)}};
  const sock_fprog filter{.len = code.size(), .filter = code.data()};
  check_system_call("filter what arrives",
                    setsockopt(packet_socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter));
}

FileDescriptor run_on_device(int device_index, int program) {
  // Protocol 0 until the program is there and the device is known.
  FileDescriptor descriptor(check_system_call("open a packet socket (needs CAP_NET_RAW)",
                                              socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
  check_system_call("run a BPF program on the divert device",
                    setsockopt(descriptor.get(), SOL_SOCKET, SO_ATTACH_BPF, &program, sizeof program));
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = device_index;
  check_system_call("bind a packet socket to the divert device",
                    bind(descriptor.get(), reinterpret_cast<sockaddr*>(&address), sizeof address));
  return descriptor;
}

}  // namespace headgate
