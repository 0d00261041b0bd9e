#include "linux/notes_table.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace headgate::test {
namespace {

constexpr std::uint32_t kFirst = 5, kCount = 64;

class NotesTableTest : public testing::Test {
 protected:
  PacketNotes at(std::uint32_t place) const { return {memory_[place].mark, memory_[place].priority}; }

  std::vector<divert_restored> memory_ = std::vector<divert_restored>(128);
  NotesTable table_{memory_, kFirst, kCount};
};

TEST_F(NotesTableTest, PacketsWithoutNotesHaveTheFirstPlace) {
  EXPECT_EQ(table_.place_of({}), 0u);
  EXPECT_EQ(at(0), PacketNotes{});
}

TEST_F(NotesTableTest, NotesAreWrittenOnceAndFoundAgain) {
  const std::uint32_t place = table_.place_of({.mark = 7, .priority = 3});
  EXPECT_GE(place, kFirst);
  EXPECT_EQ(at(place), (PacketNotes{.mark = 7, .priority = 3}));
  EXPECT_EQ(table_.place_of({.mark = 7, .priority = 3}), place);
  EXPECT_NE(table_.place_of({.mark = 7, .priority = 4}), place);
  EXPECT_NE(table_.place_of({.mark = 0, .priority = 3}), place);
}

TEST_F(NotesTableTest, APlaceIsUsedAgainAfterAllOthers) {
  std::set<std::uint32_t> places;
  for (std::uint32_t mark = 1; mark <= kCount; ++mark) {
    const std::uint32_t place = table_.place_of({.mark = mark});
    EXPECT_TRUE(places.insert(place).second) << "mark " << mark;
    EXPECT_EQ(at(place).mark, mark);
  }
  EXPECT_EQ(*places.begin(), kFirst);
  EXPECT_EQ(*places.rbegin(), kFirst + kCount - 1);
  // The next takes the oldest, which is found no more.
  EXPECT_EQ(table_.place_of({.mark = 1000}), kFirst);
  const std::uint32_t again = table_.place_of({.mark = 1});
  EXPECT_NE(again, kFirst);
  EXPECT_EQ(at(again).mark, 1u);
}

TEST_F(NotesTableTest, TouchesNoPlaceOfOthers) {
  for (std::uint32_t mark = 1; mark < 1000; ++mark) table_.place_of({.mark = mark, .priority = mark % 7});
  for (std::uint32_t place = 0; place < memory_.size(); ++place) {
    const bool own = place >= kFirst && place < kFirst + kCount;
    EXPECT_EQ(at(place) == PacketNotes{}, !own) << place;
  }
}

}  // namespace
}  // namespace headgate::test
