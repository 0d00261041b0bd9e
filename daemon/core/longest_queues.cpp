#include "core/longest_queues.hpp"

namespace headgate {

BacklogNumber LongestQueues::longest() const {
  return lists_in_use_ == 0 ? kNoBacklog : lists_[std::bit_width(lists_in_use_) - 1];
}

bool LongestQueues::among_longest(std::uint32_t chunks) const {
  return std::bit_width(chunks) + 1u >= std::bit_width(lists_in_use_);
}

void LongestQueues::move_to_list(BacklogTable& backlogs, BacklogNumber number) {
  Backlog& backlog = backlogs[number];
  if (backlog.list_ != 0) {
    BacklogNumber& from = lists_[backlog.list_];
    const BacklogNumber previous = backlog.list_previous_;
    (previous == kNoBacklog ? from : backlogs[previous].list_next_) = backlog.list_next_;
    if (backlog.list_next_ != kNoBacklog) backlogs[backlog.list_next_].list_previous_ = previous;
    if (from == kNoBacklog) lists_in_use_ &= ~(std::uint64_t{1} << backlog.list_);
  }
  backlog.list_ = list_for(backlog);
  if (backlog.list_ == 0) return;
  BacklogNumber& to = lists_[backlog.list_];
  backlog.list_previous_ = kNoBacklog;
  backlog.list_next_ = to;
  if (to != kNoBacklog) backlogs[to].list_previous_ = number;
  to = number;
  lists_in_use_ |= std::uint64_t{1} << backlog.list_;
}

}  // namespace headgate
