#include "linux/cgroup_mount.hpp"

#include <gtest/gtest.h>

namespace headgate {
namespace {

TEST(CgroupMount, IsThatOfTheSecondVersionAlsoInHybridMode) {
  EXPECT_EQ(
      find_cgroup_mount("22 1 8:1 / / rw - ext4 /dev/root rw\n"
                        "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - tmpfs tmpfs rw,mode=755\n"
                        "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n"
                        "41 31 0:38 / /sys/fs/cgroup/unified rw shared:4 master:1 - cgroup2 cgroup2 rw\n"),
      "/sys/fs/cgroup/unified");
  EXPECT_EQ(find_cgroup_mount("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"), "/sys/fs/cgroup");
}

TEST(CgroupMount, IsNowhereWithoutOne) {
  EXPECT_EQ(find_cgroup_mount(""), "");
  EXPECT_EQ(find_cgroup_mount("22 1 8:1 / /cgroup2 rw - ext4 cgroup2 rw\nnonsense\n\n22 1"), "");
}

TEST(CgroupMount, MayHaveSpacesInItsPath) {
  EXPECT_EQ(find_cgroup_mount("30 23 0:26 / /my\\040groups\\134x\\12 rw - cgroup2 cgroup2 rw\n"),
            "/my groups\\x\\12");
}

TEST(CgroupMount, IsTheOneThatShowsTheWholeHierarchyIfThereIsOne) {
  const std::string part = "30 23 0:26 /docker/5 /part rw - cgroup2 cgroup2 rw\n";
  EXPECT_EQ(find_cgroup_mount(part), "/part");
  EXPECT_EQ(find_cgroup_mount(part + "31 23 0:26 / /whole rw - cgroup2 cgroup2 rw\n"), "/whole");
}

}  // namespace
}  // namespace headgate
