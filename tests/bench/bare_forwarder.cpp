// A headgated that does not shape: the same divert, packet ring and transmitter, and nothing between them but the
// batch. The limit that shaping can get close to.
//
// With one thread each batch is sent by who read it. With two the frames are handed over by headgated's own ring, in
// which they are neither classified nor copied. Writes "forwarding" to standard error once packets are diverted; ends at
// SIGINT or SIGTERM.
#include <getopt.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "linux/packet_ring.hpp"
#include "linux/packet_transmitter.hpp"
#include "linux/real_time.hpp"
#include "linux/timer_waiter.hpp"
#include "linux/traffic_divert.hpp"
#include "pipeline/hand_off_ring.hpp"

namespace {

using namespace headgate;

constexpr std::uint32_t kMark = 0x68670000;
constexpr std::size_t kBatch = 64;
// As headgated reads: after a batch of this size an empty ring is looked at again after a nap, without a poll.
constexpr std::size_t kBusyBatch = 8;
constexpr Duration kNap = std::chrono::microseconds(50);
constexpr char kUsage[] =
    "usage: bare_forwarder --interface NAME [--forward-to NAME] [--threads 1|2] [--fifo] [--qdisc-bypass]\n"
    "--fifo gives the sending thread SCHED_FIFO, as headgated does. Without --forward-to what leaves NAME is "
    "diverted.\n";

struct Options {
  std::string interface;
  std::string forward_to;
  bool two_threads = false;
  bool fifo = false;
  bool qdisc_bypass = false;
};

Options parse_options(int argc, char** argv) {
  const option known[] = {
      {"interface", required_argument, nullptr, 'i'}, {"forward-to", required_argument, nullptr, 'f'},
      {"threads", required_argument, nullptr, 't'},   {"fifo", no_argument, nullptr, 'p'},
      {"qdisc-bypass", no_argument, nullptr, 'b'},    {}};
  Options options;
  for (int chosen; (chosen = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
    switch (chosen) {
      case 'i':
        options.interface = optarg;
        break;
      case 'f':
        options.forward_to = optarg;
        break;
      case 't':
        options.two_threads = std::stoi(optarg) == 2;
        break;
      case 'p':
        options.fifo = true;
        break;
      case 'b':
        options.qdisc_bypass = true;
        break;
      default:
        throw std::invalid_argument("unknown option");
    }
  }
  if (optind != argc || options.interface.empty()) throw std::invalid_argument("an interface is needed");
  return options;
}

// Sends batches of frames from their capture slots, and gives the slots back.
class Sending {
 public:
  Sending(PacketRing& ring, PacketTransmitter& transmitter) : ring_(ring), transmitter_(transmitter) {}

  void send(std::span<const CapturedFrame> frames) {
    for (std::size_t i = 0; i < frames.size(); ++i) {
      parts_[i] = frames[i].frame;
      outgoing_[i] = {{&parts_[i], 1}};
      slots_[i] = frames[i].slot;
    }
    transmitter_.send(std::span(outgoing_).first(frames.size()), std::span(sent_).first(frames.size()));
    ring_.give_back(std::span(slots_).first(frames.size()));
  }

 private:
  PacketRing& ring_;
  PacketTransmitter& transmitter_;
  std::array<std::span<const std::byte>, kBatch> parts_;
  std::array<OutgoingFrame, kBatch> outgoing_;
  std::array<std::uint32_t, kBatch> slots_;
  std::array<bool, kBatch> sent_;
};

class Forwarder {
 public:
  explicit Forwarder(const Options& options)
      : options_(options),
        divert_(common_, {.interface = options.interface,
                          .direction = options.forward_to.empty() ? Direction::egress : Direction::ingress,
                          .forward_to = options.forward_to}),
        ring_({.device_index = divert_.device_index(), .mtu = divert_.mtu()}),
        transmitter_({.interface_index = divert_.transmit_index(),
                      .mark = kMark,
                      .qdisc_bypass = options.qdisc_bypass,
                      .detour_index = divert_.peer_index(),
                      .mtu = divert_.transmit_mtu()}),
        hand_off_(ring_.slots()) {
    ring_waiter_.add(ring_);
  }

  // Until a signal.
  void run(const sigset_t& signals) {
    std::thread second;
    if (options_.two_threads) second = std::thread([this] { send_what_is_handed_over(); });
    std::thread first([this] { read(); });
    divert_.attach();
    std::fprintf(stderr, "forwarding\n");
    int signal = 0;
    sigwait(&signals, &signal);
    divert_.detach();
    stop_ = true;
    ring_waiter_.wake();
    waiter_.wake();
    first.join();
    if (second.joinable()) second.join();
  }

 private:
  void prepare_thread(bool sends) {
    set_timer_slack();
    if (sends && options_.fifo) set_real_time_priority();
  }

  void read() {
    prepare_thread(!options_.two_threads);
    Sending sending(ring_, transmitter_);
    std::array<CapturedFrame, kBatch> frames;
    bool busy = false;
    while (!stop_) {
      const std::size_t count = ring_.receive(frames);
      divert_.reset(clock_.now());
      if (count > 0) {
        busy = count >= kBusyBatch;
        if (options_.two_threads) {
          hand_over(std::span(frames).first(count));
        } else {
          sending.send(std::span(frames).first(count));
        }
      } else if (busy) {
        busy = false;
        clock_.sleep(kNap);
      } else {
        ring_waiter_.prepare();
        if (stop_) return ring_waiter_.cancel();
        ring_waiter_.wait(std::nullopt, false);
      }
    }
  }

  void hand_over(std::span<const CapturedFrame> frames) {
    for (const CapturedFrame& frame : frames) *hand_off_.stage() = frame;  // has room for every slot
    hand_off_.publish();
    waiter_.wake();
  }

  void send_what_is_handed_over() {
    prepare_thread(true);
    Sending sending(ring_, transmitter_);
    while (!stop_) {
      const std::span<CapturedFrame> frames = hand_off_.peek(kBatch);
      if (!frames.empty()) {
        sending.send(frames);
        hand_off_.consume(frames.size());
        continue;
      }
      waiter_.prepare();
      if (hand_off_.empty() && !stop_) {
        waiter_.wait(std::nullopt, false);
      } else {
        waiter_.cancel();
      }
    }
  }

  const Options& options_;
  SharedDivert common_{DivertMethod::automatic, kMark, 1};
  TrafficDivert divert_;
  PacketRing ring_;
  PacketTransmitter transmitter_;
  HandOffRing<CapturedFrame> hand_off_;
  TimerWaiter waiter_;       // of the second thread
  TimerWaiter ring_waiter_;  // of the first
  MonotonicClock clock_;
  std::atomic<bool> stop_{false};
};

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse_options(argc, argv);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    if (options.fifo) lock_memory();
    Forwarder(options).run(signals);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bare_forwarder: %s\n%s", error.what(), kUsage);
    return 1;
  }
}
