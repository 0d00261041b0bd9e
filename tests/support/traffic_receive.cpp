// Measures UDP packets where they arrive, for the integration tests: the kernel's receive timestamps of an
// interface's incoming packets, by (destination address, destination port), and what they say about rate and
// spacing.
//
// Writes "listening on INTERFACE" to standard error once packets are being captured, and one JSON object to
// standard output at the end. Times are nanoseconds; `first` and `last` are CLOCK_REALTIME.
#include <arpa/inet.h>
#include <getopt.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <compare>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/duration_argument.hpp"

namespace {

using headgate::test::parse_duration_argument;
using std::chrono::nanoseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr int kSnapLength = 128;
constexpr int kBufferBytes = 64 * 1024 * 1024;
constexpr int kPollMilliseconds = 20;
constexpr std::size_t kSequenceBytes = 8;
constexpr char kUsage[] =
    "usage: traffic_receive --interface NAME [--duration TIME] [--until-idle TIME]\n"
    "         [--ideal-gap TIME]   report percentiles of |gap - TIME| per flow\n"
    "         [--filter EXPRESSION] pcap-filter(7), default \"udp\"\n"
    "         [--timestamps FILE]  write \"address port nanoseconds sequence\" for each packet\n"
    "--until-idle ends TIME after the last packet, once there was one; --duration ends in any case.\n";

volatile std::sig_atomic_t g_stop = 0;

struct Options {
  std::string interface;
  std::optional<nanoseconds> duration;
  std::optional<nanoseconds> until_idle;
  std::optional<nanoseconds> ideal_gap;
  std::string filter = "udp";
  std::string timestamps;
};

struct Arrival {
  std::int64_t time = 0;       // ns since the epoch
  std::uint64_t sequence = 0;  // of traffic_send's packets
  std::uint32_t bytes = 0;     // frame without FCS
};

struct FlowName {
  int family = 0;
  std::array<std::uint8_t, 16> address{};
  unsigned port = 0;
  auto operator<=>(const FlowName&) const = default;

  std::string address_text() const {
    char text[INET6_ADDRSTRLEN] = "";
    inet_ntop(family, address.data(), text, sizeof text);
    return text;
  }
};

using Flows = std::map<FlowName, std::vector<Arrival>>;

Options parse_options(int argc, char** argv) {
  enum { interface = 1, duration, until_idle, ideal_gap, filter, timestamps };
  const option known[] = {{"interface", required_argument, nullptr, interface},
                          {"duration", required_argument, nullptr, duration},
                          {"until-idle", required_argument, nullptr, until_idle},
                          {"ideal-gap", required_argument, nullptr, ideal_gap},
                          {"filter", required_argument, nullptr, filter},
                          {"timestamps", required_argument, nullptr, timestamps},
                          {}};
  Options options;
  for (int chosen; (chosen = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
    switch (chosen) {
      case interface:
        options.interface = optarg;
        break;
      case duration:
        options.duration = parse_duration_argument(optarg);
        break;
      case until_idle:
        options.until_idle = parse_duration_argument(optarg);
        break;
      case ideal_gap:
        options.ideal_gap = parse_duration_argument(optarg);
        break;
      case filter:
        options.filter = optarg;
        break;
      case timestamps:
        options.timestamps = optarg;
        break;
      default:
        throw std::invalid_argument("unknown option");
    }
  }
  if (optind != argc || options.interface.empty() || (!options.duration && !options.until_idle))
    throw std::invalid_argument("an option is missing");
  return options;
}

using Capture = std::unique_ptr<pcap_t, decltype(&pcap_close)>;

Capture open_capture(const Options& options) {
  char error[PCAP_ERRBUF_SIZE] = "";
  Capture capture(pcap_create(options.interface.c_str(), error), pcap_close);
  if (!capture) throw std::runtime_error(error);
  pcap_set_snaplen(capture.get(), kSnapLength);
  pcap_set_buffer_size(capture.get(), kBufferBytes);
  pcap_set_timeout(capture.get(), kPollMilliseconds);
  pcap_set_tstamp_precision(capture.get(), PCAP_TSTAMP_PRECISION_NANO);
  if (pcap_activate(capture.get()) < 0 || pcap_setdirection(capture.get(), PCAP_D_IN) < 0)
    throw std::runtime_error(options.interface + ": " + pcap_geterr(capture.get()));
  if (pcap_datalink(capture.get()) != DLT_EN10MB)
    throw std::runtime_error(options.interface + " is not an Ethernet interface");
  bpf_program program{};
  if (pcap_compile(capture.get(), &program, options.filter.c_str(), 1, PCAP_NETMASK_UNKNOWN) < 0 ||
      pcap_setfilter(capture.get(), &program) < 0 || pcap_setnonblock(capture.get(), 1, error) < 0)
    throw std::runtime_error(options.filter + ": " + pcap_geterr(capture.get()));
  pcap_freecode(&program);
  return capture;
}

// While a socket with this option exists the kernel stamps packets when the driver hands them over, before
// they wait in the backlog of a CPU, and the capture reports that time.
int stamp_packets_early() {
  const int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  return descriptor;
}

unsigned read_u16(const std::uint8_t* at) {
  return static_cast<unsigned>(at[0] << 8 | at[1]);
}

struct UdpPacket {
  FlowName flow;
  std::uint64_t sequence = 0;
};

// Reads through VLAN tags; no IPv4 fragments but the first, no IPv6 extension headers.
std::optional<UdpPacket> parse(std::span<const std::uint8_t> frame) {
  std::size_t at = 12;
  while (frame.size() >= at + 2 && (read_u16(&frame[at]) == 0x8100 || read_u16(&frame[at]) == 0x88a8))
    at += 4;
  if (frame.size() < at + 2) return std::nullopt;
  const unsigned ether_type = read_u16(&frame[at]);
  const std::size_t network = at + 2;
  UdpPacket packet;
  std::size_t transport = 0;
  if (ether_type == 0x0800 && frame.size() >= network + 20 && frame[network + 9] == IPPROTO_UDP &&
      (read_u16(&frame[network + 6]) & 0x1fff) == 0) {
    packet.flow.family = AF_INET;
    std::copy_n(&frame[network + 16], 4, packet.flow.address.begin());
    transport = network + (frame[network] & 0x0fu) * 4;
  } else if (ether_type == 0x86dd && frame.size() >= network + 40 && frame[network + 6] == IPPROTO_UDP) {
    packet.flow.family = AF_INET6;
    std::copy_n(&frame[network + 24], 16, packet.flow.address.begin());
    transport = network + 40;
  }
  if (transport == 0 || frame.size() < transport + 8) return std::nullopt;
  packet.flow.port = read_u16(&frame[transport + 2]);
  if (frame.size() >= transport + 8 + kSequenceBytes)
    for (std::size_t i = 0; i < kSequenceBytes; ++i)
      packet.sequence = packet.sequence << 8 | frame[transport + 8 + i];
  return packet;
}

// Takes in what has been captured; false when there was nothing.
bool record_captured(pcap_t* capture, Flows& flows) {
  bool any = false;
  pcap_pkthdr* header = nullptr;
  const u_char* bytes = nullptr;
  int result = 0;
  while ((result = pcap_next_ex(capture, &header, &bytes)) == 1) {
    const auto packet = parse({bytes, header->caplen});
    if (!packet) continue;
    // With nanosecond precision libpcap keeps nanoseconds in tv_usec.
    const std::int64_t time = header->ts.tv_sec * std::int64_t{1'000'000'000} + header->ts.tv_usec;
    flows[packet->flow].push_back({time, packet->sequence, header->len});
    any = true;
  }
  if (result < 0) throw std::runtime_error(pcap_geterr(capture));
  return any;
}

Flows capture_flows(pcap_t* capture, const Options& options) {
  Flows flows;
  const auto start = SteadyClock::now();
  auto last_packet = start;
  while (!g_stop) {
    pollfd readable{.fd = pcap_get_selectable_fd(capture), .events = POLLIN, .revents = 0};
    poll(&readable, 1, kPollMilliseconds);
    const bool any = record_captured(capture, flows);
    const auto now = SteadyClock::now();
    if (any) last_packet = now;
    if (options.duration && now - start >= *options.duration) break;
    if (options.until_idle && !flows.empty() && now - last_packet >= *options.until_idle) break;
  }
  return flows;
}

// `sorted` must not be empty. Nearest rank: the smallest value that at least `percent` of the values do not
// exceed.
std::int64_t percentile(const std::vector<std::int64_t>& sorted, double percent) {
  const double rank = percent / 100 * static_cast<double>(sorted.size());
  const auto index = static_cast<std::size_t>(rank + 0.999999);
  return sorted[std::clamp<std::size_t>(index, 1, sorted.size()) - 1];
}

void print_distribution(const char* name, std::vector<std::int64_t> values) {
  if (values.empty()) return;
  std::sort(values.begin(), values.end());
  std::printf(",\"%s\":{\"min\":%jd,\"p50\":%jd,\"p90\":%jd,\"p99\":%jd,\"p99.9\":%jd,\"max\":%jd}", name,
              std::intmax_t{values.front()}, std::intmax_t{percentile(values, 50)},
              std::intmax_t{percentile(values, 90)}, std::intmax_t{percentile(values, 99)},
              std::intmax_t{percentile(values, 99.9)}, std::intmax_t{values.back()});
}

void print_flow(const FlowName& name, const std::vector<Arrival>& arrivals, const Options& options) {
  std::uint64_t bytes = 0;
  std::uint64_t reordered = 0;  // came after a packet that was sent later
  std::uint64_t highest = 0;
  std::vector<std::int64_t> gaps;
  std::vector<std::int64_t> errors;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    bytes += arrivals[i].bytes;
    if (arrivals[i].sequence < highest) ++reordered;
    highest = std::max(highest, arrivals[i].sequence);
    if (i == 0) continue;
    gaps.push_back(arrivals[i].time - arrivals[i - 1].time);
    if (options.ideal_gap) errors.push_back(std::abs(gaps.back() - options.ideal_gap->count()));
  }
  const std::int64_t first = arrivals.front().time;
  const std::int64_t last = arrivals.back().time;
  const double seconds = static_cast<double>(last - first) / 1e9;
  std::printf(
      "{\"to\":\"%s\",\"port\":%u,\"packets\":%zu,\"bytes\":%ju,\"reordered\":%ju,\"first\":%jd,\"last\":%jd",
      name.address_text().c_str(), name.port, arrivals.size(), std::uintmax_t{bytes},
      std::uintmax_t{reordered}, std::intmax_t{first}, std::intmax_t{last});
  if (last > first)  // n packets have n - 1 gaps; bits of all packets but the first
    std::printf(",\"rate\":%.3f,\"bits_per_second\":%.1f", static_cast<double>(gaps.size()) / seconds,
                static_cast<double>(bytes - arrivals.front().bytes) * 8 / seconds);
  print_distribution("gap_ns", std::move(gaps));
  print_distribution("gap_error_ns", std::move(errors));
  std::printf("}");
}

void print(const Flows& flows, pcap_t* capture, const Options& options) {
  std::size_t packets = 0;
  for (const auto& [name, arrivals] : flows) packets += arrivals.size();
  pcap_stat statistics{};
  pcap_stats(capture, &statistics);
  std::printf("{\"packets\":%zu,\"lost_by_capture\":%u,\"flows\":[", packets, statistics.ps_drop);
  const char* separator = "\n ";
  for (const auto& [name, arrivals] : flows) {
    std::printf("%s", separator);
    print_flow(name, arrivals, options);
    separator = ",\n ";
  }
  std::printf("]}\n");
}

void write_timestamps(const Flows& flows, const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) throw std::runtime_error("cannot write " + path);
  for (const auto& [name, arrivals] : flows)
    for (const Arrival& arrival : arrivals)
      std::fprintf(file, "%s %u %jd %ju\n", name.address_text().c_str(), name.port,
                   std::intmax_t{arrival.time}, std::uintmax_t{arrival.sequence});
  std::fclose(file);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse_options(argc, argv);
    struct sigaction action {};
    action.sa_handler = [](int) { g_stop = 1; };
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);

    stamp_packets_early();
    const Capture capture = open_capture(options);
    std::fprintf(stderr, "listening on %s\n", options.interface.c_str());
    const Flows flows = capture_flows(capture.get(), options);
    print(flows, capture.get(), options);
    if (!options.timestamps.empty()) write_timestamps(flows, options.timestamps);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "traffic_receive: %s\n%s", error.what(), kUsage);
    return 1;
  }
}
