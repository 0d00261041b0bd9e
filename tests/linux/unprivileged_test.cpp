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
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "linux/child_process.hpp"
#include "linux/divert_fixture.hpp"
#include "linux/forwarder.hpp"
#include "linux/network_lab.hpp"

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
    LoneDivert divert(options_for(GetParam()));
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

// Of ten packets, what goes on by the verdict on their class.
std::string let_go(LoneDivert& divert, UdpProbe& probe, std::size_t class_index) {
  divert.attach();
  for (int i = 0; i < 10; ++i) probe.send("packet");
  for (int i = 0; i < 10; ++i)
    if (!probe.receive(std::chrono::seconds(5))) return "a packet did not arrive";
  divert.detach();
  return std::to_string(divert.take_let_go()[class_index].packets) + " let go";
}

// A verifier that trusts nobody refuses programs that it takes from root.
TEST_P(UnprivilegedTest, ThreeCapabilitiesSufficeForRingBuffersAndMatches) {
  UdpProbe probe(lab());
  const auto load = [&]() -> std::string {
    LoneOptions options = options_for(GetParam());
    options.copies = true;
    options.workers = 2;
    LoneDivert divert(options);
    const auto ring = divert.make_ring();
    const auto channel = ring->buffer().open_channel();
    for (std::size_t worker = 0; worker < 2; ++worker) divert.copy_to(worker, *ring, *channel);
    divert.let_go_by(std::vector<HookClass>{{.selectors = {.dscp = 2}}, {.unshaped = true}});
    return let_go(divert, probe, 1);
  };
  EXPECT_EQ(as_nobody_with({CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF}, load), "10 let go");
}

TEST_P(UnprivilegedTest, ThreeCapabilitiesSufficeForWhatOnlyTheKernelKnowsAndForNetworks) {
  UdpProbe probe(lab());
  const auto load = [&]() -> std::string {
    LoneOptions options = options_for(GetParam());
    options.copies = true;
    LoneDivert divert(options);
    const auto ring = divert.make_ring();
    const auto channel = ring->buffer().open_channel();
    divert.copy_to(0, *ring, *channel);
    const CgroupPlaces places = divert.common().cgroups().hold({"no.such.service"});
    divert.ask_cgroups(bits_of(places));
    std::vector<HookClass> classes(4);
    classes[0].selectors.marks = {{.value = 7}, {.value = 0x10, .mask = 0x10}};
    classes[1].cgroups = bits_of(places);
    classes[1].selectors.cgroups = {"no.such.service"};
    const Networks nobody{.ipv4 = {{1, 1}}, .ipv6 = {{1, 1}}}, all{.ipv4 = {{0, ~Ipv4Number{0}}}, .ipv6 = {}};
    classes[2].selectors.source.networks = std::make_shared<NetworkSet>(nobody, std::vector<std::string>{});
    classes[3].selectors.destination.networks = std::make_shared<NetworkSet>(all, std::vector<std::string>{});
    classes[3].unshaped = true;
    load_networks(classes, divert.common().networks());
    divert.let_go_by(classes);
    return let_go(divert, probe, 3);
  };
  EXPECT_EQ(as_nobody_with({CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF}, load), "10 let go");
}

TEST_P(UnprivilegedTest, AMissingCapabilityIsNamed) {
  const auto construct = []() -> std::string {
    LoneDivert divert(options_for(GetParam()));
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
