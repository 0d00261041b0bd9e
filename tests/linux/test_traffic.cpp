#include "linux/test_traffic.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <future>

#include "linux/file_descriptor.hpp"
#include "linux/system_call.hpp"

namespace headgate::test {

namespace {

constexpr std::uint16_t kPort = 7001;

std::uint16_t internet_checksum(std::span<const std::byte> bytes, std::uint32_t sum) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    sum += std::to_integer<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

std::string read_to_end(int descriptor) {
  std::string received;
  std::array<char, 65'536> buffer{};
  for (ssize_t count; (count = read(descriptor, buffer.data(), buffer.size())) > 0;)
    received.append(buffer.data(), static_cast<std::size_t>(count));
  return received;
}

void write_all(int descriptor, const std::string& data) {
  for (std::size_t sent = 0; sent < data.size();) {
    const auto count = write(descriptor, data.data() + sent, data.size() - sent);
    check_system_call("write to the connection", static_cast<int>(count));
    sent += static_cast<std::size_t>(count);
  }
}

FileDescriptor open_tcp_socket(const Host& host) {
  FileDescriptor descriptor;
  host([&] {
    descriptor =
        FileDescriptor(check_system_call("TCP socket", socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  });
  return descriptor;
}

}  // namespace

bool starts_packet(std::span<const std::byte> frame, const PacketStart& start) {
  const std::size_t next = ETH_HLEN + start.next_at;
  return frame.size() > next && frame[12] == std::byte(start.protocol >> 8) &&
         frame[13] == std::byte(start.protocol & 0xff) && frame[next] == std::byte{start.next};
}

bool is_tcp_over_ipv4(std::span<const std::byte> frame) {
  return starts_packet(frame, {.protocol = ETH_P_IP, .next_at = 9, .next = IPPROTO_TCP});
}

std::uint16_t tcp_pseudo_header_sum(std::span<const std::byte> frame) {
  const auto addresses = frame.subspan(14 + 12, 8);
  const auto segment_bytes = static_cast<std::uint32_t>(frame.size() - 14 - 20);
  return static_cast<std::uint16_t>(~internet_checksum(addresses, IPPROTO_TCP + segment_bytes));
}

std::uint16_t tcp_checksum_error(std::span<const std::byte> frame) {
  return internet_checksum(frame.subspan(14 + 20), tcp_pseudo_header_sum(frame));
}

std::string test_data(std::size_t bytes) {
  std::string data(bytes, '\0');
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 2'654'435'761u >> 24);
  return data;
}

std::string transfer_by_tcp(const Host& sender, const Host& receiver, const std::string& address,
                            const std::string& data) {
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(kPort);
  inet_pton(AF_INET, address.c_str(), &there.sin_addr);
  const auto* generic = reinterpret_cast<const sockaddr*>(&there);

  const FileDescriptor listener = open_tcp_socket(receiver);
  const int on = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  check_system_call("bind", bind(listener.get(), generic, sizeof there));
  check_system_call("listen", listen(listener.get(), 1));
  FileDescriptor near = open_tcp_socket(sender);
  check_system_call("connect", connect(near.get(), generic, sizeof there));
  const FileDescriptor connection(check_system_call("accept", accept(listener.get(), nullptr, nullptr)));
  auto arrived = std::async(std::launch::async, [&connection] { return read_to_end(connection.get()); });
  write_all(near.get(), data);
  near.close();
  return arrived.get();
}

}  // namespace headgate::test
