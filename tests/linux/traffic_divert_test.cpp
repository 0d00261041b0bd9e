#include "linux/traffic_divert.hpp"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>

#include "administrator.skel.h"
#include "linux/bpf_attachment.hpp"
#include "linux/divert_program.hpp"
#include "linux/forwarder.hpp"
#include "linux/netlink.hpp"
#include "linux/network_lab.hpp"
#include "linux/packet_ring.hpp"
#include "linux/timer_waiter.hpp"
#include "support/packet_builder.hpp"

namespace headgate::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Duration kSoon = seconds(5);              // patience for what must happen
constexpr Duration kTripAfter = milliseconds(500);  // what the dead-man switch promises

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

DivertOptions options_for(DivertMethod method, const std::string& interface = "eth0") {
  return {.interface = interface, .method = method, .mark = Forwarder::kMark};
}

class TrafficDivertTest : public NetworkLabTest, public testing::WithParamInterface<DivertMethod> {
 protected:
  void SetUp() override {
    NetworkLabTest::SetUp();
    if (IsSkipped() || GetParam() != DivertMethod::tcx) return;
    const DivertProgram program(1, 1);
    if (BpfAttachment::kernel_has_tcx(program.divert())) return;
    std::cout << "not applicable: this kernel has no TCX\n";
    applicable_ = false;
  }

  bool applicable() const { return applicable_; }
  DivertOptions options() const { return options_for(GetParam()); }

 private:
  bool applicable_ = true;
};

#define RETURN_UNLESS_APPLICABLE() \
  if (!applicable()) return

INSTANTIATE_TEST_SUITE_P(Divert, TrafficDivertTest, testing::Values(DivertMethod::tcx, DivertMethod::clsact),
                         [](const auto& method) {
                           return method.param == DivertMethod::tcx ? "Tcx" : "Clsact";
                         });

// Frames in the capture ring of a divert that nobody else reads.
class Capture {
 public:
  explicit Capture(TrafficDivert& divert)
      : divert_(divert), ring_({.interface_index = divert.capture_index(), .mtu = divert.mtu()}) {}

  // The next frame; its tag is in tpid and tci. The multicast reports that the host sends when it pleases are
  // passed over.
  std::optional<Frame> receive(Duration patience) {
    constexpr std::array kReports{std::byte{0x33}, std::byte{0x33}, std::byte{0},
                                  std::byte{0},    std::byte{0},    std::byte{0x16}};
    for (;;) {
      CapturedFrame captured;
      if (ring_.empty()) ring_.wait(patience);
      if (ring_.receive({&captured, 1}) == 0) return std::nullopt;
      divert_.reset();
      tpid = captured.vlan_tpid;
      tci = captured.vlan_tci;
      Frame frame(captured.frame.begin(), captured.frame.end());
      ring_.give_back({&captured.slot, 1});
      if (!std::equal(kReports.begin(), kReports.end(), frame.begin())) return frame;
    }
  }

  std::uint16_t tpid = 0;  // of the frame received last
  std::uint16_t tci = 0;

 private:
  TrafficDivert& divert_;
  PacketRing ring_;
};

struct PacketStart {
  std::uint16_t protocol = 0;  // EtherType
  std::size_t next_at = 0;     // place of the next protocol in the IP header
  std::uint8_t next = 0;
};

bool starts_packet(std::span<const std::byte> frame, const PacketStart& start) {
  const std::size_t next = 14 + start.next_at;
  return frame.size() > next && frame[12] == std::byte(start.protocol >> 8) &&
         frame[13] == std::byte(start.protocol & 0xff) && frame[next] == std::byte{start.next};
}

Frame udp_frame(const std::string& payload_address = kFar4, std::uint16_t port = 9) {
  return PacketBuilder().ipv4(kNear4, payload_address).udp(4000, port).payload(32).build();
}

// --- the way of a packet ---------------------------------------------------------------------------------

TEST_P(TrafficDivertTest, PingPassesThroughRingAndTransmitterOnce) {
  RETURN_UNLESS_APPLICABLE();
  std::atomic<int> echo_requests{0};
  std::atomic<int> echo_requests6{0};
  TrafficDivert divert(options());
  const Forwarder forwarder(divert, [&](const CapturedFrame& captured) {
    if (starts_packet(captured.frame, {.protocol = ETH_P_IP, .next_at = 9, .next = IPPROTO_ICMP}))
      ++echo_requests;
    if (starts_packet(captured.frame, {.protocol = ETH_P_IPV6, .next_at = 6, .next = IPPROTO_ICMPV6}))
      ++echo_requests6;
  });
  divert.attach();
  lab().run(std::string("ping -q -c 3 -i 0.05 -W 5 ") + kFar4 + " > /dev/null");
  lab().run(std::string("ping -q -c 3 -i 0.05 -W 5 ") + kFar6 + " > /dev/null");
  EXPECT_EQ(echo_requests, 3);
  EXPECT_EQ(echo_requests6, 3);
  EXPECT_EQ(forwarder.refused(), 0u);
  EXPECT_EQ(divert.passed_unshaped(), 0u);
  EXPECT_EQ(divert.method(), GetParam());
}

TEST_P(TrafficDivertTest, NothingIsDivertedBeforeAttachAndAfterDetach) {
  RETURN_UNLESS_APPLICABLE();
  UdpProbe probe(lab());
  TrafficDivert divert(options());
  Capture capture(divert);
  probe.send("before");
  EXPECT_EQ(probe.receive(kSoon), "before");
  divert.attach();
  EXPECT_TRUE(divert.attached());
  probe.send("diverted");
  EXPECT_TRUE(capture.receive(kSoon));
  divert.detach();
  EXPECT_FALSE(divert.attached());
  probe.send("after");
  EXPECT_EQ(probe.receive(kSoon), "after");
  EXPECT_FALSE(capture.receive(Duration::zero()));
  divert.attach();
  probe.send("diverted again");
  EXPECT_TRUE(capture.receive(kSoon));
}

TEST_P(TrafficDivertTest, TheStackOfTheCaptureDeviceNeverSeesAPacket) {
  RETURN_UNLESS_APPLICABLE();
  // Also addressed to the capture device and answerable by this host: nobody may answer.
  TrafficDivert divert(options());
  Capture capture(divert);
  divert.attach();
  const auto link = *Netlink().find_link(divert.capture_index());
  RawPort port("eth0");
  port.send(PacketBuilder()
                .macs({2, 0, 0, 0, 0, 1}, link.address)
                .ipv4(kFar4, kNear4)
                .udp(4000, 1)
                .payload(32)
                .build());
  EXPECT_TRUE(capture.receive(kSoon));
  EXPECT_FALSE(RawPort(divert.device_name()).receive(milliseconds(100)));
}

TEST_P(TrafficDivertTest, ADeviceThatWasJustMadeIsSilent) {
  RETURN_UNLESS_APPLICABLE();
  TrafficDivert divert(options());
  Capture capture(divert);
  EXPECT_FALSE(capture.receive(milliseconds(1500)));  // router solicitations would come within a second
}

TEST_P(TrafficDivertTest, OwnPacketsPassUnmarkedAndTheAdministratorsProgramsSeeEachPacketOnce) {
  RETURN_UNLESS_APPLICABLE();
  administrator_bpf* administrator = administrator_bpf::open_and_load();
  ASSERT_NE(administrator, nullptr);
  const int program = bpf_program__fd(administrator->progs.count);
  Netlink netlink;
  UdpProbe probe(lab());
  probe.send("resolves the address");
  ASSERT_TRUE(probe.receive(kSoon));
  const BpfAttachment foreign(netlink, GetParam(), interface_index("eth0"), TrafficHook::egress,
                              "administrator", program);
  {
    TrafficDivert divert(options());
    const Forwarder forwarder(divert);
    divert.attach();
    const auto before = administrator->bss->packets;
    for (int i = 0; i < 10; ++i) probe.send(std::to_string(i));
    for (int i = 0; i < 10; ++i) EXPECT_EQ(probe.receive(kSoon), std::to_string(i));
    EXPECT_GE(forwarder.captured(), 10u);
    EXPECT_EQ(administrator->bss->packets - before, 10u);
    EXPECT_EQ(administrator->bss->marked_packets, 0u);
  }
  administrator_bpf::destroy(administrator);
}

// --- what is never touched -------------------------------------------------------------------------------

Frame icmpv6_frame(std::uint8_t type, bool hop_by_hop) {
  PacketBuilder builder;
  builder.ipv6(kNear6, kFar6);
  if (hop_by_hop) builder.hop_by_hop_options();
  return builder.icmpv6(type).payload(24).build();
}

std::map<std::string, Frame> control_frames() {
  std::map<std::string, Frame> frames;
  for (const int type : {133, 134, 135, 136, 137}) {
    frames["ICMPv6 " + std::to_string(type)] = icmpv6_frame(static_cast<std::uint8_t>(type), false);
    frames["ICMPv6 behind options " + std::to_string(type)] =
        icmpv6_frame(static_cast<std::uint8_t>(type), true);
  }
  for (const std::uint16_t port : {67, 68})
    frames["DHCP " + std::to_string(port)] =
        PacketBuilder().ipv4("0.0.0.0", "255.255.255.255").udp(68, port).payload(64).build();
  for (const std::uint16_t port : {546, 547})
    frames["DHCPv6 " + std::to_string(port)] =
        PacketBuilder().ipv6(kNear6, kFar6).udp(546, port).payload(64).build();
  frames["DHCP in a VLAN"] =
      PacketBuilder().vlan(5).ipv4("0.0.0.0", "255.255.255.255").udp(68, 67).payload(64).build();
  return frames;
}

std::map<std::string, Frame> frames_without_ip() {
  return {{"ARP", PacketBuilder().arp(kNear4, "10.77.0.9").build()},
          {"LLDP", PacketBuilder().ether_type(0x88cc).payload(46).build()},
          {"ARP in a VLAN", PacketBuilder().vlan(5).arp(kNear4, "10.77.0.9").build()}};
}

TEST_P(TrafficDivertTest, ControlTrafficAndWhatIsNoIpIsNotDiverted) {
  RETURN_UNLESS_APPLICABLE();
  TrafficDivert divert(options());
  Capture capture(divert);
  divert.attach();
  RawPort near("eth0");
  std::optional<RawPort> far;
  lab().on_far_host([&] { far.emplace("far0"); });
  auto frames = control_frames();
  frames.merge(frames_without_ip());
  for (const auto& [name, frame] : frames) {
    near.send(frame);
    const auto& sent = frame;
    EXPECT_TRUE(far->receive_first([&](const Frame& arrived) { return arrived == sent; })) << name;
  }
  // What was sent before this one would have been captured before it.
  near.send(udp_frame());
  EXPECT_EQ(capture.receive(kSoon), udp_frame());
}

TEST_P(TrafficDivertTest, ControlTrafficIsDivertedWhereAClassTakesIt) {
  RETURN_UNLESS_APPLICABLE();
  DivertOptions with_control = options();
  with_control.divert_control = true;
  TrafficDivert divert(with_control);
  Capture capture(divert);
  divert.attach();
  RawPort near("eth0");
  for (const auto& [name, frame] : frames_without_ip()) near.send(frame);
  for (const auto& [name, frame] : control_frames()) {
    near.send(frame);
    const auto captured = capture.receive(kSoon);
    ASSERT_TRUE(captured) << name;
    EXPECT_EQ(captured->size() + (capture.tpid != 0 ? 4 : 0), frame.size()) << name;
  }
  divert.set_divert_control(false);
  near.send(control_frames().begin()->second);
  near.send(udp_frame());
  EXPECT_EQ(capture.receive(kSoon), udp_frame());
}

TEST_P(TrafficDivertTest, WhatOnlyResemblesControlTrafficIsDiverted) {
  RETURN_UNLESS_APPLICABLE();
  TrafficDivert divert(options());
  Capture capture(divert);
  divert.attach();
  RawPort near("eth0");
  const std::map<std::string, Frame> frames = {
      {"ICMPv6 echo", icmpv6_frame(128, false)},
      {"multicast listener report", icmpv6_frame(143, true)},
      {"TCP to the port of DHCP", PacketBuilder().ipv4(kNear4, kFar4).tcp(4000, 67).payload(32).build()},
      {"from the port of DHCP", PacketBuilder().ipv4(kNear4, kFar4).udp(67, 4000).payload(32).build()},
      {"ICMP echo of IPv4", PacketBuilder().ipv4(kNear4, kFar4).icmp_echo().payload(32).build()},
  };
  for (const auto& [name, frame] : frames) {
    near.send(frame);
    EXPECT_EQ(capture.receive(kSoon), frame) << name;
  }
}

// --- what arrives in the ring ----------------------------------------------------------------------------

std::uint16_t internet_checksum(std::span<const std::byte> bytes, std::uint32_t sum) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    sum += std::to_integer<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

// Of TCP over IPv4 without options; 0 where it is right.
std::uint16_t tcp_checksum_error(std::span<const std::byte> frame) {
  const auto addresses = frame.subspan(14 + 12, 8);
  const auto segment = frame.subspan(14 + 20);
  const std::uint16_t addresses_sum =
      internet_checksum(addresses, IPPROTO_TCP + static_cast<std::uint32_t>(segment.size()));
  return internet_checksum(segment, static_cast<std::uint16_t>(~addresses_sum));
}

// Sends over TCP from near to far and returns what arrived.
std::string transfer_by_tcp(const NetworkLab& lab, const std::string& data) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(7001);
  inet_pton(AF_INET, kFar4, &address.sin_addr);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  FileDescriptor listener;
  lab.on_far_host([&] {
    listener = FileDescriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (bind(listener.get(), generic, sizeof address) < 0 || listen(listener.get(), 1) < 0)
      throw std::runtime_error("cannot listen");
  });
  auto arrived = std::async(std::launch::async, [&listener] {
    const FileDescriptor connection(accept(listener.get(), nullptr, nullptr));
    std::string received;
    std::array<char, 65'536> buffer{};
    for (ssize_t count; (count = read(connection.get(), buffer.data(), buffer.size())) > 0;)
      received.append(buffer.data(), static_cast<std::size_t>(count));
    return received;
  });
  FileDescriptor near(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(near.get(), generic, sizeof address) < 0) throw std::runtime_error("cannot connect");
  for (std::size_t sent = 0; sent < data.size();) {
    const auto count = write(near.get(), data.data() + sent, data.size() - sent);
    if (count <= 0) throw std::runtime_error("cannot write");
    sent += static_cast<std::size_t>(count);
  }
  near.close();
  return arrived.get();
}

TEST_P(TrafficDivertTest, TcpSuperPacketsArriveAsWireSizedFramesWithCompleteChecksums) {
  RETURN_UNLESS_APPLICABLE();
  std::size_t longest = 0;
  std::uint64_t frames = 0;
  std::uint64_t wrong_checksums = 0;
  std::uint64_t clipped = 0;
  std::string data(8 * 1024 * 1024, '\0');
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 2'654'435'761u >> 24);
  {
    TrafficDivert divert(options());
    const Forwarder forwarder(divert, [&](const CapturedFrame& captured) {
      longest = std::max(longest, captured.frame.size());
      if (captured.frame.size() < captured.wire_length) ++clipped;
      const bool tcp =
          starts_packet(captured.frame, {.protocol = ETH_P_IP, .next_at = 9, .next = IPPROTO_TCP});
      if (tcp) ++frames;
      if (tcp && tcp_checksum_error(captured.frame) != 0) ++wrong_checksums;
    });
    divert.attach();
    EXPECT_TRUE(transfer_by_tcp(lab(), data) == data);
    EXPECT_EQ(divert.passed_unshaped(), 0u);
  }
  EXPECT_EQ(longest, 1514u);
  EXPECT_GE(frames, data.size() / 1448);
  EXPECT_EQ(wrong_checksums, 0u);
  EXPECT_EQ(clipped, 0u);
}

TEST_P(TrafficDivertTest, VlanTagsSurvive) {
  RETURN_UNLESS_APPLICABLE();
  TrafficDivert divert(options());
  Capture capture(divert);
  divert.attach();
  RawPort near("eth0");
  near.send(PacketBuilder().vlan(0x6005).ipv4(kNear4, kFar4).udp(4000, 9).payload(32).build());
  EXPECT_EQ(capture.receive(kSoon), udp_frame());
  EXPECT_EQ(capture.tpid, ETH_P_8021Q);
  EXPECT_EQ(capture.tci, 0x6005);

  near.send(
      PacketBuilder().vlan(7, ETH_P_8021AD).vlan(9).ipv4(kNear4, kFar4).udp(4000, 9).payload(32).build());
  EXPECT_EQ(capture.receive(kSoon),
            PacketBuilder().vlan(9).ipv4(kNear4, kFar4).udp(4000, 9).payload(32).build());
  EXPECT_EQ(capture.tpid, ETH_P_8021AD);
  EXPECT_EQ(capture.tci, 7);

  near.send(udp_frame());
  EXPECT_EQ(capture.receive(kSoon), udp_frame());
  EXPECT_EQ(capture.tpid, 0);
}

TEST_P(TrafficDivertTest, PacketsLostBeforeTheRingAreCounted) {
  RETURN_UNLESS_APPLICABLE();
  TrafficDivert divert(options());
  Capture capture(divert);
  divert.attach();
  EXPECT_EQ(divert.lost_device(), 0u);
  lab().run("ip link set " + divert.capture_name() + " mtu 100");
  RawPort near("eth0");
  for (int i = 0; i < 3; ++i)
    near.send(PacketBuilder().ipv4(kNear4, kFar4).udp(4000, 9).payload(1000).build());
  near.send(udp_frame());
  EXPECT_EQ(capture.receive(kSoon), udp_frame());
  EXPECT_EQ(divert.lost_device(), 3u);
}

// --- the dead-man switch ---------------------------------------------------------------------------------

// Sends until the far host gets a packet.
void send_until_one_passes(UdpProbe& probe) {
  const auto end = std::chrono::steady_clock::now() + kSoon;
  do {
    probe.send("x");
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "no packet passes";
  } while (!probe.receive(milliseconds(10)));
}

TEST_P(TrafficDivertTest, WhenNobodyReadsThePacketsPassUnshapedUntilSomebodyReadsAgain) {
  RETURN_UNLESS_APPLICABLE();
  MonotonicClock clock;
  UdpProbe probe(lab());
  TrafficDivert divert(options());
  Capture capture(divert);
  divert.attach();
  probe.send("unread");
  EXPECT_GT(divert.unread_for(clock.now()), Duration::zero());
  send_until_one_passes(probe);
  EXPECT_GT(divert.unread_for(clock.now()), kTripAfter);
  EXPECT_GE(divert.passed_unshaped(), 1u);

  while (capture.receive(Duration::zero())) continue;
  EXPECT_LT(divert.unread_for(clock.now()), kTripAfter);
  probe.send("diverted again");
  EXPECT_TRUE(capture.receive(kSoon));
  EXPECT_FALSE(probe.receive(Duration::zero()));
}

TEST_P(TrafficDivertTest, AReaderWithoutTrafficDoesNotTripTheSwitch) {
  RETURN_UNLESS_APPLICABLE();
  UdpProbe probe(lab());
  TrafficDivert divert(options());
  Capture capture(divert);
  divert.attach();
  probe.send("first");
  ASSERT_TRUE(capture.receive(kSoon));
  EXPECT_FALSE(capture.receive(kTripAfter + milliseconds(100)));
  probe.send("second");
  EXPECT_TRUE(capture.receive(kSoon));
  EXPECT_EQ(divert.passed_unshaped(), 0u);
}

TEST_P(TrafficDivertTest, ADivertDeviceThatIsGoneOpensTheHostByTheSwitch) {
  RETURN_UNLESS_APPLICABLE();
  UdpProbe probe(lab());
  TrafficDivert divert(options());
  divert.attach();
  Netlink().delete_link(divert.device_index());
  send_until_one_passes(probe);
}

// --- death, leftovers and other daemons ------------------------------------------------------------------

// Runs `work` in a child process and kills it with SIGKILL at the end of the scope. Construction returns when
// `work` has returned in the child.
class Victim {
 public:
  explicit Victim(const std::function<void()>& work) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) < 0) throw std::runtime_error("pipe");
    process_ = fork();
    if (process_ == 0) {
      close(ends[0]);
      try {
        work();
        [[maybe_unused]] const auto written = write(ends[1], "r", 1);
        pause();
      } catch (const std::exception& error) {
        std::fprintf(stderr, "in the child: %s\n", error.what());
      }
      _exit(1);
    }
    close(ends[1]);
    char ready = 0;
    const bool works = read(ends[0], &ready, 1) == 1;
    close(ends[0]);
    if (!works) throw std::runtime_error("the child failed");
  }
  ~Victim() { kill_now(); }

  void kill_now() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }

  pid_t process() const { return process_; }

 private:
  pid_t process_ = 0;
};

std::function<void()> divert_and_hold(const DivertOptions& options) {
  return [options] { (new TrafficDivert(options))->attach(); };
}

std::vector<std::string> names_of_links(Netlink& netlink) {
  std::vector<std::string> names;
  for (const Link& link : netlink.links()) names.push_back(link.name);
  return names;
}

TEST_P(TrafficDivertTest, AKilledDaemonFreesTheHostAndItsLeftoversAreSwept) {
  RETURN_UNLESS_APPLICABLE();
  UdpProbe probe(lab());
  Netlink netlink;
  Victim daemon(divert_and_hold(options()));
  probe.send("vanishes");
  EXPECT_FALSE(probe.receive(milliseconds(20)));
  daemon.kill_now();
  send_until_one_passes(probe);
  EXPECT_THAT(names_of_links(netlink), Contains("hg0"));

  const std::vector<std::string> done = TrafficDivert::sweep();
  EXPECT_THAT(done, Contains("removed divert device hg0 (headgate egress of eth0)"));
  EXPECT_EQ(done.size(), GetParam() == DivertMethod::tcx ? 1u : 2u);
  EXPECT_THAT(names_of_links(netlink), testing::UnorderedElementsAre("lo", "eth0"));
  EXPECT_FALSE(netlink.has_clsact(interface_index("eth0")));
  EXPECT_THAT(TrafficDivert::sweep(), IsEmpty());
}

TEST_P(TrafficDivertTest, AStartSweepsTheLeftoversOfItsOwnInterface) {
  RETURN_UNLESS_APPLICABLE();
  Netlink netlink;
  for (int round = 0; round < 3; ++round) {
    Victim daemon(divert_and_hold(options()));
    daemon.kill_now();
  }
  {
    TrafficDivert divert(options());
    EXPECT_EQ(divert.device_name(), "hg0");
    EXPECT_EQ(divert.swept().size(), GetParam() == DivertMethod::tcx ? 1u : 2u);
    divert.attach();
    UdpProbe probe(lab());
    Capture capture(divert);
    probe.send("diverted");
    EXPECT_TRUE(capture.receive(kSoon));
  }
  EXPECT_THAT(names_of_links(netlink), testing::UnorderedElementsAre("lo", "eth0"));
  EXPECT_FALSE(netlink.has_clsact(interface_index("eth0")));
}

TEST_P(TrafficDivertTest, AnInterfaceIsShapedByOneProcessOnly) {
  RETURN_UNLESS_APPLICABLE();
  const Victim daemon(divert_and_hold(options()));
  EXPECT_EQ(message_of([this] { TrafficDivert second(options()); }),
            "eth0 egress is already shaped by process " + std::to_string(daemon.process()));
  EXPECT_THAT(names_of_links(*std::make_unique<Netlink>()),
              testing::UnorderedElementsAre("lo", "eth0", "hg0", "hg0p"));
}

TEST_P(TrafficDivertTest, SweepRefusesBesideALiveDaemon) {
  RETURN_UNLESS_APPLICABLE();
  Victim daemon(divert_and_hold(options()));
  Netlink netlink;
  EXPECT_THAT(message_of([] { TrafficDivert::sweep(); }),
              HasSubstr("eth0 egress is being shaped by process " + std::to_string(daemon.process())));
  // Its interface is gone, but the daemon is not.
  lab().run("ip link del eth0");
  EXPECT_THAT(message_of([] { TrafficDivert::sweep(); }), HasSubstr("hg0"));
  EXPECT_THAT(names_of_links(netlink), Contains("hg0p"));
  daemon.kill_now();
  EXPECT_THAT(TrafficDivert::sweep(), ElementsAre("removed divert device hg0 (headgate egress of eth0)"));
}

TEST_P(TrafficDivertTest, TwoInterfacesAreShapedSideBySide) {
  RETURN_UNLESS_APPLICABLE();
  lab().run("ip link add eth1 type veth peer name eth2 && ip link set eth1 up");
  TrafficDivert first(options());
  TrafficDivert second(options_for(GetParam(), "eth1"));
  EXPECT_EQ(first.device_name(), "hg0");
  EXPECT_EQ(second.device_name(), "hg1");
  EXPECT_EQ(second.capture_name(), "hg1p");
  const auto link = *Netlink().find_link("hg1p");
  EXPECT_EQ(link.alias, "headgate egress of eth1");
}

TEST_P(TrafficDivertTest, ANameThatIsTakenIsPassedOver) {
  RETURN_UNLESS_APPLICABLE();
  lab().run("ip link add hg0p type veth peer name other");
  {
    TrafficDivert divert(options());
    EXPECT_EQ(divert.device_name(), "hg1");
  }
  EXPECT_THAT(TrafficDivert::sweep(), IsEmpty());  // the name alone does not make it ours
  EXPECT_THAT(names_of_links(*std::make_unique<Netlink>()), Contains("hg0p"));
}

TEST_P(TrafficDivertTest, NothingIsLeftWhenConstructionFails) {
  RETURN_UNLESS_APPLICABLE();
  lab().run("tc qdisc add dev eth0 ingress");
  TrafficDivert divert(options());
  if (GetParam() == DivertMethod::tcx) {
    divert.attach();
    EXPECT_TRUE(divert.attached());
  } else {
    EXPECT_THAT(message_of([&] { divert.attach(); }), HasSubstr("taken by one of kind ingress"));
    EXPECT_FALSE(divert.attached());
  }
}

TEST_P(TrafficDivertTest, AttachRefusesADeviceThatIsDown) {
  RETURN_UNLESS_APPLICABLE();
  TrafficDivert divert(options());
  lab().run("ip link set hg0 down");
  EXPECT_EQ(message_of([&] { divert.attach(); }), "divert device hg0 is down");
  lab().run("ip link del hg0");
  EXPECT_EQ(message_of([&] { divert.attach(); }), "divert device hg0 is gone");
}

// --- the administrator's own clsact ----------------------------------------------------------------------

class ClsactDivertTest : public NetworkLabTest {
 protected:
  void SetUp() override {
    NetworkLabTest::SetUp();
    if (!IsSkipped()) netlink_.emplace();
  }

  std::vector<std::string> egress_filters() {
    std::vector<std::string> names;
    for (const Filter& filter :
         netlink_->filters(interface_index("eth0"), clsact_parent(TrafficHook::egress)))
      names.push_back(filter.kind + " " + filter.name);
    return names;
  }
  bool has_clsact() { return netlink_->has_clsact(interface_index("eth0")); }

 private:
  std::optional<Netlink> netlink_;
};

constexpr char kAddFilter[] = "tc filter add dev eth0 egress protocol ip prio 1 u32 match u8 0 0";

TEST_F(ClsactDivertTest, AQdiscAndFiltersOfTheAdministratorStay) {
  lab().run("tc qdisc add dev eth0 clsact");
  lab().run(kAddFilter);
  {
    TrafficDivert divert(options_for(DivertMethod::clsact));
    divert.attach();
    EXPECT_THAT(egress_filters(), testing::AllOf(Contains("u32 "), Contains("bpf headgate-egress")));
  }
  EXPECT_THAT(egress_filters(), Contains("u32 "));
  EXPECT_TRUE(has_clsact());
}

TEST_F(ClsactDivertTest, AnEmptyQdiscOfTheAdministratorStays) {
  lab().run("tc qdisc add dev eth0 clsact");
  {
    TrafficDivert divert(options_for(DivertMethod::clsact));
    divert.attach();
  }
  EXPECT_TRUE(has_clsact());
}

TEST_F(ClsactDivertTest, AQdiscOfOursStaysWhileTheAdministratorHasAFilterThere) {
  {
    TrafficDivert divert(options_for(DivertMethod::clsact));
    divert.attach();
    lab().run("tc filter add dev eth0 ingress protocol ip prio 7 u32 match u8 0 0");
  }
  EXPECT_TRUE(has_clsact());
  EXPECT_THAT(egress_filters(), IsEmpty());
}

TEST_F(ClsactDivertTest, SweepLeavesForeignFilters) {
  lab().run("tc qdisc add dev eth0 clsact");
  lab().run(kAddFilter);
  Victim daemon(divert_and_hold(options_for(DivertMethod::clsact)));
  daemon.kill_now();
  EXPECT_THAT(TrafficDivert::sweep(), ElementsAre("removed filter headgate-egress from eth0",
                                                  "removed divert device hg0 (headgate egress of eth0)"));
  EXPECT_THAT(egress_filters(), Contains("u32 "));
}

// --- what is refused -------------------------------------------------------------------------------------

class RefusedDivertTest : public NetworkLabTest {
 protected:
  static std::string refusal(const std::string& interface) {
    return message_of([&] { TrafficDivert divert(options_for(DivertMethod::automatic, interface)); });
  }
};

TEST_F(RefusedDivertTest, AnUnknownInterfaceWithTheListOfThoseThatExist) {
  EXPECT_EQ(refusal("eht0"), "no interface eht0: the Ethernet interfaces here are eth0");
  EXPECT_EQ(refusal("a-name-longer-than-any-interface-has"),
            "no interface a-name-longer-than-any-interface-has: the Ethernet interfaces here are eth0");
  EXPECT_EQ(refusal(""), "no interface : the Ethernet interfaces here are eth0");
}

TEST_F(RefusedDivertTest, TheLoopbackInterface) {
  EXPECT_EQ(refusal("lo"), "lo is the loopback interface; the Ethernet interfaces here are eth0");
}

TEST_F(RefusedDivertTest, AnInterfaceWithoutEthernetHeader) {
  lab().run("ip tuntap add dev tun7 mode tun");
  EXPECT_EQ(refusal("tun7"),
            "tun7 has no Ethernet header (its kind is tun), and packets diverted from it would be lost; the "
            "Ethernet "
            "interfaces here are eth0");
}

TEST_F(RefusedDivertTest, OurOwnDevices) {
  const TrafficDivert divert(options_for(DivertMethod::automatic));
  for (const std::string name : {"hg0", "hg0p"})
    EXPECT_EQ(refusal(name),
              name +
                  " is a divert device of headgate itself (headgate egress of eth0); the Ethernet "
                  "interfaces here are eth0");
}

TEST_F(RefusedDivertTest, TheIngressDirection) {
  DivertOptions ingress = options_for(DivertMethod::automatic);
  ingress.direction = Direction::ingress;
  EXPECT_EQ(message_of([&] { TrafficDivert divert(ingress); }), "eth0: shaping ingress is not supported yet");
}

}  // namespace
}  // namespace headgate::test
