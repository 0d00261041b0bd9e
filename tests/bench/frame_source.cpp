// Sends the bench's frames on an interface, as fast as it goes or at a rate. Packet i of a rate is due at
// start + i / rate; what a late wake-up has missed is sent at once.
//
// Ends by itself, or at SIGINT or SIGTERM, and prints what it sent as one JSON object.
#include <arpa/inet.h>
#include <endian.h>
#include <getopt.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "bench/bench_frame.hpp"

namespace {

using namespace headgate::bench;

constexpr std::size_t kBatch = 64;
constexpr std::size_t kSegmentsMax = 64;
constexpr std::size_t kHeaders = kNumberOffset;  // Ethernet, IPv4 and UDP
constexpr int kSendBuffer = 16 * 1024 * 1024;
constexpr char kUsage[] =
    "usage: frame_source --interface NAME [--count N] [--seconds S]\n"
    "         [--rate PPS]        of all flows together; 0, the default: as fast as it goes\n"
    "         [--flows N]         destination addresses, default 1\n"
    "         [--first-flow N]    the flows are N, N + 1, ...; default 0\n"
    "         [--start-at N]      begin with the Nth of the flows; default 0\n"
    "         [--scatter]         not one flow after the other, but far apart\n"
    "         [--size BYTES]      of the Ethernet frame without FCS, default 64\n"
    "         [--source-mac MAC] [--to-mac MAC]\n"
    "         [--bypass-qdisc]    go by neither the qdisc nor the egress hook\n"
    "         [--super N]         N packets of a flow in one super-packet (UDP segmentation), which the "
    "kernel cuts\n"
    "                             where the next device cannot take it: the cheapest way to make many "
    "packets\n";

volatile std::sig_atomic_t g_stop = 0;

// struct virtio_net_hdr of linux/virtio_net.h, which C++ does not take.
struct SegmentationHeader {
  std::uint8_t flags = 1;     // the checksum is to be completed
  std::uint8_t gso_type = 5;  // UDP is to be segmented
  std::uint16_t header_bytes = kHeaders;
  std::uint16_t segment_bytes = 0;
  std::uint16_t checksum_start = 34;
  std::uint16_t checksum_offset = 6;
};

using MacAddress = std::array<std::uint8_t, ETH_ALEN>;

struct Options {
  std::string interface;
  std::uint64_t count = std::numeric_limits<std::uint64_t>::max();
  double seconds = std::numeric_limits<double>::infinity();
  double rate = 0;
  std::uint32_t flows = 1;
  std::uint32_t first_flow = 0;
  std::uint32_t start_at = 0;
  bool scatter = false;
  std::size_t size = 64;
  // Nobody's, so that the far end's stack looks no further than at the address.
  MacAddress source{0x02, 0, 0, 0, 0, 0xb1};
  MacAddress destination{0x02, 0, 0, 0, 0, 0xb2};
  bool bypass_qdisc = false;
  std::size_t segments = 1;  // of a super-packet
};

MacAddress parse_mac(const char* text) {
  MacAddress mac{};
  if (std::sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2], &mac[3], &mac[4],
                  &mac[5]) != 6)
    throw std::invalid_argument(std::string(text) + " is not a MAC address");
  return mac;
}

Options parse_options(int argc, char** argv) {
  const option known[] = {
      {"interface", required_argument, nullptr, 'i'}, {"count", required_argument, nullptr, 'c'},
      {"seconds", required_argument, nullptr, 't'},   {"rate", required_argument, nullptr, 'r'},
      {"flows", required_argument, nullptr, 'f'},     {"first-flow", required_argument, nullptr, 'F'},
      {"scatter", no_argument, nullptr, 'x'},         {"start-at", required_argument, nullptr, 'a'},
      {"size", required_argument, nullptr, 's'},      {"source-mac", required_argument, nullptr, 'm'},
      {"to-mac", required_argument, nullptr, 'd'},    {"bypass-qdisc", no_argument, nullptr, 'b'},
      {"super", required_argument, nullptr, 'S'},     {}};
  Options options;
  for (int chosen; (chosen = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
    switch (chosen) {
      case 'i':
        options.interface = optarg;
        break;
      case 'c':
        options.count = std::stoull(optarg);
        break;
      case 't':
        options.seconds = std::stod(optarg);
        break;
      case 'r':
        options.rate = std::stod(optarg);
        break;
      case 'f':
        options.flows = static_cast<std::uint32_t>(std::stoul(optarg));
        break;
      case 'F':
        options.first_flow = static_cast<std::uint32_t>(std::stoul(optarg));
        break;
      case 'a':
        options.start_at = static_cast<std::uint32_t>(std::stoul(optarg));
        break;
      case 'x':
        options.scatter = true;
        break;
      case 's':
        options.size = std::stoul(optarg);
        break;
      case 'm':
        options.source = parse_mac(optarg);
        break;
      case 'd':
        options.destination = parse_mac(optarg);
        break;
      case 'b':
        options.bypass_qdisc = true;
        break;
      case 'S':
        options.segments = std::stoul(optarg);
        break;
      default:
        throw std::invalid_argument("unknown option");
    }
  }
  if (optind != argc || options.interface.empty()) throw std::invalid_argument("an interface is needed");
  if (options.size < kSmallestFrame || options.size > ETH_FRAME_LEN)
    throw std::invalid_argument("bad --size");
  if (options.flows == 0 || options.first_flow + std::uint64_t{options.flows} > kFlowsMax)
    throw std::invalid_argument("bad --flows");
  if (options.segments == 0 || options.segments > kSegmentsMax) throw std::invalid_argument("bad --super");
  return options;
}

int open_socket(const Options& options) {
  const auto check = [](int result, const char* attempt) {
    if (result < 0) throw std::system_error(errno, std::generic_category(), attempt);
    return result;
  };
  const int descriptor = check(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), "packet socket");
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = static_cast<int>(if_nametoindex(options.interface.c_str()));
  if (address.sll_ifindex == 0) throw std::runtime_error("there is no interface " + options.interface);
  check(bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address), "bind");
  check(setsockopt(descriptor, SOL_SOCKET, SO_SNDBUFFORCE, &kSendBuffer, sizeof kSendBuffer), "send buffer");
  const int bypass = options.bypass_qdisc;
  check(setsockopt(descriptor, SOL_PACKET, PACKET_QDISC_BYPASS, &bypass, sizeof bypass), "qdisc bypass");
  const int header = options.segments > 1;
  check(setsockopt(descriptor, SOL_PACKET, PACKET_VNET_HDR, &header, sizeof header), "virtio headers");
  return descriptor;
}

void put16(std::uint8_t* at, std::uint32_t value) {
  at[0] = static_cast<std::uint8_t>(value >> 8);
  at[1] = static_cast<std::uint8_t>(value);
}

std::uint32_t get16(const std::uint8_t* at) {
  return static_cast<std::uint32_t>(at[0] << 8 | at[1]);
}

// A packet, or a super-packet whose payloads stand one behind the other.
std::vector<std::uint8_t> make_frame(const Options& options) {
  const std::size_t size = kHeaders + options.segments * (options.size - kHeaders);
  std::vector<std::uint8_t> frame(size);
  std::copy(options.destination.begin(), options.destination.end(), &frame[0]);
  std::copy(options.source.begin(), options.source.end(), &frame[ETH_ALEN]);
  put16(&frame[12], ETH_P_IP);
  std::uint8_t* ip = &frame[ETH_HLEN];
  ip[0] = 0x45;
  put16(ip + 2, static_cast<std::uint32_t>(size - ETH_HLEN));
  put16(ip + 6, 0x4000);  // not to be fragmented
  ip[8] = 64;
  ip[9] = IPPROTO_UDP;
  put16(ip + 12, 0x0a4d);  // 10.77.0.1
  put16(ip + 14, 0x0001);
  put16(&frame[34], kPort);
  put16(&frame[kPortOffset], kPort);
  put16(&frame[38], static_cast<std::uint32_t>(size - 34));
  return frame;
}

std::uint32_t fold(std::uint32_t sum) {
  sum = (sum & 0xffff) + (sum >> 16);
  return (sum & 0xffff) + (sum >> 16);
}

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

void sleep_until(double instant) {
  const auto seconds = static_cast<time_t>(instant);
  const timespec time{.tv_sec = seconds,
                      .tv_nsec = static_cast<long>((instant - static_cast<double>(seconds)) * 1e9)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
}

// Coprime to `flows`, and no small part of it: steps of this width visit each flow once a round.
std::uint32_t far_step(std::uint32_t flows) {
  const auto coprime = [flows](std::uint32_t step) {
    std::uint32_t a = flows;
    std::uint32_t b = step;
    while (b != 0) a = std::exchange(b, a % b);
    return a == 1;
  };
  auto step = static_cast<std::uint32_t>(0.618034 * flows);
  while (step < flows && !coprime(step)) ++step;
  return step < flows && step > 0 ? step : 1;
}

class Source {
 public:
  explicit Source(const Options& options)
      : options_(options),
        socket_(open_socket(options)),
        step_(options.scatter ? far_step(options.flows) : 1),
        flow_(options.start_at % options.flows),
        segmentation_{.segment_bytes = static_cast<std::uint16_t>(options.size - kHeaders)} {
    const std::vector<std::uint8_t> frame = make_frame(options);
    frame_bytes_ = frame.size();
    for (std::size_t at = 0; at < 20; at += 2) ip_sum_ += get16(&frame[ETH_HLEN + at]);
    udp_sum_ = get16(&frame[26]) + get16(&frame[28]) + IPPROTO_UDP + get16(&frame[38]);
    for (std::size_t i = 0; i < kBatch; ++i) frames_.insert(frames_.end(), frame.begin(), frame.end());
    for (std::size_t i = 0; i < kBatch; ++i) {
      parts_[2 * i] = {.iov_base = &segmentation_, .iov_len = sizeof segmentation_};
      parts_[2 * i + 1] = {.iov_base = &frames_[i * frame_bytes_], .iov_len = frame_bytes_};
      const bool with_header = options.segments > 1;
      messages_[i].msg_hdr.msg_iov = &parts_[2 * i + (with_header ? 0 : 1)];
      messages_[i].msg_hdr.msg_iovlen = with_header ? 2 : 1;
    }
  }

  // Frames, at most kBatch.
  void send(std::size_t wanted) {
    for (std::size_t i = 0; i < wanted; ++i) number(&frames_[i * frame_bytes_]);
    for (std::size_t done = 0; done < wanted && !g_stop;) {
      const int result = sendmmsg(socket_, &messages_[done], static_cast<unsigned>(wanted - done), 0);
      if (result > 0) {
        sent_ += static_cast<unsigned>(result) * options_.segments;
        done += static_cast<unsigned>(result);
      } else if (errno == ENOBUFS || errno == ENETDOWN) {
        refused_ += options_.segments;  // those are dropped
        ++done;
      } else if (errno != EINTR) {
        throw std::system_error(errno, std::generic_category(), "sendmmsg");
      }
    }
  }

  // Packets.
  std::uint64_t made() const { return made_; }
  std::uint64_t sent() const { return sent_; }
  std::uint64_t refused() const { return refused_; }

 private:
  void number(std::uint8_t* frame) {
    const std::uint32_t address = kFirstAddress + options_.first_flow + flow_;
    const std::uint32_t address_sum = (address >> 16) + (address & 0xffff);
    put16(frame + kDestinationOffset, address >> 16);
    put16(frame + kDestinationOffset + 2, address & 0xffff);
    put16(frame + 24, ~fold(ip_sum_ + address_sum) & 0xffff);
    if (options_.segments > 1) put16(frame + 40, fold(udp_sum_ + address_sum));  // the kernel makes the rest
    for (std::size_t i = 0; i < options_.segments; ++i) {
      const std::uint64_t big_endian = htobe64(made_++);
      std::memcpy(frame + kNumberOffset + i * (options_.size - kHeaders), &big_endian, sizeof big_endian);
    }
    flow_ += step_;
    if (flow_ >= options_.flows) flow_ -= options_.flows;
  }

  const Options& options_;
  int socket_;
  std::uint32_t step_;
  std::uint32_t flow_;  // the next one
  SegmentationHeader segmentation_;
  std::size_t frame_bytes_ = 0;
  // What does not change of the checksums, not folded.
  std::uint32_t ip_sum_ = 0;
  std::uint32_t udp_sum_ = 0;
  std::uint64_t made_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t refused_ = 0;
  std::vector<std::uint8_t> frames_;
  std::array<iovec, 2 * kBatch> parts_{};
  std::array<mmsghdr, kBatch> messages_{};
};

void run(const Options& options, Source& source, double start) {
  while (!g_stop && source.made() < options.count) {
    const double elapsed = now() - start;
    if (elapsed >= options.seconds) return;
    std::uint64_t due = options.count;
    if (options.rate > 0) {
      due = std::min(due, static_cast<std::uint64_t>(elapsed * options.rate) + 1);
      if (due <= source.made()) {
        sleep_until(start + std::min(static_cast<double>(source.made()) / options.rate, options.seconds));
        continue;
      }
    }
    const std::uint64_t frames = (due - source.made() - 1) / options.segments + 1;
    source.send(std::min<std::uint64_t>(frames, kBatch));
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse_options(argc, argv);
    Source source(options);
    struct sigaction action {};
    action.sa_handler = [](int) { g_stop = 1; };
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    prctl(PR_SET_TIMERSLACK, 1);

    const double start = now();
    run(options, source, start);
    std::printf("{\"sent\":%ju,\"refused\":%ju,\"seconds\":%.6f}\n", std::uintmax_t{source.sent()},
                std::uintmax_t{source.refused()}, now() - start);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "frame_source: %s\n%s", error.what(), kUsage);
    return 1;
  }
}
