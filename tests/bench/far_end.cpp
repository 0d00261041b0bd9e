// Records the bench's frames where they arrive, with the kernel's receive timestamps, and says what they tell about
// rate, spacing and each flow's schedule.
//
// Writes "listening" to standard error once frames are being recorded; ends at SIGINT or SIGTERM and prints one JSON
// object. Times are nanoseconds, of CLOCK_REALTIME where they are instants. The frames lie in a large packet ring that
// is emptied every few milliseconds, so that this program disturbs little of what it measures.
#include <arpa/inet.h>
#include <endian.h>
#include <getopt.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "bench/bench_frame.hpp"

namespace {

using namespace headgate::bench;

constexpr std::size_t kSlotBytes = 128;
constexpr std::size_t kSlots = 1 << 19;
constexpr std::size_t kBlockBytes = 1 << 20;
constexpr long kNap = 5'000'000;  // ns between two readings
constexpr char kUsage[] =
    "usage: far_end --interface NAME\n"
    "         [--sample N]          record every Nth packet of the source (a power of two), default all\n"
    "         [--below N]           only flows below N\n"
    "         [--ideal-gap NS]      percentiles of |gap - NS|\n"
    "         [--flow-period NS]    each flow's rate, and how late its packets are in its own schedule\n"
    "         [--skip SECONDS]      leave out what came in the first SECONDS after the first packet\n"
    "         [--records FILE]      write 16 bytes a packet: time, flow << 32 | number (little endian)\n";

volatile std::sig_atomic_t g_stop = 0;

struct Options {
  std::string interface;
  unsigned sample = 1;
  std::uint32_t below = kFlowsMax;
  std::int64_t ideal_gap = 0;
  std::int64_t flow_period = 0;
  double skip = 0;
  std::string records;
};

struct Record {
  std::int64_t time = 0;
  std::uint32_t number = 0;  // the lower half
  std::uint32_t flow = 0;
};

Options parse_options(int argc, char** argv) {
  const option known[] = {
      {"interface", required_argument, nullptr, 'i'},   {"sample", required_argument, nullptr, 's'},
      {"below", required_argument, nullptr, 'b'},       {"ideal-gap", required_argument, nullptr, 'g'},
      {"flow-period", required_argument, nullptr, 'p'}, {"skip", required_argument, nullptr, 'k'},
      {"records", required_argument, nullptr, 'r'},     {}};
  Options options;
  for (int chosen; (chosen = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
    switch (chosen) {
      case 'i':
        options.interface = optarg;
        break;
      case 's':
        options.sample = static_cast<unsigned>(std::stoul(optarg));
        break;
      case 'b':
        options.below = static_cast<std::uint32_t>(std::stoul(optarg));
        break;
      case 'g':
        options.ideal_gap = std::stoll(optarg);
        break;
      case 'p':
        options.flow_period = std::stoll(optarg);
        break;
      case 'k':
        options.skip = std::stod(optarg);
        break;
      case 'r':
        options.records = optarg;
        break;
      default:
        throw std::invalid_argument("unknown option");
    }
  }
  if (optind != argc || options.interface.empty()) throw std::invalid_argument("an interface is needed");
  return options;
}

int check(int result, const char* attempt) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), attempt);
  return result;
}

// While a socket with this option exists the kernel stamps packets when the driver hands them over, and the ring
// reports that time.
void stamp_packets_early() {
  const int descriptor = check(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");
  const int on = 1;
  check(setsockopt(descriptor, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on), "SO_TIMESTAMPNS");
}

// UDP over IPv4 to the bench's port, and of that only the numbers that the sample takes and the flows that are wanted.
void attach_filter(int descriptor, const Options& options) {
  std::array<sock_filter, 12> code{{
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 0, 9),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 7),
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, kPortOffset),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kPort, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kDestinationOffset),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kFirstAddress + options.below, 3, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumberOffset + 4),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, options.sample - 1, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, kSmallestFrame),
      BPF_STMT(BPF_RET | BPF_K, 0),
  }};
  const sock_fprog program{.len = code.size(), .filter = code.data()};
  check(setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program), "filter");
}

class Ring {
 public:
  explicit Ring(const Options& options)
      : socket_(check(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), "packet socket")) {
    const int version = TPACKET_V2;
    check(setsockopt(socket_, SOL_PACKET, PACKET_VERSION, &version, sizeof version), "TPACKET_V2");
    const int on = 1;
    check(setsockopt(socket_, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on), "ignore outgoing");
    attach_filter(socket_, options);
    const tpacket_req layout{.tp_block_size = kBlockBytes,
                             .tp_block_nr = kSlots * kSlotBytes / kBlockBytes,
                             .tp_frame_size = kSlotBytes,
                             .tp_frame_nr = kSlots};
    check(setsockopt(socket_, SOL_PACKET, PACKET_RX_RING, &layout, sizeof layout), "packet ring");
    void* mapped =
        mmap(nullptr, kSlots * kSlotBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, socket_, 0);
    if (mapped == MAP_FAILED) check(-1, "map the packet ring");
    memory_ = static_cast<std::uint8_t*>(mapped);
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = static_cast<int>(if_nametoindex(options.interface.c_str()));
    check(bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), "bind");
  }

  // Takes in what has arrived.
  void read(std::vector<Record>& records) {
    for (;; next_ = (next_ + 1) % kSlots) {
      auto& header = *reinterpret_cast<tpacket2_hdr*>(memory_ + next_ * kSlotBytes);
      std::atomic_ref<std::uint32_t> status(header.tp_status);
      if ((status.load(std::memory_order_acquire) & TP_STATUS_USER) == 0) return;
      const std::uint8_t* frame = reinterpret_cast<std::uint8_t*>(&header) + header.tp_mac;
      std::uint32_t address = 0;
      std::uint32_t number = 0;
      std::memcpy(&address, frame + kDestinationOffset, sizeof address);
      std::memcpy(&number, frame + kNumberOffset + 4, sizeof number);
      records.push_back({.time = header.tp_sec * std::int64_t{1'000'000'000} + header.tp_nsec,
                         .number = be32toh(number),
                         .flow = be32toh(address) & kFlowsMax});
      status.store(TP_STATUS_KERNEL, std::memory_order_release);
    }
  }

  unsigned lost() const {
    tpacket_stats statistics{};
    socklen_t length = sizeof statistics;
    check(getsockopt(socket_, SOL_PACKET, PACKET_STATISTICS, &statistics, &length), "statistics");
    return statistics.tp_drops;
  }

 private:
  int socket_;
  std::uint8_t* memory_ = nullptr;
  std::size_t next_ = 0;
};

// Nearest rank. `values` are sorted and not empty.
template <typename Value>
Value percentile(const std::vector<Value>& values, double percent) {
  const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * static_cast<double>(values.size())));
  return values[std::clamp<std::size_t>(rank, 1, values.size()) - 1];
}

template <typename Value>
void print_distribution(const char* name, std::vector<Value> values) {
  if (values.empty()) return;
  std::sort(values.begin(), values.end());
  std::printf(",\n\"%s\":{\"p50\":%.10g,\"p90\":%.10g,\"p99\":%.10g,\"p99.9\":%.10g,\"max\":%.10g}", name,
              static_cast<double>(percentile(values, 50)), static_cast<double>(percentile(values, 90)),
              static_cast<double>(percentile(values, 99)), static_cast<double>(percentile(values, 99.9)),
              static_cast<double>(values.back()));
}

// Packets per second by least squares over the arrival times, so that one late packet at an end does not count more
// than any other.
double fitted_rate(const std::vector<Record>& records) {
  const double count = static_cast<double>(records.size());
  const double middle = (count - 1) / 2;
  double covariance = 0;
  double variance = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const double index = static_cast<double>(i) - middle;
    covariance += index * static_cast<double>(records[i].time - records.front().time);
    variance += index * index;
  }
  return 1e9 * variance / covariance;
}

void print_gaps(const std::vector<Record>& records, std::int64_t ideal) {
  std::vector<std::int64_t> errors;
  for (std::size_t i = 1; i < records.size(); ++i)
    errors.push_back(std::abs(records[i].time - records[i - 1].time - ideal));
  print_distribution("gap_error_ns", std::move(errors));
}

void print_largest_gap(const std::vector<Record>& records) {
  std::int64_t largest = 0;
  std::int64_t at = 0;
  for (std::size_t i = 1; i < records.size(); ++i) {
    const std::int64_t gap = records[i].time - records[i - 1].time;
    if (gap > largest) {
      largest = gap;
      at = records[i - 1].time;
    }
  }
  std::printf(",\"largest_gap_ns\":%jd,\"largest_gap_at\":%jd", std::intmax_t{largest}, std::intmax_t{at});
}

// A flow's ideal schedule is the latest one, of its period, before which none of its packets has come.
void print_flows(std::vector<Record> records, std::int64_t period) {
  std::stable_sort(records.begin(), records.end(),
                   [](const Record& a, const Record& b) { return a.flow < b.flow; });
  std::vector<double> rate_errors;  // as a fraction
  std::vector<std::int64_t> lateness;
  std::size_t flows = 0;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (std::size_t from = 0, to = 0; from < records.size(); from = to) {
    while (to < records.size() && records[to].flow == records[from].flow) ++to;
    ++flows;
    fewest = std::min(fewest, to - from);
    if (to - from < 2) continue;
    std::int64_t start = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = from; i < to; ++i)
      start = std::min(start, records[i].time - static_cast<std::int64_t>(i - from) * period);
    for (std::size_t i = from; i < to; ++i)
      lateness.push_back(records[i].time - static_cast<std::int64_t>(i - from) * period - start);
    const double span = static_cast<double>(records[to - 1].time - records[from].time);
    rate_errors.push_back(
        std::abs(static_cast<double>(to - from - 1) * static_cast<double>(period) / span - 1));
  }
  std::printf(",\"flows\":%zu,\"fewest_packets\":%zu", flows, flows > 0 ? fewest : 0);
  print_distribution("rate_error", std::move(rate_errors));
  print_distribution("lateness_ns", std::move(lateness));
}

void print(const std::vector<Record>& records, unsigned lost, const Options& options) {
  std::printf("{\"packets\":%zu,\"lost_by_recording\":%u", records.size(), lost);
  if (records.size() >= 2) {
    std::printf(",\"first\":%jd,\"last\":%jd,\"rate\":%.6f", std::intmax_t{records.front().time},
                std::intmax_t{records.back().time}, fitted_rate(records));
    print_largest_gap(records);
    if (options.ideal_gap > 0) print_gaps(records, options.ideal_gap);
    if (options.flow_period > 0) print_flows(records, options.flow_period);
  }
  std::printf("}\n");
}

void leave_out_the_first(std::vector<Record>& records, double seconds) {
  if (records.empty()) return;
  const std::int64_t from = records.front().time + static_cast<std::int64_t>(seconds * 1e9);
  const auto late_enough = [from](const Record& record) { return record.time >= from; };
  records.erase(records.begin(), std::find_if(records.begin(), records.end(), late_enough));
}

void write_records(const std::vector<Record>& records, const std::string& path) {
  static_assert(sizeof(Record) == 16);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) throw std::runtime_error("cannot write " + path);
  std::fwrite(records.data(), sizeof(Record), records.size(), file);
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
    Ring ring(options);
    std::vector<Record> records;
    records.reserve(1 << 22);
    std::fprintf(stderr, "listening\n");
    while (!g_stop) {
      const timespec nap{.tv_sec = 0, .tv_nsec = kNap};
      nanosleep(&nap, nullptr);
      ring.read(records);
    }
    if (options.skip > 0) leave_out_the_first(records, options.skip);
    print(records, ring.lost(), options);
    if (!options.records.empty()) write_records(records, options.records);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "far_end: %s\n%s", error.what(), kUsage);
    return 1;
  }
}
