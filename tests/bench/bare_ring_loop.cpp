// The limit that `capture = "bpf"` can get close to: a program on the interface's hook copies packets into a BPF ring
// buffer, and one thread sends them from there, with nothing between but the batch.
//
// Writes "forwarding" to standard error once packets are taken out; ends at SIGINT or SIGTERM, and prints what was lost as
// one JSON object. Killed, it leaves a program behind that takes packets out for nobody: only for namespaces that are
// deleted afterwards.
#include <arpa/inet.h>
#include <bpf/libbpf.h>
#include <getopt.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>

#include "bench/bare_ring_record.h"
#include "linux/file_descriptor.hpp"
#include "linux/real_time.hpp"
#include "linux/system_call.hpp"
#include "pipeline/virtio_header.hpp"

#include "bare_ring_loop.skel.h"

namespace {

using namespace headgate;

constexpr std::uint32_t kMark = 0x68670000;
constexpr std::size_t kBatch = 64;
// As headgated reads: after a batch of this size an empty ring is looked at again after a nap, without a poll.
constexpr std::size_t kBusyBatch = 8;
constexpr auto kNap = std::chrono::microseconds(50);
// A signal that comes right before the sleep is noticed at its end.
constexpr int kLongestSleep = 100;  // ms
constexpr std::size_t kRingBytes = 16 * 1024 * 1024;
constexpr std::size_t kPageBytes = 4096;
constexpr int kSendBuffer = std::numeric_limits<int>::max() / 2;
constexpr char kUsage[] =
    "usage: bare_ring_loop --interface NAME [--forward-to NAME] [--fifo]\n"
    "--fifo gives the thread SCHED_FIFO, as headgated does. Without --forward-to what leaves NAME is taken "
    "out.\n";

volatile std::sig_atomic_t g_stop = 0;

struct Options {
  std::string interface;
  std::string forward_to;
  bool fifo = false;
};

Options parse_options(int argc, char** argv) {
  const option known[] = {{"interface", required_argument, nullptr, 'i'},
                          {"forward-to", required_argument, nullptr, 'f'},
                          {"fifo", no_argument, nullptr, 'p'},
                          {}};
  Options options;
  for (int chosen; (chosen = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
    switch (chosen) {
      case 'i':
        options.interface = optarg;
        break;
      case 'f':
        options.forward_to = optarg;
        break;
      case 'p':
        options.fifo = true;
        break;
      default:
        throw std::invalid_argument("unknown option");
    }
  }
  if (optind != argc || options.interface.empty()) throw std::invalid_argument("an interface is needed");
  return options;
}

int index_of(const std::string& interface) {
  const auto index = static_cast<int>(if_nametoindex(interface.c_str()));
  if (index == 0) throw std::runtime_error("there is no interface " + interface);
  return index;
}

// The program, loaded.
class Program {
 public:
  Program() : skeleton_(bare_ring_loop_bpf::open()) {
    if (!skeleton_) throw std::runtime_error("the program cannot be opened");
    skeleton_->rodata->own_mark = kMark;
    bpf_map__set_max_entries(skeleton_->maps.ring, kRingBytes);
    if (bare_ring_loop_bpf::load(skeleton_.get()) < 0)
      throw std::runtime_error("the program cannot be loaded");
  }

  int take_out() const { return bpf_program__fd(skeleton_->progs.take_out); }
  int ring() const { return bpf_map__fd(skeleton_->maps.ring); }
  std::uint64_t lost() const { return std::atomic_ref(skeleton_->bss->lost).load(); }

 private:
  struct Destroy {
    void operator()(bare_ring_loop_bpf* skeleton) const { bare_ring_loop_bpf::destroy(skeleton); }
  };
  std::unique_ptr<bare_ring_loop_bpf, Destroy> skeleton_;
};

// The program on an interface's hook, from construction to destruction. The interface must have no clsact before.
class Attachment {
 public:
  Attachment(int program, int interface_index, bpf_tc_attach_point point)
      : hook_{.sz = sizeof hook_, .ifindex = interface_index, .attach_point = point} {
    check("add clsact", bpf_tc_hook_create(&hook_));
    bpf_tc_opts options{.sz = sizeof options, .prog_fd = program};
    const int result = bpf_tc_attach(&hook_, &options);
    if (result < 0) remove();
    check("attach the program", result);
  }
  ~Attachment() { remove(); }
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

 private:
  static void check(const char* attempt, int result) {
    if (result < 0) throw std::system_error(-result, std::system_category(), attempt);
  }
  void remove() {
    hook_.attach_point = static_cast<bpf_tc_attach_point>(BPF_TC_INGRESS | BPF_TC_EGRESS);
    bpf_tc_hook_destroy(&hook_);
  }

  bpf_tc_hook hook_;
};

class Mapping {
 public:
  Mapping(int descriptor, std::size_t bytes, int protection, std::size_t offset)
      : bytes_(bytes),
        start_(mmap(nullptr, bytes, protection, MAP_SHARED, descriptor, static_cast<off_t>(offset))) {
    if (start_ == MAP_FAILED) throw std::system_error(errno, std::system_category(), "map the ring");
  }
  ~Mapping() { munmap(start_, bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::uint8_t* start() const { return static_cast<std::uint8_t*>(start_); }

 private:
  std::size_t bytes_;
  void* start_;
};

// The ring buffer's reader. The kernel wakes whoever polls when a record is submitted where the consumer's position is. So
// that position is left at the last record that was read while this thread is awake, and set behind it before a sleep.
class RingReader {
 public:
  explicit RingReader(int map)
      : map_(map),
        consumer_(map, kPageBytes, PROT_READ | PROT_WRITE, 0),
        producer_(map, kPageBytes + 2 * kRingBytes, PROT_READ, kPageBytes) {}  // the data twice in a row

  // Up to as many records as there is room for. They stay valid until give_back().
  std::size_t read(std::span<const bare_ring_record*> records) {
    const std::uint64_t end = produced();
    std::size_t count = 0;
    while (count < records.size() && next_ < end) {
      const std::uint32_t header = header_at(next_);
      if (header & BPF_RINGBUF_BUSY_BIT) break;
      if (!(header & BPF_RINGBUF_DISCARD_BIT))
        records[count++] = reinterpret_cast<const bare_ring_record*>(data(next_) + BPF_RINGBUF_HDR_SZ);
      last_ = next_;
      next_ += (record_bytes(header) + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
    }
    return count;
  }

  void give_back() { consumed().store(last_, std::memory_order_release); }

  // Until there is something to read, or a signal or the longest sleep has ended it.
  void sleep() {
    consumed().store(next_, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (produced() != next_) return;
    pollfd polled{.fd = map_, .events = POLLIN};
    poll(&polled, 1, kLongestSleep);
  }

 private:
  static std::uint32_t record_bytes(std::uint32_t header) {
    return header & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
  }
  std::atomic_ref<std::uint64_t> consumed() const {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(consumer_.start()));
  }
  std::uint64_t produced() const {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(producer_.start()))
        .load(std::memory_order_acquire);
  }
  std::uint8_t* data(std::uint64_t position) const {
    return producer_.start() + kPageBytes + position % kRingBytes;
  }
  std::uint32_t header_at(std::uint64_t position) const {
    return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(data(position))).load(std::memory_order_acquire);
  }

  int map_;
  Mapping consumer_;
  Mapping producer_;
  std::uint64_t next_ = 0;  // positions only grow
  std::uint64_t last_ = 0;
};

// Of a packet in a frame: where its TCP or UDP header is, and what its checksum holds as long as it is unfinished.
struct Transport {
  static constexpr std::uint8_t kTcp4 = VirtioHeader::kGsoTcp4;
  static constexpr std::uint8_t kTcp6 = 4;  // GSO types
  static constexpr std::uint8_t kUdp = 5;

  std::size_t start = 0;
  std::uint16_t checksum_offset = 0;
  std::uint16_t pseudo_sum = 0;
  std::uint8_t gso_type = VirtioHeader::kNoGso;
  std::size_t header_length = 0;
};

std::uint32_t get16(const std::uint8_t* at) {
  return static_cast<std::uint32_t>(at[0] << 8 | at[1]);
}

std::uint16_t folded_sum(const std::uint8_t* addresses, std::size_t bytes, std::uint8_t protocol,
                         std::size_t length) {
  auto sum = static_cast<std::uint32_t>(protocol + (length >> 16) + (length & 0xffff));
  for (std::size_t i = 0; i < bytes; i += 2) sum += get16(addresses + i);
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

// False for fragments, for what is behind IPv6 extension headers, and for all else but TCP and UDP.
bool find_transport(std::span<const std::uint8_t> frame, Transport& found) {
  if (frame.size() < ETH_HLEN + 40) return false;
  const std::uint8_t* ip = &frame[ETH_HLEN];
  const bool is_ipv4 = ip[0] >> 4 == 4;
  if (is_ipv4 && (get16(ip + 6) & 0x3fff) != 0) return false;
  const std::uint8_t protocol = is_ipv4 ? ip[9] : ip[6];
  if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP) return false;
  const bool is_tcp = protocol == IPPROTO_TCP;
  found.start = ETH_HLEN + (is_ipv4 ? (ip[0] & 0xfU) * 4 : 40U);
  if (found.start + (is_tcp ? 20 : 8) > frame.size()) return false;
  found.checksum_offset = is_tcp ? 16 : 6;
  const std::size_t length = is_ipv4 ? get16(ip + 2) - (found.start - ETH_HLEN) : get16(ip + 4);
  found.pseudo_sum =
      is_ipv4 ? folded_sum(ip + 12, 8, protocol, length) : folded_sum(ip + 8, 32, protocol, length);
  found.gso_type = !is_tcp ? Transport::kUdp : is_ipv4 ? Transport::kTcp4 : Transport::kTcp6;
  found.header_length = found.start + (is_tcp ? (frame[found.start + 12] >> 4U) * 4U : 8U);
  return true;
}

// What the kernel still has to do for a packet: its checksum, where that is unfinished, and segmentation.
VirtioHeader virtio_header(std::span<const std::uint8_t> frame, std::uint32_t gso_size) {
  Transport transport;
  if (!find_transport(frame, transport)) return {};
  const bool unfinished = get16(&frame[transport.start + transport.checksum_offset]) == transport.pseudo_sum;
  if (!unfinished && gso_size == 0) return {};
  VirtioHeader header{.flags = VirtioHeader::kNeedsChecksum,
                      .checksum_start = static_cast<std::uint16_t>(transport.start),
                      .checksum_offset = transport.checksum_offset};
  if (gso_size == 0) return header;
  header.gso_type = transport.gso_type;
  header.header_length = static_cast<std::uint16_t>(transport.header_length);
  header.gso_size = static_cast<std::uint16_t>(gso_size);
  return header;
}

FileDescriptor open_socket(int interface_index) {
  FileDescriptor descriptor(
      check_system_call("open a packet socket", socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)));
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = interface_index;
  check_system_call("bind the packet socket",
                    bind(descriptor.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
  const auto set = [&descriptor](int level, int name, int value) {
    check_system_call("set up the packet socket",
                      setsockopt(descriptor.get(), level, name, &value, sizeof value));
  };
  set(SOL_SOCKET, SO_MARK, kMark);
  set(SOL_SOCKET, SO_SNDBUFFORCE, kSendBuffer);
  set(SOL_PACKET, PACKET_VNET_HDR, 1);
  return descriptor;
}

// Sends batches of records from where they are.
class Sender {
 public:
  explicit Sender(int interface_index) : socket_(open_socket(interface_index)) {}

  void send(std::span<const bare_ring_record* const> records) {
    for (std::size_t i = 0; i < records.size(); ++i) describe(i, *records[i]);
    for (std::size_t done = 0; done < records.size();) {
      const int result = sendmmsg(socket_.get(), &messages_[done],
                                  static_cast<unsigned>(records.size() - done), MSG_DONTWAIT);
      if (result > 0) {
        done += static_cast<unsigned>(result);
      } else if (errno != EINTR) {
        ++refused_;  // and not tried again
        ++done;
      }
    }
  }

  std::uint64_t refused() const { return refused_; }

 private:
  void describe(std::size_t i, const bare_ring_record& record) {
    const auto* frame = reinterpret_cast<const std::uint8_t*>(&record + 1);
    headers_[i] = virtio_header({frame, record.length}, record.gso_size);
    parts_[i] = {iovec{.iov_base = &headers_[i], .iov_len = sizeof headers_[i]},
                 iovec{.iov_base = const_cast<std::uint8_t*>(frame), .iov_len = record.length}};
    messages_[i].msg_hdr = {.msg_iov = parts_[i].data(), .msg_iovlen = parts_[i].size()};
  }

  FileDescriptor socket_;
  std::array<VirtioHeader, kBatch> headers_{};
  std::array<std::array<iovec, 2>, kBatch> parts_{};
  std::array<mmsghdr, kBatch> messages_{};
  std::uint64_t refused_ = 0;
};

void forward(RingReader& ring, Sender& sender) {
  std::array<const bare_ring_record*, kBatch> records;
  bool busy = false;
  while (!g_stop) {
    const std::size_t count = ring.read(records);
    if (count > 0) {
      busy = count >= kBusyBatch;
      sender.send(std::span(records).first(count));
      ring.give_back();
    } else if (busy) {
      busy = false;
      std::this_thread::sleep_for(kNap);
    } else {
      ring.sleep();
    }
  }
}

void run(const Options& options) {
  if (options.fifo) lock_memory();
  set_timer_slack();
  if (options.fifo) set_real_time_priority();
  const bool inline_wire = !options.forward_to.empty();
  const Program program;
  RingReader ring(program.ring());
  Sender sender(index_of(inline_wire ? options.forward_to : options.interface));
  const Attachment attachment(program.take_out(), index_of(options.interface),
                              inline_wire ? BPF_TC_INGRESS : BPF_TC_EGRESS);
  std::fprintf(stderr, "forwarding\n");
  forward(ring, sender);
  std::printf("{\"lost\":%ju,\"refused\":%ju}\n", std::uintmax_t{program.lost()},
              std::uintmax_t{sender.refused()});
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse_options(argc, argv);
    struct sigaction action {};
    action.sa_handler = [](int) { g_stop = 1; };
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    run(options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bare_ring_loop: %s\n%s", error.what(), kUsage);
    return 1;
  }
}
