// What the tests of the divert share: a lab, and a divert of eth0 by each of the two methods.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "linux/forwarder.hpp"
#include "linux/network_lab.hpp"
#include "linux/packet_ring.hpp"
#include "linux/test_traffic.hpp"
#include "linux/traffic_divert.hpp"

namespace headgate::test {

inline constexpr Duration kSoon = std::chrono::seconds(5);  // patience for what must happen

// A divert with all that a daemon's diverts have in common, of its own.
struct LoneOptions : DivertOptions {
  DivertMethod method = DivertMethod::automatic;
  std::uint32_t mark = Forwarder::kMark;
};
class CommonOfOne {
 protected:
  explicit CommonOfOne(const LoneOptions& options) : common_(options.method, options.mark, options.workers) {}
  SharedDivert common_;
};
class LoneDivert : private CommonOfOne, public TrafficDivert {
 public:
  explicit LoneDivert(const LoneOptions& options) : CommonOfOne(options), TrafficDivert(common_, options) {}
  std::unique_ptr<WorkerRing> make_ring() { return common_.make_ring(); }
  SharedDivert& common() { return common_; }
};

LoneOptions options_for(DivertMethod method, const std::string& interface = "eth0");

// The message of what `work` throws.
std::string message_of(const std::function<void()>& work);

// Run once for each method. Where the kernel has no TCX those tests say so and end.
class DivertTest : public NetworkLabTest, public testing::WithParamInterface<DivertMethod> {
 protected:
  void SetUp() override;
  bool applicable() const { return applicable_; }
  LoneOptions options() const { return options_for(GetParam()); }
  LoneOptions ingress_options() const;
  LoneOptions inline_options(const std::string& from, const std::string& to) const;

  static Host near_host();
  Host far_host();
  Host opposite_host();

 private:
  bool applicable_ = true;
};

#define RETURN_UNLESS_APPLICABLE() \
  if (!applicable()) return

#define INSTANTIATE_FOR_BOTH_METHODS(suite)                                    \
  INSTANTIATE_TEST_SUITE_P(                                                    \
      Divert, suite, testing::Values(DivertMethod::tcx, DivertMethod::clsact), \
      [](const auto& method) { return method.param == DivertMethod::tcx ? "Tcx" : "Clsact"; })

// The capture ring of a divert that nobody else reads.
class Capture {
 public:
  explicit Capture(TrafficDivert& divert);

  // The next frame; its tag is in tpid and tci. The multicast reports that the host sends when it pleases are passed
  // over.
  std::optional<Frame> receive(Duration patience);

  std::uint16_t tpid = 0;  // of the frame received last
  std::uint16_t tci = 0;

  CaptureCounts counts() const { return ring_.counts(); }

 private:
  TrafficDivert& divert_;
  PacketRing ring_;
};

// A UDP packet from near to far.
Frame udp_frame();

// Sends until the far host gets a packet; throws when it gets none.
void send_until_one_passes(UdpProbe& probe);

std::vector<std::string> names_of_links();

}  // namespace headgate::test
