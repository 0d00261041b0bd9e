#include "trace_traffic.hpp"

#include <pcap/pcap.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace headgate {
namespace {

// A frame longer than this was not cut for the wire yet: it is many packets there.
constexpr std::uint32_t kLongestOnWire = 9'200;

struct CloseTrace {
  void operator()(pcap_t* trace) const { pcap_close(trace); }
};

// How the packets of a link type are made Ethernet frames.
struct LinkType {
  int number;
  std::uint32_t header;    // bytes in front of the packet
  std::uint32_t protocol;  // where its EtherType stands in these; kByVersion: the packet's first nibble tells
  LinkHeader link_header;
};
constexpr std::uint32_t kByVersion = ~std::uint32_t{0};
constexpr LinkType kLinkTypes[] = {
    {DLT_EN10MB, 0, 0, LinkHeader::ethernet},      {DLT_RAW, 0, kByVersion, LinkHeader::none},
    {DLT_IPV4, 0, kByVersion, LinkHeader::none},   {DLT_IPV6, 0, kByVersion, LinkHeader::none},
    {DLT_LINUX_SLL, 16, 14, LinkHeader::ethernet}, {DLT_LINUX_SLL2, 20, 0, LinkHeader::ethernet},
};

const LinkType& link_type_of(pcap_t* trace, const std::string& path) {
  const int number = pcap_datalink(trace);
  const auto* found = std::find_if(std::begin(kLinkTypes), std::end(kLinkTypes),
                                   [&](const LinkType& one) { return one.number == number; });
  if (found != std::end(kLinkTypes)) return *found;
  const char* const name = pcap_datalink_val_to_name(number);
  throw std::runtime_error(path + ": its packets are of link type " +
                           (name != nullptr ? name : std::to_string(number)) +
                           "; expected Ethernet, raw IP, or Linux cooked (tcpdump -i any)");
}

}  // namespace

struct TraceTraffic::State {
  State(const std::string& path_, const std::string& filter) : path(path_) {
    std::array<char, PCAP_ERRBUF_SIZE> error{};
    trace.reset(
        pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, error.data()));
    if (!trace) throw std::runtime_error("cannot read the trace " + path + ": " + error.data());
    link = &link_type_of(trace.get(), path);
    if (!filter.empty()) take_only(filter);
    struct stat status {};
    if (path != "-" && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) size = status.st_size;
    read();
    if (at_hand) start = packet.at;
  }

  void take_only(const std::string& filter) {
    bpf_program program{};
    if (pcap_compile(trace.get(), &program, filter.c_str(), 1, PCAP_NETMASK_UNKNOWN) < 0 ||
        pcap_setfilter(trace.get(), &program) < 0) {
      const std::string why = pcap_geterr(trace.get());
      pcap_freecode(&program);
      throw std::runtime_error("the filter \"" + filter + "\": " + why);
    }
    pcap_freecode(&program);
  }

  // The next packet to `packet`, if there is one.
  void read() {
    pcap_pkthdr* header = nullptr;
    const u_char* bytes = nullptr;
    do {
      const int result = pcap_next_ex(trace.get(), &header, &bytes);
      at_hand = result == 1;
      if (result == PCAP_ERROR)
        throw std::runtime_error("reading the trace " + path + ": " + pcap_geterr(trace.get()));
      if (!at_hand) return;
    } while (!describe(*header, {reinterpret_cast<const std::byte*>(bytes), header->caplen}));
  }

  // False: it is too short to have a header.
  bool describe(const pcap_pkthdr& header, std::span<const std::byte> bytes) {
    const Instant stamped{std::chrono::seconds(header.ts.tv_sec) + Duration(header.ts.tv_usec)};
    if (stamped < packet.at) ++out_of_order;
    packet.at = std::max(packet.at, stamped);
    std::uint32_t length = std::max(header.len, header.caplen);
    if (link->number != DLT_EN10MB) {
      if (bytes.size() <= link->header) return false;
      put_ethernet_in_front(bytes);
      length = length - link->header + static_cast<std::uint32_t>(kEthernetHeaderBytes);
      bytes = rewritten;
    }
    if (bytes.size() < length) ++cut_short;
    if (length > kLongestOnWire) ++uncut;
    length = std::min(length, kLongestOffered);
    packet.frame = bytes.first(std::min<std::size_t>(bytes.size(), length));
    packet.length = length;
    packet.link_header = link->link_header;
    return true;
  }

  // An Ethernet header without addresses, and what stands behind the link's own.
  void put_ethernet_in_front(std::span<const std::byte> bytes) {
    const auto body = bytes.subspan(link->header);
    rewritten.assign(kEthernetHeaderBytes, std::byte{0});
    if (link->protocol == kByVersion) {
      const bool ipv6 = std::to_integer<unsigned>(body[0]) >> 4 == 6;
      rewritten[12] = std::byte{static_cast<unsigned char>(ipv6 ? 0x86 : 0x08)};
      rewritten[13] = std::byte{static_cast<unsigned char>(ipv6 ? 0xdd : 0x00)};
    } else {
      rewritten[12] = bytes[link->protocol];
      rewritten[13] = bytes[link->protocol + 1];
    }
    rewritten.insert(rewritten.end(), body.begin(), body.end());
  }

  const std::string path;
  std::unique_ptr<pcap_t, CloseTrace> trace;
  const LinkType* link = nullptr;
  std::optional<std::int64_t> size;  // bytes of the file
  bool at_hand = false;              // `packet` is the next to be given
  OfferedPacket packet;
  std::optional<Instant> start;
  std::vector<std::byte> rewritten;
  std::uint64_t out_of_order = 0, cut_short = 0, uncut = 0;
};

TraceTraffic::TraceTraffic(const std::string& path, const std::string& filter)
    : state_(std::make_unique<State>(path, filter)) {}

TraceTraffic::~TraceTraffic() = default;

// The first was read by the constructor.
const OfferedPacket* TraceTraffic::next() {
  State& state = *state_;
  if (!state.at_hand) state.read();
  return std::exchange(state.at_hand, false) ? &state.packet : nullptr;
}

std::optional<double> TraceTraffic::progress() const {
  if (!state_->size || *state_->size == 0) return std::nullopt;
  std::FILE* const file = pcap_file(state_->trace.get());
  const long at = file == nullptr ? -1 : std::ftell(file);
  if (at < 0) return std::nullopt;
  return static_cast<double>(at) / static_cast<double>(*state_->size);
}

std::optional<Instant> TraceTraffic::start() const {
  return state_->start;
}

std::vector<std::string> TraceTraffic::notes() const {
  std::vector<std::string> notes;
  const auto note = [&](std::uint64_t count, const std::string& what) {
    if (count > 0) notes.push_back(std::to_string(count) + " packets of the trace " + what);
  };
  note(state_->cut_short,
       "were captured in part: they count with their original length, their rest as zeros");
  note(state_->uncut,
       "are longer than " + std::to_string(kLongestOnWire) +
           " bytes: captured before the kernel or the card cut them, each counts as one packet");
  note(state_->out_of_order, "are stamped earlier than the one before them: they come at its time");
  return notes;
}

}  // namespace headgate
