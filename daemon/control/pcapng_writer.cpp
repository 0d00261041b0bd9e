#include "control/pcapng_writer.hpp"

#include <cstring>

namespace headgate {

namespace {

constexpr std::uint32_t kByteOrderMagic = 0x1a2b'3c4d;
constexpr std::uint16_t kMajorVersion = 1;
constexpr std::uint16_t kMinorVersion = 0;
constexpr std::uint64_t kLengthUnknown = ~std::uint64_t{0};
constexpr std::uint16_t kEthernet = 1;  // LINKTYPE_ETHERNET
constexpr std::uint16_t kRawIp = 101;   // LINKTYPE_RAW
constexpr char kNanoseconds = 9;        // as the power of ten of if_tsresol

// Option codes; the same number means different things in different blocks.
constexpr std::uint16_t kEndOfOptions = 0;
constexpr std::uint16_t kComment = 1;
constexpr std::uint16_t kUserApplication = 4;      // of a section header
constexpr std::uint16_t kName = 2;                 // of an interface
constexpr std::uint16_t kDescription = 3;          // of an interface
constexpr std::uint16_t kTimestampResolution = 9;  // of an interface
constexpr std::uint16_t kDroppedByInterface = 5;   // of statistics

}  // namespace

template <typename Value>
void PcapngWriter::put(Value value) {
  out_.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void PcapngWriter::put_time(std::uint64_t time) {
  put(static_cast<std::uint32_t>(time >> 32));
  put(static_cast<std::uint32_t>(time));
}

void PcapngWriter::put_padded(std::string_view bytes) {
  out_ += bytes;
  out_.append((4 - bytes.size() % 4) % 4, '\0');
}

void PcapngWriter::option(std::uint16_t code, std::string_view value) {
  value = value.substr(0, 0xffff);
  put(code);
  put(static_cast<std::uint16_t>(value.size()));
  put_padded(value);
}

// The length of a block stands before and after its body.
std::size_t PcapngWriter::begin(std::uint32_t type) {
  const std::size_t start = out_.size();
  put(type);
  put(std::uint32_t{0});
  return start;
}

void PcapngWriter::end(std::size_t start) {
  option(kEndOfOptions, {});
  const auto length = static_cast<std::uint32_t>(out_.size() - start + sizeof(std::uint32_t));
  put(length);
  std::memcpy(&out_[start + sizeof(std::uint32_t)], &length, sizeof length);
}

void PcapngWriter::section_header(std::string_view application) {
  const std::size_t start = begin(kSectionHeader);
  put(kByteOrderMagic);
  put(kMajorVersion);
  put(kMinorVersion);
  put(kLengthUnknown);
  option(kUserApplication, application);
  end(start);
}

void PcapngWriter::interface(std::string_view name, std::string_view description, LinkHeader link_header) {
  const std::size_t start = begin(kInterface);
  put(link_header == LinkHeader::none ? kRawIp : kEthernet);
  put(std::uint16_t{0});
  put(kLongestFrame);
  option(kName, name);
  option(kDescription, description);
  option(kTimestampResolution, {&kNanoseconds, 1});
  end(start);
}

void PcapngWriter::packet(std::uint32_t interface, std::uint64_t time, std::span<const std::byte> frame,
                          std::uint32_t wire_length, std::string_view comment) {
  const std::size_t start = begin(kPacket);
  put(interface);
  put_time(time);
  put(static_cast<std::uint32_t>(frame.size()));
  put(wire_length);
  put_padded({reinterpret_cast<const char*>(frame.data()), frame.size()});
  option(kComment, comment);
  end(start);
}

void PcapngWriter::statistics(std::uint32_t interface, std::uint64_t time, std::uint64_t dropped) {
  const std::size_t start = begin(kStatistics);
  put(interface);
  put_time(time);
  option(kDroppedByInterface, {reinterpret_cast<const char*>(&dropped), sizeof dropped});
  end(start);
}

}  // namespace headgate
