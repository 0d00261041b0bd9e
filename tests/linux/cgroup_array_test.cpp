#include "linux/cgroup_array.hpp"

#include <bpf/bpf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "linux/child_process.hpp"
#include "linux/kernel_instructions.hpp"
#include "linux/match_runner.hpp"
#include "linux/network_lab.hpp"

namespace headgate::test {
namespace {

using testing::HasSubstr;

// A hierarchy mounted for this test, with a group of its own.
class CgroupArrayTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!NetworkLab::permitted()) GTEST_SKIP() << "NOT TESTED: this needs root";
    char directory[] = "/tmp/hgt-cgroup-XXXXXX";
    ASSERT_NE(mkdtemp(directory), nullptr);
    mount_ = directory;
    ASSERT_EQ(mount("cgroup2", mount_.c_str(), "cgroup2", 0, nullptr), 0);
    top_ = "hgt-unit-" + std::to_string(getpid());
    make(top_);
  }
  void TearDown() override {
    if (mount_.empty()) return;
    for (auto path = made_.rbegin(); path != made_.rend(); ++path) rmdir(directory(*path).c_str());
    umount(mount_.c_str());
    rmdir(mount_.c_str());
  }

  std::string directory(const std::string& path) const { return mount_ + "/" + path; }
  std::string below(const std::string& name) const { return top_ + "/" + name; }
  void make(const std::string& path) {
    ASSERT_EQ(mkdir(directory(path).c_str(), 0755), 0) << path;
    made_.push_back(path);
  }
  void remove(const std::string& path) { ASSERT_EQ(rmdir(directory(path).c_str()), 0) << path; }

  // What bpf_skb_under_cgroup() says of a packet that a process in the cgroup sends: 1 or 0; negative: no cgroup is at the
  // place.
  int answer(const CgroupArray& array, const CgroupPlaces& places, const std::string& sender) const {
    std::vector<KernelInstruction> code;
    for (const KernelInstruction& each : bpf::map_address(BPF_REG_2, array.map())) code.push_back(each);
    code.push_back(bpf::set(BPF_REG_3, places.at(0)->number));
    code.push_back(bpf::call(BPF_FUNC_skb_under_cgroup));
    code.push_back({.code = bpf::opcode(BPF_JMP | BPF_EXIT)});
    const LoadedProgram program = load_program(code);
    return std::stoi(result_in_child([&] {
      std::ofstream(directory(sender) + "/cgroup.procs") << getpid() << std::flush;
      std::array<char, 64> packet{};
      bpf_test_run_opts options{};
      options.sz = sizeof options;
      options.data_in = packet.data();
      options.data_size_in = packet.size();
      if (bpf_prog_test_run_opts(program.descriptor.get(), &options) != 0) return std::string("-1000");
      return std::to_string(static_cast<int>(options.retval));
    }));
  }

  std::string mount_;
  std::string top_;
  std::vector<std::string> made_;
};

TEST_F(CgroupArrayTest, HoldsACgroupAndThoseBelowIt) {
  for (const auto* name : {"a", "a/b", "ab"}) make(below(name));
  CgroupArray array(mount_);
  const CgroupPlaces places = array.hold({below("a")});
  EXPECT_EQ(answer(array, places, below("a")), 1);
  EXPECT_EQ(answer(array, places, below("a/b")), 1);
  EXPECT_EQ(answer(array, places, below("ab")), 0);
  EXPECT_EQ(answer(array, places, top_), 0);
}

TEST_F(CgroupArrayTest, FindsWhereTheHierarchyIsMounted) {
  make(below("a"));
  CgroupArray array;
  EXPECT_EQ(answer(array, array.hold({below("a")}), below("a")), 1);
}

TEST_F(CgroupArrayTest, NoticesACgroupThatComesGoesAndComesAgain) {
  CgroupArray array(mount_);
  const CgroupPlaces places = array.hold({below("a")});
  EXPECT_LT(answer(array, places, top_), 0);
  for (int round = 0; round < 3; ++round) {
    make(below("a"));
    array.look();
    EXPECT_EQ(answer(array, places, below("a")), 1) << round;
    array.look();
    EXPECT_EQ(answer(array, places, below("a")), 1) << round;
    remove(below("a"));
    if (round == 1) continue;  // made anew between two looks
    array.look();
    EXPECT_LT(answer(array, places, top_), 0) << round;
  }
}

TEST_F(CgroupArrayTest, TakesWhatIsNoCgroupForNone) {
  CgroupArray array(mount_);
  const CgroupPlaces places = array.hold({top_ + "/cgroup.procs"});
  EXPECT_LT(answer(array, places, top_), 0);
  CgroupArray elsewhere("/tmp");
  EXPECT_LT(answer(elsewhere, elsewhere.hold({top_}), top_), 0);
}

TEST_F(CgroupArrayTest, GivesEachPathOnePlaceAsLongAsItIsHeld) {
  CgroupArray array(mount_);
  const CgroupPlaces first = array.hold({"a", "b", "a"});
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(bits_of(first), 0b11U);
  CgroupPlaces second = array.hold({"c", "b"});
  EXPECT_EQ(second[1], first[1]);
  EXPECT_EQ(bits_of(second), 0b110U);
  EXPECT_GE(second[0]->since, first[0]->since);
}

TEST_F(CgroupArrayTest, GivesAFreePlaceAwayAfterAllOthers) {
  CgroupArray array(mount_);
  const CgroupPlaces stays = array.hold({"stays"});
  array.hold({"goes"});
  for (unsigned i = 2; i < kMaxCgroups; ++i) EXPECT_EQ(array.hold({std::to_string(i)}).at(0)->number, i);
  const CgroupPlaces late = array.hold({"late"});
  EXPECT_EQ(late.at(0)->number, 1U);
  EXPECT_EQ(array.hold({"stays"}).at(0), stays.at(0));
}

TEST_F(CgroupArrayTest, RefusesMoreThanItHasPlacesFor) {
  CgroupArray array(mount_);
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < kMaxCgroups; ++i) paths.push_back(std::to_string(i));
  CgroupPlaces all = array.hold(paths);
  EXPECT_EQ(bits_of(all), ~std::uint32_t{0});
  try {
    array.hold({"0", "one.more"});
    FAIL() << "not refused";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("there is no place for the cgroup one.more: at most 32"));
  }
  all.pop_back();
  EXPECT_EQ(array.hold({"one.more"}).at(0)->number, kMaxCgroups - 1);
}

}  // namespace
}  // namespace headgate::test
