#include "linux/capture_source.hpp"

#include <gtest/gtest.h>

#include "linux/network_lab.hpp"

namespace headgate::test {
namespace {

constexpr std::size_t kMegabyte = 1024 * 1024;

TEST(CaptureShare, UpToEightShapesHaveAllThatOneCanUse) {
  for (const std::size_t shapes : {0U, 1U, 2U, 8U}) {
    EXPECT_EQ(CaptureShare::of_one_in(shapes).slots, 16'384u) << shapes;
    EXPECT_EQ(CaptureShare::of_one_in(shapes).bytes, 64 * kMegabyte) << shapes;
  }
}

TEST(CaptureShare, MoreShapesShareWhatEightHave) {
  EXPECT_EQ(CaptureShare::of_one_in(16).slots, 8'192u);
  EXPECT_EQ(CaptureShare::of_one_in(16).bytes, 32 * kMegabyte);
  for (std::size_t shapes = 8; shapes <= 64; ++shapes)
    EXPECT_LE(CaptureShare::of_one_in(shapes).slots * shapes, 8u * 16'384) << shapes;
}

TEST(CaptureShare, AShapeOfHundredsStillHasWhatServesIt) {
  EXPECT_EQ(CaptureShare::of_one_in(500).slots, 2'048u);
  EXPECT_EQ(CaptureShare::of_one_in(500).bytes, 16 * kMegabyte);
}

class CaptureSourceTest : public NetworkLabTest {
 protected:
  static CaptureOptions options(std::size_t shapes) {
    return {.device_index = interface_index("eth0"), .share = CaptureShare::of_one_in(shapes)};
  }
};

TEST_F(CaptureSourceTest, TheRingOfOneShapeOfSixtyIsAsSmallAsItsShare) {
  EXPECT_GE(open_captures(CaptureMethod::ring, options(1), 1).front()->slots(), 16'384u);
  const std::size_t slots = open_captures(CaptureMethod::ring, options(60), 1).front()->slots();
  EXPECT_GE(slots, 2'048u);
  EXPECT_LE(slots, 2'300u);
}

TEST_F(CaptureSourceTest, EachOfSeveralRingsOfAShapeHasEnoughToServe) {
  for (const auto& source : open_captures(CaptureMethod::ring, options(1), 16))
    EXPECT_GE(source->slots(), 4'096u);
  for (const auto& source : open_captures(CaptureMethod::ring, options(60), 2)) {
    EXPECT_GE(source->slots(), 2'048u);
    EXPECT_LE(source->slots(), 2'300u);
  }
}

TEST_F(CaptureSourceTest, RingsOfSuperPacketsKeepToTheirShareOfBytes) {
  CaptureOptions wanted = options(60);
  wanted.virtio_header = true;
  const std::size_t slots = open_captures(CaptureMethod::ring, wanted, 1).front()->slots();
  EXPECT_GE(slots, 128u);
  EXPECT_LE(slots * 65'535, 16 * kMegabyte);
}

}  // namespace
}  // namespace headgate::test
