#include "linux/bpf_attachment.hpp"

#include <bpf/libbpf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "administrator.skel.h"
#include "linux/child_process.hpp"
#include "linux/divert_fixture.hpp"
#include "linux/netlink.hpp"

namespace headgate::test {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

class BpfAttachmentTest : public DivertTest {
 protected:
  void SetUp() override {
    DivertTest::SetUp();
    if (IsSkipped()) return;
    netlink_.emplace();
    ours_ = load();
    others_ = load();
  }

  using Programs = std::unique_ptr<administrator_bpf, void (*)(administrator_bpf*)>;
  static Programs load() { return {administrator_bpf::open_and_load(), administrator_bpf::destroy}; }
  static int program(const Programs& programs) { return bpf_program__fd(programs->progs.count); }

  std::unique_ptr<BpfAttachment> attach(const Programs& programs, TrafficHook hook, const std::string& name) {
    return std::make_unique<BpfAttachment>(*netlink_, GetParam(), interface_index("eth0"), hook, name,
                                           program(programs));
  }
  std::unique_ptr<BpfAttachment> attach_ours(TrafficHook hook = TrafficHook::egress) {
    return attach(ours_, hook, "headgate-test");
  }
  std::unique_ptr<BpfAttachment> attach_others(TrafficHook hook = TrafficHook::egress) {
    return attach(others_, hook, "administrator");
  }
  std::string text_of_others() const {
    if (GetParam() == DivertMethod::clsact) return "another filter \\(administrator, bpf, priority 1\\)";
    return "another program \\(count, id " + std::to_string(program_id(program(others_))) + "\\)";
  }
  const Programs& others() const { return others_; }

 private:
  std::optional<Netlink> netlink_;
  Programs ours_{nullptr, administrator_bpf::destroy};
  Programs others_{nullptr, administrator_bpf::destroy};
};
INSTANTIATE_FOR_BOTH_METHODS(BpfAttachmentTest);

TEST_P(BpfAttachmentTest, KnowsWhatRunsAheadOfItAndOnlyThat) {
  RETURN_UNLESS_APPLICABLE();
  for (const TrafficHook hook : {TrafficHook::egress, TrafficHook::ingress}) {
    const auto behind = attach_others(hook);
    const auto ours = attach_ours(hook);
    EXPECT_TRUE(ours->place().is_there);
    EXPECT_EQ(ours->place().ahead, "");
    EXPECT_THAT(behind->place().ahead,
                HasSubstr(GetParam() == DivertMethod::tcx ? "count" : "headgate-test"));
  }
  const auto ours = attach_ours();
  {
    const auto ahead = attach_others();
    EXPECT_TRUE(ours->place().is_there);
    EXPECT_THAT(ours->place().ahead, MatchesRegex(text_of_others()));
  }
  EXPECT_EQ(ours->place().ahead, "");
}

// A program by TCX runs before all filters.
TEST_P(BpfAttachmentTest, AProgramByTcxIsAheadWhateverOurMethod) {
  if (!applicable() || !BpfAttachment::kernel_has_tcx(program(others()))) return;
  const auto ours = attach_ours();
  Netlink netlink;
  const BpfAttachment ahead(netlink, DivertMethod::tcx, interface_index("eth0"), TrafficHook::egress, "other",
                            program(others()));
  EXPECT_THAT(ours->place().ahead, HasSubstr("another program (count, id "));
  EXPECT_TRUE(ours->place().is_there);
}

TEST_P(BpfAttachmentTest, WithoutTheRightToLookAtProgramsTheIdAloneIsSaid) {
  RETURN_UNLESS_APPLICABLE();
  const std::uint32_t id = program_id(program(others()));
  EXPECT_EQ(program_text(id), "count, id " + std::to_string(id));
  EXPECT_EQ(result_in_child([id]() -> std::string {
              if (setresuid(65'534, 65'534, 65'534) != 0) return "cannot become nobody";
              return program_text(id);
            }),
            "id " + std::to_string(id));
}

TEST_P(BpfAttachmentTest, AFilterOfAnotherChainRunsNotByItself) {
  RETURN_UNLESS_APPLICABLE();
  lab().run("tc qdisc add dev eth0 clsact");
  lab().run("tc filter add dev eth0 egress chain 3 protocol ip prio 1 u32 match u8 0 0");
  const auto ours = attach_ours();
  EXPECT_EQ(ours->place().ahead, "");
  EXPECT_TRUE(ours->place().is_there);
}

TEST_P(BpfAttachmentTest, AFilterInItsPlaceIsNotTakenForIt) {
  if (!applicable() || GetParam() == DivertMethod::tcx) return;
  Netlink netlink;
  {
    const auto ours = attach_ours();
    const auto present = netlink.filters(interface_index("eth0"), clsact_parent(TrafficHook::egress));
    ASSERT_EQ(present.size(), 1u);
    lab().run("tc filter replace dev eth0 egress protocol all prio 1 handle 1 bpf bytecode '1,6 0 0 0'");
    EXPECT_FALSE(ours->place().is_there);
  }
  // It is somebody else's to remove.
  EXPECT_EQ(netlink.filters(interface_index("eth0"), clsact_parent(TrafficHook::egress)).size(), 1u);
}

}  // namespace
}  // namespace headgate::test
