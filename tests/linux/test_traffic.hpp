// Traffic between the hosts of a lab, and what the frames of it must look like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace headgate::test {

struct PacketStart {
  std::uint16_t protocol = 0;  // EtherType
  std::size_t next_at = 0;     // place of the next protocol in the IP header
  std::uint8_t next = 0;
};

bool starts_packet(std::span<const std::byte> frame, const PacketStart& start);
bool is_tcp_over_ipv4(std::span<const std::byte> frame);

// Of TCP over IPv4 without options; 0 where it is right.
std::uint16_t tcp_checksum_error(std::span<const std::byte> frame);

// The sum that a sender leaves in the checksum field when somebody later is to complete it: of TCP over IPv4 without options.
std::uint16_t tcp_pseudo_header_sum(std::span<const std::byte> frame);

// Bytes that do not repeat soon.
std::string test_data(std::size_t bytes);

// Calls its argument on a host.
using Host = std::function<void(const std::function<void()>&)>;

// Sends over TCP and returns what arrived at `address` of the receiver.
std::string transfer_by_tcp(const Host& sender, const Host& receiver, const std::string& address,
                            const std::string& data);

}  // namespace headgate::test
