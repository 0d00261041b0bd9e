#include "linux/divert_fixture.hpp"

#include "linux/source_waiter.hpp"
#include "linux/timer_waiter.hpp"

#include <array>
#include <chrono>
#include <iostream>
#include <stdexcept>

#include "linux/bpf_attachment.hpp"
#include "linux/divert_programs.hpp"
#include "linux/forwarder.hpp"
#include "linux/netlink.hpp"
#include "support/packet_builder.hpp"

namespace headgate::test {

LoneOptions options_for(DivertMethod method, const std::string& interface) {
  LoneOptions options;
  options.interface = interface;
  options.method = method;
  return options;
}

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

void DivertTest::SetUp() {
  NetworkLabTest::SetUp();
  if (IsSkipped() || GetParam() != DivertMethod::tcx) return;
  const DivertPrograms programs({.own_mark = 1});
  if (BpfAttachment::kernel_has_tcx(programs.divert(Direction::egress))) return;
  std::cout << "not applicable: this kernel has no TCX\n";
  applicable_ = false;
}

LoneOptions DivertTest::ingress_options() const {
  LoneOptions result = options();
  result.direction = Direction::ingress;
  return result;
}

LoneOptions DivertTest::inline_options(const std::string& from, const std::string& to) const {
  LoneOptions result = ingress_options();
  result.interface = from;
  result.forward_to = to;
  return result;
}

Host DivertTest::near_host() {
  return [](const std::function<void()>& work) { work(); };
}

Host DivertTest::far_host() {
  return [this](const std::function<void()>& work) { lab().on_far_host(work); };
}

Host DivertTest::opposite_host() {
  return [this](const std::function<void()>& work) { lab().on_opposite_host(work); };
}

Capture::Capture(TrafficDivert& divert)
    : divert_(divert), ring_({.device_index = divert.device_index(), .mtu = divert.mtu()}) {}

std::optional<Frame> Capture::receive(Duration patience) {
  constexpr std::array kReports{std::byte{0x33}, std::byte{0x33}, std::byte{0},
                                std::byte{0},    std::byte{0},    std::byte{0x16}};
  for (;;) {
    CapturedFrame captured;
    SourceWaiter(ring_).wait(patience);
    if (ring_.receive({&captured, 1}) == 0) return std::nullopt;
    divert_.reset(MonotonicClock().now());
    tpid = captured.vlan_tpid;
    tci = captured.vlan_tci;
    Frame frame(captured.frame.begin(), captured.frame.end());
    ring_.give_back({&captured.slot, 1});
    if (!std::equal(kReports.begin(), kReports.end(), frame.begin())) return frame;
  }
}

Frame udp_frame() {
  return PacketBuilder().ipv4(kNear4, kFar4).udp(4000, 9).payload(32).build();
}

void send_until_one_passes(UdpProbe& probe) {
  const auto end = std::chrono::steady_clock::now() + kSoon;
  do {
    if (std::chrono::steady_clock::now() >= end) throw std::runtime_error("no packet passes");
    probe.send("x");
  } while (!probe.receive(std::chrono::milliseconds(10)));
}

std::vector<std::string> names_of_links() {
  std::vector<std::string> names;
  for (const Link& link : Netlink().links()) names.push_back(link.name);
  return names;
}

}  // namespace headgate::test
