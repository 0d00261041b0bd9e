#include "linux/descriptor_limit.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

namespace headgate::test {
namespace {

class DescriptorLimit : public testing::Test {
 protected:
  DescriptorLimit() { getrlimit(RLIMIT_NOFILE, &before_); }
  ~DescriptorLimit() override { setrlimit(RLIMIT_NOFILE, &before_); }
  void set_soft(rlim_t soft) const {
    const rlimit limit{.rlim_cur = soft, .rlim_max = before_.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  rlim_t hard() const { return before_.rlim_max; }

 private:
  rlimit before_{};
};

TEST_F(DescriptorLimit, TheSoftLimitIsRaisedToWhatTheHardOnePermitsAndMakesSense) {
  set_soft(256);
  ASSERT_EQ(descriptor_limit(), 256u);
  raise_descriptor_limit();
  EXPECT_EQ(descriptor_limit(), std::min<rlim_t>(hard(), 65'536));
}

TEST_F(DescriptorLimit, AHighSoftLimitIsNotLowered) {
  set_soft(hard());
  raise_descriptor_limit();
  EXPECT_EQ(descriptor_limit(), hard());
}

}  // namespace
}  // namespace headgate::test
