// Reads a pcapng trace by its specification, with the parts that libpcap does not show: names of interfaces and
// comments. Throws std::runtime_error for whatever is not as it must be.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace headgate {

struct PcapngTrace {
  struct Packet {
    std::uint32_t interface = 0;
    std::uint64_t time = 0;  // in units of the interface's resolution
    std::uint32_t wire_length = 0;
    std::string frame;
    std::string comment;
  };
  struct Interface {
    std::uint16_t link_type = 0;
    std::uint32_t snap_length = 0;
    std::string name;
    int resolution = 6;  // negative power of ten
  };
  std::string application;
  std::vector<Interface> interfaces;
  std::vector<Packet> packets;
  std::map<std::uint32_t, std::uint64_t> dropped;  // by interface
};

class PcapngReader {
 public:
  explicit PcapngReader(std::string_view bytes) : rest_(bytes) {}

  PcapngTrace read() {
    while (!rest_.empty()) read_block();
    return std::move(trace_);
  }

 private:
  using Options = std::multimap<std::uint16_t, std::string>;

  static void require(bool condition, const char* what) {
    if (!condition) throw std::runtime_error(what);
  }

  template <typename Value>
  static Value take(std::string_view& from) {
    require(from.size() >= sizeof(Value), "a block ends early");
    Value value;
    std::memcpy(&value, from.data(), sizeof value);
    from.remove_prefix(sizeof value);
    return value;
  }

  static std::string take_padded(std::string_view& from, std::size_t size) {
    const std::size_t padded = (size + 3) / 4 * 4;
    require(from.size() >= padded, "padding is missing");
    require(from.substr(size, padded - size).find_first_not_of('\0') == std::string_view::npos,
            "padding is not zero");
    const std::string value(from.substr(0, size));
    from.remove_prefix(padded);
    return value;
  }

  static Options take_options(std::string_view from) {
    Options options;
    for (;;) {
      const auto code = take<std::uint16_t>(from);
      const auto size = take<std::uint16_t>(from);
      if (code == 0) break;
      options.emplace(code, take_padded(from, size));
    }
    require(from.empty(), "bytes after the end of the options");
    return options;
  }

  static std::string option(const Options& options, std::uint16_t code) {
    const auto found = options.find(code);
    return found == options.end() ? std::string() : found->second;
  }

  void read_block() {
    std::string_view header = rest_;
    const auto type = take<std::uint32_t>(header);
    const auto length = take<std::uint32_t>(header);
    require(length >= 12 && length % 4 == 0 && length <= rest_.size(), "the length of a block is wrong");
    std::string_view last = rest_.substr(length - 4, 4);
    require(take<std::uint32_t>(last) == length, "a block does not end with its length");
    std::string_view body = rest_.substr(8, length - 12);
    rest_.remove_prefix(length);
    require(first_ == (type == 0x0a0d0d0a), "there must be one section header, at the start");
    first_ = false;
    if (type == 0x0a0d0d0a) read_section(body);
    if (type == 1) read_interface(body);
    if (type == 5) read_statistics(body);
    if (type == 6) read_packet(body);
  }

  void read_section(std::string_view body) {
    require(take<std::uint32_t>(body) == 0x1a2b3c4d, "the byte order is not this host's");
    require(take<std::uint16_t>(body) == 1, "the major version is not 1");
    require(take<std::uint16_t>(body) == 0, "the minor version is not 0");
    take<std::uint64_t>(body);
    trace_.application = option(take_options(body), 4);
  }

  void read_interface(std::string_view body) {
    PcapngTrace::Interface interface;
    interface.link_type = take<std::uint16_t>(body);
    take<std::uint16_t>(body);
    interface.snap_length = take<std::uint32_t>(body);
    const Options options = take_options(body);
    interface.name = option(options, 2);
    if (const std::string resolution = option(options, 9); !resolution.empty())
      interface.resolution = resolution.front();
    trace_.interfaces.push_back(interface);
  }

  static std::uint64_t take_time(std::string_view& body) {
    const std::uint64_t high = take<std::uint32_t>(body);
    return high << 32 | take<std::uint32_t>(body);
  }

  void read_packet(std::string_view body) {
    PcapngTrace::Packet packet;
    packet.interface = take<std::uint32_t>(body);
    require(packet.interface < trace_.interfaces.size(), "a packet of an interface that was not declared");
    packet.time = take_time(body);
    const auto captured = take<std::uint32_t>(body);
    packet.wire_length = take<std::uint32_t>(body);
    packet.frame = take_padded(body, captured);
    packet.comment = option(take_options(body), 1);
    trace_.packets.push_back(std::move(packet));
  }

  void read_statistics(std::string_view body) {
    const auto interface = take<std::uint32_t>(body);
    require(interface < trace_.interfaces.size(), "statistics of an interface that was not declared");
    take_time(body);
    const std::string dropped = option(take_options(body), 5);
    std::string_view value = dropped;
    trace_.dropped[interface] = take<std::uint64_t>(value);
  }

  std::string_view rest_;
  bool first_ = true;
  PcapngTrace trace_;
};

}  // namespace headgate
