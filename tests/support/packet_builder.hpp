// Makes Ethernet frames for tests: valid lengths and checksums, so that a real kernel accepts them too.
//
//   PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").udp(4000, 53).payload(18).build()
//   PacketBuilder().vlan(7).ipv6("fc00::1", "fc00::2").destination_options().tcp(4000,
//   80).frame_size(1514).build() PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").fragment(1480,
//   false).payload(100).build()
//
// Every setter may be called in any order; a later call for the same layer replaces the earlier one, except
// vlan(), which adds a tag inside the ones before it, and the IPv6 extension headers, which stand in the
// order of the calls.
#pragma once

#include <arpa/inet.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace headgate {

using MacAddress = std::array<std::uint8_t, 6>;

class PacketBuilder {
 public:
  PacketBuilder& macs(const MacAddress& source, const MacAddress& destination) {
    source_mac_ = source;
    destination_mac_ = destination;
    return *this;
  }

  // A tag inside the frame; a tag that the kernel stripped is no part of the frame.
  PacketBuilder& vlan(std::uint16_t tci, std::uint16_t tpid = 0x8100) {
    tags_.emplace_back(tpid, tci);
    return *this;
  }

  PacketBuilder& ipv4(const std::string& source, const std::string& destination) {
    network_ = Network::ipv4;
    source_ = address(AF_INET, source);
    destination_ = address(AF_INET, destination);
    return *this;
  }

  PacketBuilder& ipv6(const std::string& source, const std::string& destination) {
    network_ = Network::ipv6;
    source_ = address(AF_INET6, source);
    destination_ = address(AF_INET6, destination);
    return *this;
  }

  // IPv4 options or padding after the fixed header: `words` of 4 bytes, at most 10.
  PacketBuilder& ipv4_options(unsigned words) {
    ipv4_option_words_ = words;
    return *this;
  }

  // DSCP of the IP header, 0 to 63.
  PacketBuilder& dscp(std::uint8_t code_point) {
    dscp_ = code_point;
    return *this;
  }

  PacketBuilder& hop_by_hop_options() { return extension(0); }
  PacketBuilder& routing_header() { return extension(43); }
  PacketBuilder& destination_options() { return extension(60); }

  // A fragment of a datagram: `offset` bytes into it, a multiple of 8. Whatever layer 4 was set stands in
  // every fragment, so for later fragments set payload() and protocol() only. In IPv6 it adds a fragment
  // header.
  PacketBuilder& fragment(std::uint16_t offset, bool more_fragments, std::uint32_t identification = 0x1234) {
    if (!fragment_) extensions_.push_back(kFragmentHeader);
    fragment_ = Fragment{offset, more_fragments, identification};
    return *this;
  }

  PacketBuilder& udp(std::uint16_t source_port, std::uint16_t destination_port) {
    return transport(17, source_port, destination_port, 8);
  }
  PacketBuilder& tcp(std::uint16_t source_port, std::uint16_t destination_port) {
    return transport(6, source_port, destination_port, 20);
  }
  PacketBuilder& sctp(std::uint16_t source_port, std::uint16_t destination_port) {
    return transport(132, source_port, destination_port, 12);
  }
  PacketBuilder& icmp_echo(std::uint16_t sequence = 1) { return transport(1, 0x0800, sequence, 8); }
  PacketBuilder& icmpv6(std::uint8_t type, std::uint8_t code = 0) {
    return transport(58, static_cast<std::uint16_t>(type << 8 | code), 0, 8);
  }

  // IP protocol number when no transport header is set.
  PacketBuilder& protocol(std::uint8_t number) {
    protocol_ = number;
    return *this;
  }

  // An ARP request (or reply) for `target`; nothing else of the packet but its MAC addresses and tags counts.
  PacketBuilder& arp(const std::string& sender, const std::string& target, std::uint16_t operation = 1) {
    network_ = Network::arp;
    source_ = address(AF_INET, sender);
    destination_ = address(AF_INET, target);
    arp_operation_ = operation;
    return *this;
  }

  // Another EtherType with the payload behind it.
  PacketBuilder& ether_type(std::uint16_t type) {
    network_ = Network::other;
    ether_type_ = type;
    return *this;
  }

  // Payload of `bytes` bytes that count up from `first`.
  PacketBuilder& payload(std::size_t bytes, std::uint8_t first = 0) {
    std::vector<std::uint8_t> content(bytes);
    for (std::size_t i = 0; i < bytes; ++i) content[i] = static_cast<std::uint8_t>(first + i);
    return payload(std::move(content));
  }
  PacketBuilder& payload(std::vector<std::uint8_t> content) {
    payload_ = std::move(content);
    frame_size_ = 0;
    return *this;
  }

  // Chooses the payload so that the whole frame, without frame check sequence, has `bytes` bytes.
  PacketBuilder& frame_size(std::size_t bytes) {
    frame_size_ = bytes;
    return *this;
  }

  std::vector<std::byte> build() const {
    std::vector<std::uint8_t> body = payload_;
    if (frame_size_ != 0) {
      const std::size_t headers = assemble({}).size();
      if (headers > frame_size_) throw std::invalid_argument("the headers alone are longer than frame_size");
      body.assign(frame_size_ - headers, 0);
      for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<std::uint8_t>(i);
    }
    const Bytes frame = assemble(body);
    std::vector<std::byte> result(frame.size());
    for (std::size_t i = 0; i < frame.size(); ++i) result[i] = std::byte{frame[i]};
    return result;
  }

 private:
  using Bytes = std::vector<std::uint8_t>;
  enum class Network { other, ipv4, ipv6, arp };
  struct Fragment {
    std::uint16_t offset;
    bool more;
    std::uint32_t identification;
  };
  static constexpr std::uint8_t kFragmentHeader = 44;

  static Bytes address(int family, const std::string& text) {
    Bytes bytes(family == AF_INET ? 4 : 16);
    if (inet_pton(family, text.c_str(), bytes.data()) != 1)
      throw std::invalid_argument("not an address: " + text);
    return bytes;
  }

  static void put16(Bytes& bytes, std::uint32_t value) {
    bytes.push_back(static_cast<std::uint8_t>(value >> 8));
    bytes.push_back(static_cast<std::uint8_t>(value));
  }
  static void put32(Bytes& bytes, std::uint32_t value) {
    put16(bytes, value >> 16);
    put16(bytes, value & 0xffff);
  }
  static void set16(Bytes& bytes, std::size_t position, std::uint32_t value) {
    bytes[position] = static_cast<std::uint8_t>(value >> 8);
    bytes[position + 1] = static_cast<std::uint8_t>(value);
  }
  static void append(Bytes& bytes, const Bytes& more) { bytes.insert(bytes.end(), more.begin(), more.end()); }

  // The Internet checksum (RFC 1071).
  static std::uint16_t checksum(const Bytes& bytes) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) sum += i % 2 == 0 ? bytes[i] << 8u : bytes[i];
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
  }

  PacketBuilder& extension(std::uint8_t header) {
    extensions_.push_back(header);
    return *this;
  }

  PacketBuilder& transport(std::uint8_t protocol, std::uint16_t first, std::uint16_t second,
                           std::size_t size) {
    protocol_ = protocol;
    transport_ = Bytes{};
    put16(*transport_, first);
    put16(*transport_, second);
    transport_->resize(size, 0);
    return *this;
  }

  // Transport header and payload, lengths and checksums filled in.
  Bytes segment(const Bytes& body) const {
    if (!transport_) return body;
    Bytes bytes = *transport_;
    append(bytes, body);
    if (protocol_ == 17) set16(bytes, 4, static_cast<std::uint32_t>(bytes.size()));
    if (protocol_ == 6) {
      bytes[12] = 5 << 4;  // header length in words
      bytes[13] = 0x10;    // ACK
      set16(bytes, 14, 0xffff);
    }
    const std::size_t place = protocol_ == 17                     ? 6
                              : protocol_ == 6                    ? 16
                              : protocol_ == 1 || protocol_ == 58 ? 2
                                                                  : 0;
    if (place == 0) return bytes;
    if (protocol_ == 1) {  // its second field is the sequence number, not behind the type
      set16(bytes, 2, 0);
      bytes[6] = (*transport_)[2];
      bytes[7] = (*transport_)[3];
    }
    Bytes covered;
    if (protocol_ != 1) {  // pseudo header
      append(covered, source_);
      append(covered, destination_);
      put32(covered, static_cast<std::uint32_t>(bytes.size()));
      put32(covered, protocol_);
    }
    append(covered, bytes);
    const std::uint16_t sum = checksum(covered);
    set16(bytes, place, sum == 0 && protocol_ == 17 ? 0xffff : sum);
    return bytes;
  }

  Bytes ipv4_packet(const Bytes& content) const {
    const std::size_t header = 20 + 4 * ipv4_option_words_;
    Bytes bytes{static_cast<std::uint8_t>(0x40 | header / 4), static_cast<std::uint8_t>(dscp_ << 2)};
    put16(bytes, static_cast<std::uint32_t>(header + content.size()));
    put16(bytes, fragment_ ? fragment_->identification & 0xffff : 0);
    put16(bytes, fragment_ ? (fragment_->more ? 0x2000u : 0u) | fragment_->offset / 8u : 0x4000u);
    bytes.push_back(64);
    bytes.push_back(protocol_);
    put16(bytes, 0);
    append(bytes, source_);
    append(bytes, destination_);
    bytes.resize(header, 1);  // no-operation options
    set16(bytes, 10, checksum(bytes));
    append(bytes, content);
    return bytes;
  }

  Bytes ipv6_packet(const Bytes& content) const {
    Bytes chain;
    for (std::size_t i = 0; i < extensions_.size(); ++i) {
      chain.push_back(i + 1 < extensions_.size() ? extensions_[i + 1] : protocol_);
      chain.push_back(0);  // eight bytes in all
      if (extensions_[i] == kFragmentHeader) {
        put16(chain, fragment_->offset | (fragment_->more ? 1u : 0u));
        put32(chain, fragment_->identification);
      } else if (extensions_[i] == 43) {
        chain.insert(chain.end(), 6, 0);  // no segments left
      } else {
        append(chain, {1, 4, 0, 0, 0, 0});  // PadN
      }
    }
    append(chain, content);
    Bytes bytes;
    put32(bytes, 6u << 28 | static_cast<std::uint32_t>(dscp_) << 22);
    put16(bytes, static_cast<std::uint32_t>(chain.size()));
    bytes.push_back(extensions_.empty() ? protocol_ : extensions_.front());
    bytes.push_back(64);
    append(bytes, source_);
    append(bytes, destination_);
    append(bytes, chain);
    return bytes;
  }

  Bytes arp_packet() const {
    Bytes bytes;
    put16(bytes, 1);
    put16(bytes, 0x0800);
    append(bytes, {6, 4});
    put16(bytes, arp_operation_);
    bytes.insert(bytes.end(), source_mac_.begin(), source_mac_.end());
    append(bytes, source_);
    bytes.insert(bytes.end(), 6, 0);
    append(bytes, destination_);
    return bytes;
  }

  Bytes assemble(const Bytes& body) const {
    Bytes frame(destination_mac_.begin(), destination_mac_.end());
    frame.insert(frame.end(), source_mac_.begin(), source_mac_.end());
    for (const auto& [tpid, tci] : tags_) {
      put16(frame, tpid);
      put16(frame, tci);
    }
    switch (network_) {
      case Network::ipv4:
        put16(frame, 0x0800);
        append(frame, ipv4_packet(segment(body)));
        break;
      case Network::ipv6:
        put16(frame, 0x86dd);
        append(frame, ipv6_packet(segment(body)));
        break;
      case Network::arp:
        put16(frame, 0x0806);
        append(frame, arp_packet());
        break;
      case Network::other:
        put16(frame, ether_type_);
        append(frame, body);
        break;
    }
    return frame;
  }

  MacAddress source_mac_{0x02, 0, 0, 0, 0, 0x01};
  MacAddress destination_mac_{0x02, 0, 0, 0, 0, 0x02};
  std::vector<std::pair<std::uint16_t, std::uint16_t>> tags_;
  Network network_ = Network::other;
  std::uint16_t ether_type_ = 0x88b5;  // local experimental
  std::uint16_t arp_operation_ = 1;
  Bytes source_;
  Bytes destination_;
  std::uint8_t dscp_ = 0;
  unsigned ipv4_option_words_ = 0;
  std::vector<std::uint8_t> extensions_;
  std::optional<Fragment> fragment_;
  std::uint8_t protocol_ = 59;  // no next header
  std::optional<Bytes> transport_;
  Bytes payload_;
  std::size_t frame_size_ = 0;
};

}  // namespace headgate
