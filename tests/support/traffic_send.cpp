// Sends UDP packets at a fixed rate, for the integration tests. Packet i is due at start + i / rate, whatever
// came before, so a late wake-up is made up for and never becomes a rate error.
//
// Packets go round the flows in turn: each destination address with each of the destination ports. The first
// eight bytes of the payload count the packets of the flow from 0 (big endian), so that the receiver sees
// reordering. Ends by itself, or at SIGINT or SIGTERM, and prints what it sent as one JSON object on standard
// output.
#include <arpa/inet.h>
#include <endian.h>
#include <getopt.h>
#include <netdb.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
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
#include <vector>

#include "support/duration_argument.hpp"

namespace {

using headgate::test::parse_duration_argument;
using std::chrono::nanoseconds;

constexpr std::size_t kBatch = 64;
constexpr std::size_t kSequenceBytes = 8;
constexpr char kUsage[] =
    "usage: traffic_send --to ADDRESS [--to ADDRESS ...] --rate PPS (--count N | --duration TIME)\n"
    "         [--port P]      first destination port, default 5000\n"
    "         [--flows K]     destination ports P ... P+K-1 for each address, default 1\n"
    "         [--size BYTES]  of the Ethernet frame without FCS, default 100\n"
    "         [--dscp N]      in the IP header of each packet, default 0\n"
    "         [--spin TIME]   spin for the last TIME before each packet is due instead of sleeping\n"
    "PPS is the sum over all flows; 0 sends as fast as it goes.\n";

volatile std::sig_atomic_t g_stop = 0;

struct Options {
  std::vector<std::string> addresses;
  unsigned port = 5000;
  unsigned flows = 1;
  double rate = -1;
  std::uint64_t count = std::numeric_limits<std::uint64_t>::max();
  nanoseconds duration = nanoseconds::max();
  std::size_t frame_bytes = 100;
  int dscp = 0;
  nanoseconds spin{0};
};

struct Flow {
  std::string address;
  unsigned port = 0;
  sockaddr_storage destination{};
  socklen_t destination_length = 0;
  std::uint64_t sent = 0;
  std::uint64_t failed = 0;
  int failure = 0;  // errno of the last failure
};

Options parse_options(int argc, char** argv) {
  enum { to = 1, port, flows, rate, count, duration, size, dscp, spin };
  const option known[] = {
      {"to", required_argument, nullptr, to},       {"port", required_argument, nullptr, port},
      {"flows", required_argument, nullptr, flows}, {"rate", required_argument, nullptr, rate},
      {"count", required_argument, nullptr, count}, {"duration", required_argument, nullptr, duration},
      {"size", required_argument, nullptr, size},   {"dscp", required_argument, nullptr, dscp},
      {"spin", required_argument, nullptr, spin},   {}};
  Options options;
  for (int chosen; (chosen = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
    switch (chosen) {
      case to:
        options.addresses.emplace_back(optarg);
        break;
      case port:
        options.port = static_cast<unsigned>(std::stoul(optarg));
        break;
      case flows:
        options.flows = static_cast<unsigned>(std::stoul(optarg));
        break;
      case rate:
        options.rate = std::stod(optarg);
        break;
      case count:
        options.count = std::stoull(optarg);
        break;
      case duration:
        options.duration = parse_duration_argument(optarg);
        break;
      case size:
        options.frame_bytes = std::stoul(optarg);
        break;
      case dscp:
        options.dscp = std::stoi(optarg);
        break;
      case spin:
        options.spin = parse_duration_argument(optarg);
        break;
      default:
        throw std::invalid_argument("unknown option");
    }
  }
  if (optind != argc || options.addresses.empty() || options.rate < 0 || options.flows == 0 ||
      options.port + options.flows > 65'536 ||
      (options.count == std::numeric_limits<std::uint64_t>::max() && options.duration == nanoseconds::max()))
    throw std::invalid_argument("an option is missing or out of range");
  return options;
}

std::vector<Flow> make_flows(const Options& options) {
  std::vector<Flow> flows;
  for (unsigned offset = 0; offset < options.flows; ++offset) {
    for (const std::string& address : options.addresses) {
      Flow flow{.address = address, .port = options.port + offset};
      addrinfo hints{};
      hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
      hints.ai_socktype = SOCK_DGRAM;
      addrinfo* found = nullptr;
      if (getaddrinfo(address.c_str(), std::to_string(flow.port).c_str(), &hints, &found) != 0)
        throw std::invalid_argument("--to " + address + " is not an address");
      std::memcpy(&flow.destination, found->ai_addr, found->ai_addrlen);
      flow.destination_length = found->ai_addrlen;
      freeaddrinfo(found);
      flows.push_back(std::move(flow));
    }
  }
  const int family = flows.front().destination.ss_family;
  if (!std::all_of(flows.begin(), flows.end(),
                   [&](const Flow& flow) { return flow.destination.ss_family == family; }))
    throw std::invalid_argument("IPv4 and IPv6 addresses cannot be mixed");
  return flows;
}

std::size_t payload_bytes(const Options& options, int family) {
  const std::size_t headers = 14 + (family == AF_INET ? 20 : 40) + 8;
  if (options.frame_bytes < headers + kSequenceBytes)
    throw std::invalid_argument("--size must be at least " + std::to_string(headers + kSequenceBytes));
  return options.frame_bytes - headers;
}

int open_socket(int family, int dscp) {
  const int descriptor = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "socket");
  const int buffer = 8 * 1024 * 1024;
  setsockopt(descriptor, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer);
  const int type_of_service = dscp << 2;
  const int result =
      family == AF_INET
          ? setsockopt(descriptor, IPPROTO_IP, IP_TOS, &type_of_service, sizeof type_of_service)
          : setsockopt(descriptor, IPPROTO_IPV6, IPV6_TCLASS, &type_of_service, sizeof type_of_service);
  if (result != 0) throw std::system_error(errno, std::generic_category(), "--dscp");
  return descriptor;
}

nanoseconds now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

void sleep_until(nanoseconds deadline, nanoseconds spin) {
  const nanoseconds wake = deadline - spin;
  const timespec time{.tv_sec = wake.count() / 1'000'000'000, .tv_nsec = wake.count() % 1'000'000'000};
  while (!g_stop && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) continue;
  while (!g_stop && now() < deadline) continue;
}

class Sender {
 public:
  Sender(const Options& options, std::vector<Flow>& flows)
      : flows_(flows),
        socket_(open_socket(flows.front().destination.ss_family, options.dscp)),
        payload_(payload_bytes(options, flows.front().destination.ss_family)),
        buffers_(kBatch * payload_),
        vectors_(kBatch),
        messages_(kBatch) {}

  // Sends the next `wanted` packets (at most kBatch), each to the flow whose turn it is.
  void send_next(std::size_t wanted) {
    for (std::size_t i = 0; i < wanted; ++i) {
      Flow& flow = flows_[(next_ + i) % flows_.size()];
      const std::uint64_t sequence = htobe64((next_ + i) / flows_.size());
      std::uint8_t* payload = buffers_.data() + i * payload_;
      std::memcpy(payload, &sequence, sizeof sequence);
      vectors_[i] = {.iov_base = payload, .iov_len = payload_};
      messages_[i].msg_hdr = {.msg_name = &flow.destination,
                              .msg_namelen = flow.destination_length,
                              .msg_iov = &vectors_[i],
                              .msg_iovlen = 1};
    }
    for (std::size_t done = 0; done < wanted;) {
      const int result = sendmmsg(socket_, messages_.data() + done, static_cast<unsigned>(wanted - done), 0);
      const std::size_t accepted = result > 0 ? static_cast<std::size_t>(result) : 0;
      for (std::size_t i = 0; i < accepted; ++i) ++flows_[(next_ + done + i) % flows_.size()].sent;
      done += accepted;
      if (result < 0 && errno == EINTR) continue;
      if (result < 0) {
        Flow& flow = flows_[(next_ + done) % flows_.size()];
        ++flow.failed;
        flow.failure = errno;
        ++done;
      }
    }
    next_ += wanted;
  }

  std::uint64_t packets() const { return next_; }

 private:
  std::vector<Flow>& flows_;
  int socket_;
  std::size_t payload_;
  std::vector<std::uint8_t> buffers_;
  std::vector<iovec> vectors_;
  std::vector<mmsghdr> messages_;
  std::uint64_t next_ = 0;  // packet number
};

void run(const Options& options, Sender& sender, nanoseconds start) {
  while (!g_stop && sender.packets() < options.count) {
    const nanoseconds elapsed = now() - start;
    if (elapsed >= options.duration) return;
    std::uint64_t due = options.count;
    if (options.rate > 0) {
      due = std::min(
          due, static_cast<std::uint64_t>(static_cast<double>(elapsed.count()) * options.rate / 1e9) + 1);
      if (due <= sender.packets()) {
        const double next = static_cast<double>(sender.packets()) * 1e9 / options.rate;
        sleep_until(start + std::min(nanoseconds(static_cast<std::int64_t>(next) + 1), options.duration),
                    options.spin);
        continue;
      }
    }
    sender.send_next(std::min<std::uint64_t>(due - sender.packets(), kBatch));
  }
}

void print(const std::vector<Flow>& flows, nanoseconds elapsed) {
  std::uint64_t sent = 0;
  std::uint64_t failed = 0;
  for (const Flow& flow : flows) {
    sent += flow.sent;
    failed += flow.failed;
  }
  const double seconds = static_cast<double>(elapsed.count()) / 1e9;
  std::printf("{\"sent\":%ju,\"failed\":%ju,\"seconds\":%.6f,\"rate\":%.3f,\"flows\":[", std::uintmax_t{sent},
              std::uintmax_t{failed}, seconds, static_cast<double>(sent) / seconds);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    std::printf("%s\n {\"to\":\"%s\",\"port\":%u,\"sent\":%ju,\"failed\":%ju", i == 0 ? "" : ",",
                flows[i].address.c_str(), flows[i].port, std::uintmax_t{flows[i].sent},
                std::uintmax_t{flows[i].failed});
    if (flows[i].failed > 0) std::printf(",\"failure\":\"%s\"", std::strerror(flows[i].failure));
    std::printf("}");
  }
  std::printf("]}\n");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse_options(argc, argv);
    std::vector<Flow> flows = make_flows(options);
    Sender sender(options, flows);
    struct sigaction action {};
    action.sa_handler = [](int) { g_stop = 1; };
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    prctl(PR_SET_TIMERSLACK, 1);

    const nanoseconds start = now();
    run(options, sender, start);
    print(flows, now() - start);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "traffic_send: %s\n%s", error.what(), kUsage);
    return 1;
  }
}
