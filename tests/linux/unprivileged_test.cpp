// The daemon's own kind of process: not root, with the three capabilities that the manual asks for and no
// others.
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <string>

#include "linux/child_process.hpp"
#include "linux/forwarder.hpp"
#include "linux/network_lab.hpp"
#include "linux/traffic_divert.hpp"

namespace headgate::test {
namespace {

constexpr uid_t kNobody = 65'534;

void keep_only(std::initializer_list<unsigned> capabilities) {
  prctl(PR_SET_KEEPCAPS, 1);
  if (setgroups(0, nullptr) != 0 || setresgid(kNobody, kNobody, kNobody) != 0 ||
      setresuid(kNobody, kNobody, kNobody) != 0)
    throw std::runtime_error("cannot become nobody");
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  for (const unsigned capability : capabilities) {
    sets[CAP_TO_INDEX(capability)].effective |= CAP_TO_MASK(capability);
    sets[CAP_TO_INDEX(capability)].permitted |= CAP_TO_MASK(capability);
  }
  if (syscall(SYS_capset, &header, sets.data()) != 0) throw std::runtime_error("capset failed");
}

std::string as_nobody_with(std::initializer_list<unsigned> capabilities,
                           const std::function<std::string()>& work) {
  return result_in_child([&] {
    keep_only(capabilities);
    return work();
  });
}

class UnprivilegedTest : public NetworkLabTest, public testing::WithParamInterface<DivertMethod> {};

INSTANTIATE_TEST_SUITE_P(Divert, UnprivilegedTest,
                         testing::Values(DivertMethod::automatic, DivertMethod::clsact),
                         [](const auto& method) {
                           return method.param == DivertMethod::automatic ? "Automatic" : "Clsact";
                         });

TEST_P(UnprivilegedTest, ThreeCapabilitiesSufficeForEverything) {
  UdpProbe probe(lab());  // reaches the far host, for which nobody would need CAP_SYS_ADMIN
  const auto everything = [&]() -> std::string {
    TrafficDivert divert({.interface = "eth0", .method = GetParam(), .mark = Forwarder::kMark});
    {
      const Forwarder forwarder(divert);
      divert.attach();
      for (int i = 0; i < 10; ++i) probe.send("packet");
      for (int i = 0; i < 10; ++i)
        if (!probe.receive(std::chrono::seconds(5))) return "a packet did not arrive";
      if (forwarder.captured() < 10) return "not diverted";
    }
    if (divert.packets() < 10) return "not counted";
    divert.detach();
    return "done";
  };
  EXPECT_EQ(as_nobody_with({CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF}, everything), "done");
  EXPECT_EQ(as_nobody_with({CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF},
                           [] { return std::to_string(TrafficDivert::sweep().size()) + " leftovers"; }),
            "0 leftovers");
}

TEST_P(UnprivilegedTest, AMissingCapabilityIsNamed) {
  const auto construct = []() -> std::string {
    TrafficDivert divert({.interface = "eth0", .method = GetParam(), .mark = Forwarder::kMark});
    return "constructed";
  };
  constexpr char kHint[] =
      "; run as root, or with CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF: Operation not permitted";
  EXPECT_EQ(as_nobody_with({CAP_NET_RAW, CAP_BPF}, construct), std::string("missing CAP_NET_ADMIN") + kHint);
  EXPECT_EQ(as_nobody_with({CAP_NET_ADMIN, CAP_BPF}, construct), std::string("missing CAP_NET_RAW") + kHint);
  EXPECT_EQ(as_nobody_with({CAP_NET_ADMIN, CAP_NET_RAW}, construct), std::string("missing CAP_BPF") + kHint);
  EXPECT_EQ(as_nobody_with({}, construct),
            std::string("missing CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF") + kHint);
}

}  // namespace
}  // namespace headgate::test
