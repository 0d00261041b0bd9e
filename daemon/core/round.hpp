// The flows of a class that take turns: deficit round robin by bytes (Shreedhar, Varghese 1995), new flows first, as in
// RFC 8290.
//
// A flow that comes is new: it goes before those that have had a turn. Once it has used up a quantum, or has nothing left, it
// goes behind them; so who sends a packet only now and then need not wait, and nobody gains by emptying his queue. A flow
// that has nothing left when its turn comes leaves the round.
//
// Role      knows backlogs by their numbers, and keeps what it must know of each in TurnTable. Who takes packets out says so.
// Cost      O(1) but for flows whose deficit does not allow a packet yet: one step for each quantum of a packet.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "core/codel.hpp"
#include "core/flow_queue.hpp"
#include "core/growing_table.hpp"
#include "core/memory_area.hpp"

namespace headgate {

// What a round keeps of a backlog.
struct Turn {
  BacklogNumber next = kNoBacklog;
  std::int32_t deficit = 0;  // bytes that it may still send before it is another's turn
  bool taken = false;        // it is in a round
  Codel codel;
};

// Of all backlogs of a schedule, by number.
class TurnTable {
 public:
  TurnTable(std::uint32_t capacity, MemorySource& memory) : turns_(capacity, memory) {}

  // Below `end` there is memory for all. False: the host has no more.
  bool make_ready(std::uint32_t end) { return turns_.grow_to(end); }
  Turn& operator[](BacklogNumber backlog) { return turns_[backlog]; }
  const Turn& operator[](BacklogNumber backlog) const { return turns_[backlog]; }

 private:
  GrowingTable<Turn> turns_;
};

class Round {
 public:
  static constexpr std::int32_t kQuantum = 1514;  // bytes: a full Ethernet frame

  bool empty() const { return fresh_.first == kNoBacklog && old_.first == kNoBacklog; }

  // A flow that is in no round. `as_new`: before those that have had a turn.
  void add(TurnTable& turns, BacklogNumber backlog, bool as_new) {
    Turn& turn = turns[backlog];
    assert(!turn.taken);
    turn.taken = true;
    turn.deficit = std::min(turn.deficit + kQuantum, kQuantum);
    append(turns, as_new ? fresh_ : old_, backlog);
  }

  // Whose turn is likely next, without a look at deficits; the round is not empty.
  BacklogNumber likely_first() const { return fresh_.first != kNoBacklog ? fresh_.first : old_.first; }
  // Whose turn it is; the round is not empty. It may have nothing to send.
  BacklogNumber first(TurnTable& turns) {
    while (true) {
      List& list = fresh_.first != kNoBacklog ? fresh_ : old_;
      const BacklogNumber backlog = list.first;
      if (turns[backlog].deficit > 0) return backlog;
      turns[backlog].deficit += kQuantum;
      remove_first(turns, list);
      append(turns, old_, backlog);
    }
  }

  // The first has sent so many bytes.
  static void charge(Turn& turn, std::uint64_t bytes) { turn.deficit -= static_cast<std::int32_t>(bytes); }

  // The first has nothing to send. False: it was new and goes behind the others; true: it has left the round.
  bool first_is_empty(TurnTable& turns) {
    const bool was_new = fresh_.first != kNoBacklog;
    List& list = was_new ? fresh_ : old_;
    const BacklogNumber backlog = list.first;
    remove_first(turns, list);
    if (was_new)
      append(turns, old_, backlog);
    else
      turns[backlog].taken = false;
    return !was_new;
  }

  // The first leaves the round.
  BacklogNumber take_first(TurnTable& turns) {
    List& list = fresh_.first != kNoBacklog ? fresh_ : old_;
    const BacklogNumber backlog = list.first;
    remove_first(turns, list);
    turns[backlog].taken = false;
    return backlog;
  }

 private:
  struct List {
    BacklogNumber first = kNoBacklog;
    BacklogNumber last = kNoBacklog;
  };

  static void append(TurnTable& turns, List& list, BacklogNumber backlog) {
    turns[backlog].next = kNoBacklog;
    (list.first == kNoBacklog ? list.first : turns[list.last].next) = backlog;
    list.last = backlog;
  }
  static void remove_first(TurnTable& turns, List& list) { list.first = turns[list.first].next; }

  List fresh_;
  List old_;
};

}  // namespace headgate
