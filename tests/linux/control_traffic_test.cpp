#include <bpf/bpf.h>
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/header_parser.hpp"
#include "linux/divert_fixture.hpp"
#include "linux/divert_place.hpp"
#include "support/packet_builder.hpp"

namespace headgate::test {
namespace {

class ControlTrafficTest : public DivertTest {};
INSTANTIATE_FOR_BOTH_METHODS(ControlTrafficTest);

Frame icmpv6_frame(std::uint8_t type, bool hop_by_hop) {
  PacketBuilder builder;
  builder.ipv6(kNear6, kFar6);
  if (hop_by_hop) builder.hop_by_hop_options();
  return builder.icmpv6(type).payload(24).build();
}

std::map<std::string, Frame> control_frames() {
  std::map<std::string, Frame> frames;
  for (const int type : {130, 131, 132, 133, 134, 135, 136, 137, 143}) {
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
  frames["IGMP"] = PacketBuilder().ipv4(kNear4, "224.0.0.22").ipv4_options(1).protocol(2).payload(16).build();
  frames["VRRP"] = PacketBuilder().ipv4(kNear4, "224.0.0.18").protocol(112).payload(20).build();
  frames["VRRP of IPv6"] = PacketBuilder().ipv6(kNear6, "ff02::12").protocol(112).payload(20).build();
  frames["DHCP in a VLAN"] =
      PacketBuilder().vlan(5).ipv4("0.0.0.0", "255.255.255.255").udp(68, 67).payload(64).build();
  return frames;
}

std::map<std::string, Frame> frames_without_ip() {
  return {{"ARP", PacketBuilder().arp(kNear4, "10.77.0.9").build()},
          {"LLDP", PacketBuilder().ether_type(0x88cc).payload(46).build()},
          {"ARP in a VLAN", PacketBuilder().vlan(5).arp(kNear4, "10.77.0.9").build()}};
}

TEST_P(ControlTrafficTest, ControlTrafficAndWhatIsNoIpIsNotDiverted) {
  RETURN_UNLESS_APPLICABLE();
  LoneDivert divert(options());
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

TEST_P(ControlTrafficTest, ControlTrafficThatIsNotDivertedIsCountedAndWhatIsNoIpIsNot) {
  RETURN_UNLESS_APPLICABLE();
  lab().run("ip link set eth0 multicast off");  // no reports of the host's own in between
  LoneDivert divert(options());
  divert.attach();
  RawPort near("eth0");
  const Count before = divert.counts().control_traffic;
  Count sent;
  for (const auto& [name, frame] : frames_without_ip()) near.send(frame);
  for (const auto& [name, frame] : control_frames()) {
    near.send(frame);
    sent += Count{1, frame.size()};
  }
  Count counted = divert.counts().control_traffic;
  counted -= before;
  EXPECT_EQ(counted, sent);
  EXPECT_EQ(divert.packets(), 0u);
}

TEST_P(ControlTrafficTest, ControlTrafficBeyondItsLimitIsDiverted) {
  RETURN_UNLESS_APPLICABLE();
  LoneOptions limited = options();
  limited.control_limit = {PacketRate{1}, std::nullopt};  // a burst of ten, then one a second
  LoneDivert divert(limited);
  Capture capture(divert);
  divert.attach();
  RawPort near("eth0");
  const Frame frame = control_frames().at("IGMP");
  for (int i = 0; i < 100; ++i) near.send(frame);
  const std::uint64_t passed = divert.counts().control_traffic.packets;
  EXPECT_GE(passed, 10u);
  EXPECT_LE(passed, 12u);
  for (std::uint64_t i = passed; i < 100; ++i) ASSERT_EQ(capture.receive(kSoon), frame) << i;

  divert.set_control_limit({});
  for (int i = 0; i < 100; ++i) near.send(frame);
  EXPECT_EQ(divert.counts().control_traffic.packets, passed + 100) << "none is no limit";
  divert.set_control_limit({std::nullopt, BitRate{1'000}});  // a burst of ten frames of full size
  const std::uint64_t before = divert.counts().control_traffic.packets;
  for (int i = 0; i < 1000; ++i) near.send(frame);
  EXPECT_LT(divert.counts().control_traffic.packets, before + 500) << "a limit in bits holds alone";
}

TEST_P(ControlTrafficTest, ControlTrafficIsDivertedWhereAClassTakesIt) {
  RETURN_UNLESS_APPLICABLE();
  LoneOptions with_control = options();
  with_control.divert_control = true;
  LoneDivert divert(with_control);
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

TEST_P(ControlTrafficTest, WhatOnlyResemblesControlTrafficIsDiverted) {
  RETURN_UNLESS_APPLICABLE();
  LoneDivert divert(options());
  Capture capture(divert);
  divert.attach();
  RawPort near("eth0");
  const std::map<std::string, Frame> frames = {
      {"ICMPv6 echo", icmpv6_frame(128, false)},
      {"ICMPv6 node information query", icmpv6_frame(139, true)},
      {"number of IGMP in IPv6", PacketBuilder().ipv6(kNear6, kFar6).protocol(2).payload(16).build()},
      {"TCP to the port of DHCP", PacketBuilder().ipv4(kNear4, kFar4).tcp(4000, 67).payload(32).build()},
      {"from the port of DHCP", PacketBuilder().ipv4(kNear4, kFar4).udp(67, 4000).payload(32).build()},
      {"ICMP echo of IPv4", PacketBuilder().ipv4(kNear4, kFar4).icmp_echo().payload(32).build()},
      {"port of DHCPv6 in IPv4", PacketBuilder().ipv4(kNear4, kFar4).udp(4000, 547).payload(32).build()},
      {"port of DHCP in IPv6", PacketBuilder().ipv6(kNear6, kFar6).udp(4000, 67).payload(32).build()},
  };
  for (const auto& [name, frame] : frames) {
    near.send(frame);
    EXPECT_EQ(capture.receive(kSoon), frame) << name;
  }
}

// --- the kernel's program and the parser beside it --------------------------------------------------------

constexpr int kGoOn = -1;

constexpr int kLoopback = 1;  // where the kernel runs a program that is to be tested

// Runs the divert program on a frame.
class DivertProgramRun {
 public:
  DivertProgramRun() { place_.set_diverting(true); }

  void set_control_limit(const Rate& limit) { place_.set_control_limit(ControlLimit(limit)); }
  HookCounts counts() const { return place_.counts(); }

  // As a super-packet of UDP, of so many pieces.
  bool diverts_segments(const Frame& frame, std::uint32_t pieces, std::uint32_t piece) {
    __sk_buff context{};
    context.gso_segs = pieces;
    context.gso_size = piece;
    return diverts(frame, &context);
  }

  bool diverts(Frame frame, __sk_buff* context = nullptr) {
    place_.arm();  // nobody reads what is diverted
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame.data(),
                .data_size_in = static_cast<std::uint32_t>(frame.size()), .ctx_in = context,
                .ctx_size_in = context == nullptr ? 0 : static_cast<std::uint32_t>(sizeof *context),
                .repeat = 1);
    if (bpf_prog_test_run_opts(programs_.divert(Direction::egress), &options) != 0)
      throw std::system_error(errno, std::system_category(), "run the divert program");
    const int verdict = static_cast<int>(options.retval);
    if (verdict != kGoOn && verdict != TC_ACT_REDIRECT) throw std::runtime_error(std::to_string(verdict));
    return verdict == TC_ACT_REDIRECT;
  }

 private:
  DivertPrograms programs_{{.own_mark = 1}};
  DivertPlace place_{programs_,
                     {.device = kLoopback, .divert_device = kLoopback, .return_device = kLoopback}};
};

// What is to be diverted by the parser's word.
bool parser_diverts(const Frame& frame) {
  const ParsedHeaders headers = parse_headers(frame);
  const std::size_t at = 12 + headers.tag_bytes;
  const unsigned type = std::to_integer<unsigned>(frame[at]) << 8 | std::to_integer<unsigned>(frame[at + 1]);
  return (type == ETH_P_IP || type == ETH_P_IPV6) && !headers.control;
}

std::string hex(const Frame& frame) {
  std::string text;
  for (const std::byte byte : frame) {
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4];
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

using Step = std::function<void(PacketBuilder&)>;

// Every combination of tags, headers and what is control traffic or nearly so.
std::vector<Frame> frames_near_control() {
  const std::vector<Step> tags = {[](PacketBuilder&) {}, [](PacketBuilder& to) { to.vlan(5); },
                                  [](PacketBuilder& to) { to.vlan(5, 0x88a8).vlan(6); },
                                  [](PacketBuilder& to) { to.vlan(5).vlan(6).vlan(7); },
                                  [](PacketBuilder& to) { to.vlan(5, 0x9100); }};
  std::vector<Step> networks = {[](PacketBuilder& to) { to.ipv4(kNear4, kFar4); },
                                [](PacketBuilder& to) { to.ipv4(kNear4, kFar4).ipv4_options(10); },
                                [](PacketBuilder& to) { to.ipv4(kNear4, kFar4).fragment(0, true); },
                                [](PacketBuilder& to) { to.ipv4(kNear4, kFar4).fragment(64, false); },
                                [](PacketBuilder& to) { to.ipv6(kNear6, kFar6).fragment(0, false); },
                                [](PacketBuilder& to) { to.ipv6(kNear6, kFar6).fragment(0, true); },
                                [](PacketBuilder& to) { to.ipv6(kNear6, kFar6).routing_header(); }};
  for (int headers = 0; headers <= kMaxExtensionHeaders + 1; ++headers)
    networks.emplace_back([headers](PacketBuilder& to) {
      to.ipv6(kNear6, kFar6);
      for (int i = 0; i < headers; ++i) to.destination_options();
    });
  std::vector<Step> transports;
  for (const std::uint16_t port : {66, 67, 68, 69, 545, 546, 547, 548})
    transports.emplace_back([port](PacketBuilder& to) { to.udp(4000, port); });
  for (const std::uint8_t type : {129, 130, 132, 133, 137, 138, 142, 143, 144})
    transports.emplace_back([type](PacketBuilder& to) { to.icmpv6(type); });
  transports.emplace_back([](PacketBuilder& to) { to.tcp(4000, 67); });
  for (const std::uint8_t number : {1, 2, 3, 111, 112, 113})
    transports.emplace_back([number](PacketBuilder& to) { to.protocol(number); });

  std::vector<Frame> frames;
  for (const Step& tag : tags)
    for (const Step& network : networks)
      for (const Step& transport : transports) {
        PacketBuilder builder;
        for (const Step* step : {&tag, &network, &transport}) (*step)(builder);
        frames.push_back(builder.payload(20).build());
      }
  return frames;
}

TEST(DivertProgramsTest, TheKernelAndTheParserAgreeOnWhatIsControlTraffic) {
  DivertProgramRun kernel;
  int control = 0;
  for (const Frame& frame : frames_near_control()) {
    EXPECT_EQ(kernel.diverts(frame), parser_diverts(frame)) << hex(frame);
    control += parse_headers(frame).control;
  }
  EXPECT_GE(control, 50);
}

TEST(DivertProgramsTest, TheKernelAndTheParserAgreeOnBrokenFrames) {
  DivertProgramRun kernel;
  std::mt19937 random(11);
  const std::vector<Frame> frames = frames_near_control();
  for (int round = 0; round < 20'000; ++round) {
    Frame frame = frames[random() % frames.size()];
    // Lengths, versions, protocols and ports: small numbers are what they are made of.
    for (unsigned changes = random() % 3; changes > 0; --changes)
      frame[12 + random() % (std::min<std::size_t>(frame.size(), 110) - 12)] =
          std::byte(random() % 2 ? random() % 256 : random() % 72);
    // The kernel runs it on no frame without a whole IP header.
    if (random() % 4 == 0 && frame.size() > 54) frame.resize(54 + random() % (frame.size() - 54));
    ASSERT_EQ(kernel.diverts(frame), parser_diverts(frame)) << hex(frame);
  }
}

// Its time is that of every start, and the oldest kernels give up after a million.
TEST(DivertProgramsTest, TheKernelVerifiesItInFewSteps) {
  const DivertPrograms programs({.own_mark = 1});
  bpf_prog_info info{};
  std::uint32_t length = sizeof info;
  ASSERT_EQ(bpf_obj_get_info_by_fd(programs.divert(Direction::egress), &info, &length), 0);
  EXPECT_LT(info.verified_insns, 20'000u);
}

TEST(DivertProgramsTest, ASuperPacketOfControlTrafficIsChargedAsThePacketsThatItHolds) {
  constexpr std::uint32_t kPieces = 5, kPiece = 100;
  constexpr std::uint32_t kHeaders = 14 + 20 + 8;
  DivertProgramRun kernel;
  const Frame frame = PacketBuilder().ipv4(kNear4, kFar4).udp(68, 67).payload(kPieces * kPiece).build();
  ASSERT_FALSE(kernel.diverts_segments(frame, kPieces, kPiece));
  EXPECT_EQ(kernel.counts().control_traffic, (Count{kPieces, kPieces * (kHeaders + kPiece)}));

  kernel.set_control_limit({PacketRate{1}, std::nullopt});  // a burst of ten
  EXPECT_FALSE(kernel.diverts_segments(frame, kPieces, kPiece));
  EXPECT_FALSE(kernel.diverts_segments(frame, kPieces, kPiece));
  EXPECT_TRUE(kernel.diverts_segments(frame, kPieces, kPiece));
  EXPECT_EQ(kernel.counts().control_traffic.packets, 3 * kPieces);
}

TEST(DivertProgramsTest, ALowLimitThatIsRaisedIsRaisedAtOnce) {
  DivertProgramRun kernel;
  const Frame frame = PacketBuilder().ipv4(kNear4, kFar4).udp(68, 67).payload(1000).build();
  kernel.set_control_limit({std::nullopt, BitRate{1}});  // its burst is more than a day of it
  int passed = 0;
  while (!kernel.diverts(frame)) ++passed;
  EXPECT_GE(passed, 14);
  kernel.set_control_limit({std::nullopt, BitRate{100'000'000}});
  EXPECT_TRUE(kernel.diverts(frame)) << "a burst of 100 ms that is used up";
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(kernel.diverts(frame));
}

}  // namespace
}  // namespace headgate::test
