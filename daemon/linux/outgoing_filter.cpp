#include "linux/outgoing_filter.hpp"

#include <linux/filter.h>
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

}  // namespace headgate
