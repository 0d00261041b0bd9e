#include "core/backlog_table.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace headgate {

BacklogTable::BacklogTable(std::uint32_t capacity, std::pmr::memory_resource* memory)
    : backlogs_(capacity, memory), free_(capacity, memory) {
  lists_.fill(kNoBacklog);
}

BacklogNumber BacklogTable::acquire(FlowNumber flow) {
  const BacklogNumber backlog = free_.take();
  backlogs_[backlog] = Backlog{};
  backlogs_[backlog].flow = flow;
  return backlog;
}

void BacklogTable::release(BacklogNumber backlog) {
  assert(backlogs_[backlog].head == kNoPacket && backlogs_[backlog].list_ == 0);
  free_.give_back(backlog);
}

void BacklogTable::prefetch_free(std::uint32_t count) const {
  for (std::uint32_t i = 0; i < std::min(count, free_.size()); ++i) prefetch(free_.next(i));
}

BacklogNumber BacklogTable::longest() const {
  return lists_in_use_ == 0 ? kNoBacklog : lists_[std::bit_width(lists_in_use_) - 1];
}

bool BacklogTable::among_longest(std::uint32_t chunks) const {
  return std::bit_width(chunks) + 1u >= std::bit_width(lists_in_use_);
}

std::uint32_t BacklogTable::list_for(const Backlog& backlog) {
  return backlog.single() ? 0 : static_cast<std::uint32_t>(std::bit_width(backlog.chunks));
}

void BacklogTable::move_to_list(BacklogNumber number) {
  Backlog& backlog = backlogs_[number];
  if (backlog.list_ != 0) {
    BacklogNumber& from = lists_[backlog.list_];
    const BacklogNumber previous = backlog.list_previous_;
    (previous == kNoBacklog ? from : backlogs_[previous].list_next_) = backlog.list_next_;
    if (backlog.list_next_ != kNoBacklog) backlogs_[backlog.list_next_].list_previous_ = previous;
    if (from == kNoBacklog) lists_in_use_ &= ~(std::uint64_t{1} << backlog.list_);
  }
  backlog.list_ = list_for(backlog);
  if (backlog.list_ == 0) return;
  BacklogNumber& to = lists_[backlog.list_];
  backlog.list_previous_ = kNoBacklog;
  backlog.list_next_ = to;
  if (to != kNoBacklog) backlogs_[to].list_previous_ = number;
  to = number;
  lists_in_use_ |= std::uint64_t{1} << backlog.list_;
}

}  // namespace headgate
