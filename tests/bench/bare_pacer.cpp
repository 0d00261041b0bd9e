// The least that paces packets: sleeps until the next one is due and sends it. No queue, no flow, nothing received.
// What this gets wrong is the timer's and the kernel's; a shaper can hardly do better without spinning.
#include <getopt.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>

#include <arpa/inet.h>
#include <endian.h>

#include "bench/bench_frame.hpp"

namespace {

using namespace headgate::bench;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::size_t kFrameBytes = 64;
constexpr int kPriority = 10;  // headgated's
constexpr char kUsage[] = "usage: bare_pacer --interface NAME --rate PPS --seconds S\n";

struct Options {
  std::string interface;
  std::int64_t rate = 0;
  double seconds = 0;
};

Options parse_options(int argc, char** argv) {
  const option known[] = {{"interface", required_argument, nullptr, 'i'},
                          {"rate", required_argument, nullptr, 'r'},
                          {"seconds", required_argument, nullptr, 's'},
                          {}};
  Options options;
  for (int chosen; (chosen = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
    switch (chosen) {
      case 'i':
        options.interface = optarg;
        break;
      case 'r':
        options.rate = std::stoll(optarg);
        break;
      case 's':
        options.seconds = std::stod(optarg);
        break;
      default:
        throw std::invalid_argument("unknown option");
    }
  }
  if (options.interface.empty() || options.rate <= 0 || options.seconds <= 0)
    throw std::invalid_argument("an option is missing");
  return options;
}

int check(int result, const char* attempt) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), attempt);
  return result;
}

int open_socket(const std::string& interface) {
  const int descriptor = check(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), "packet socket");
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = static_cast<int>(if_nametoindex(interface.c_str()));
  check(bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address), "bind");
  return descriptor;
}

void be_exact() {
  const sched_param parameters{.sched_priority = kPriority};
  check(sched_setscheduler(0, SCHED_FIFO, &parameters), "SCHED_FIFO");
  check(mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall");
  check(prctl(PR_SET_TIMERSLACK, 1UL), "timer slack");
}

// The far end looks at no more of a frame than this.
struct Frame {
  Frame() {
    const std::uint8_t start[] = {0x02, 0, 0, 0, 0, 0xb2, 0x02, 0, 0, 0, 0, 0xb1, 0x08, 0x00, 0x45};
    std::memcpy(bytes, start, sizeof start);
    bytes[17] = kFrameBytes - 14;
    bytes[23] = IPPROTO_UDP;
    put32(kDestinationOffset, kFirstAddress);
    bytes[kPortOffset] = kPort >> 8;
    bytes[kPortOffset + 1] = kPort & 0xff;
  }
  void put32(std::size_t at, std::uint32_t value) {
    value = htobe32(value);
    std::memcpy(bytes + at, &value, sizeof value);
  }
  std::uint8_t bytes[kFrameBytes] = {};
};

void pace(const Options& options, int descriptor) {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  const std::int64_t start = time.tv_sec * kSecond + time.tv_nsec;
  const auto count = static_cast<std::int64_t>(options.seconds * static_cast<double>(options.rate));
  Frame frame;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t due = start + i * kSecond / options.rate;
    const timespec until{.tv_sec = due / kSecond, .tv_nsec = due % kSecond};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) continue;
    frame.put32(kNumberOffset + 4, static_cast<std::uint32_t>(i));
    check(static_cast<int>(send(descriptor, frame.bytes, sizeof frame.bytes, 0)), "send");
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse_options(argc, argv);
    const int descriptor = open_socket(options.interface);
    be_exact();
    pace(options, descriptor);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bare_pacer: %s\n%s", error.what(), kUsage);
    return 1;
  }
}
