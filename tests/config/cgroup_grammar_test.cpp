#include "config/cgroup_grammar.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headgate {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

std::string error_of(const std::string& text) {
  std::vector<std::string> paths{"a"};
  const std::string error = read_cgroup(text, paths).error;
  EXPECT_THAT(paths, ElementsAre("a")) << text;
  return error;
}

TEST(Cgroup, IsAPathWithoutTheSlashesAtItsEnds) {
  std::vector<std::string> paths;
  for (const auto* text : {"system.slice/backup.service", "/a/b", "a/b/", "c", "x y@\\x2d:1", "..."})
    EXPECT_EQ(read_cgroup(text, paths).error, "") << text;
  EXPECT_THAT(paths, ElementsAre("system.slice/backup.service", "a/b", "c", "x y@\\x2d:1", "..."));
}

TEST(Cgroup, ThatCannotBeIsRefused) {
  EXPECT_EQ(error_of(""),
            "\"\" is not a cgroup, expected a path below the root of cgroup v2 such as "
            "\"system.slice/backup.service\"");
  EXPECT_THAT(error_of(" "), HasSubstr("is not a cgroup"));
  EXPECT_THAT(error_of("/"), HasSubstr("is the root, which every socket belongs to"));
  for (const auto* text : {"a/../b", "..", "./a", "a/."})
    EXPECT_THAT(error_of(text), HasSubstr("has a part that is \".\" or \"..\"")) << text;
  for (const auto* text : {"a//b", "//a", "a//"})
    EXPECT_THAT(error_of(text), HasSubstr("has two slashes in a row")) << text;
  EXPECT_THAT(error_of(std::string("a\0b", 3)), HasSubstr("has a character that no cgroup has"));
  EXPECT_THAT(error_of("a\nb"), HasSubstr("has a character that no cgroup has"));
  EXPECT_THAT(error_of(std::string(256, 'a')), HasSubstr("has a part of more than 255 bytes"));
  std::string deep;
  for (int i = 0; i < 1501; ++i) deep += "a/";
  EXPECT_THAT(error_of(deep), HasSubstr("has more than 3000 bytes"));
}

TEST(Cgroup, IsProposedWithoutTheMountPoint) {
  EXPECT_THAT(
      error_of("/sys/fs/cgroup/system.slice/ssh.service"),
      EndsWith(" begins with where cgroup v2 is mounted: did you mean \"system.slice/ssh.service\"?"));
  EXPECT_THAT(error_of("/sys/fs/cgroup/unified/a"), EndsWith("did you mean \"a\"?"));
}

}  // namespace
}  // namespace headgate
