// The flows of a class that take turns: deficit round robin by bytes (Shreedhar, Varghese 1995), new flows first, as in
// RFC 8290.
//
// A flow that comes is new: it goes before those that have had a turn. Once it has used up a quantum, or has nothing left, it
// goes behind them; so who sends a packet only now and then need not wait, and nobody gains by emptying his queue. A flow
// that has nothing left when its turn comes leaves the round.
//
// Role      knows queues by their numbers, and keeps what it must know of each in a table of turns, which comes with every
//           call: any with `Turn& operator[](number)`, one for all rounds. Who takes packets out says so.
// Cost      O(1) but for queues whose deficit does not allow a packet yet: one step for each quantum of a packet.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "limiters/codel.hpp"

namespace headgate {

// What a round keeps of a queue.
struct Turn {
  static constexpr std::uint32_t kNobody = 0xffff'ffff;

  std::uint32_t next = kNobody;
  std::int32_t deficit = 0;  // bytes that it may still send before it is another's turn
  bool taken = false;        // it is in a round
  Codel codel;
};

class Round {
 public:
  static constexpr std::int32_t kQuantum = 1514;  // bytes: a full Ethernet frame

  explicit Round(std::int32_t quantum = kQuantum) : quantum_(quantum) {}

  bool empty() const { return fresh_.first == Turn::kNobody && old_.first == Turn::kNobody; }

  // A flow that is in no round. `as_new`: before those that have had a turn.
  template <typename TurnTable>
  void add(TurnTable& turns, std::uint32_t queue, bool as_new) {
    Turn& turn = turns[queue];
    assert(!turn.taken);
    turn.taken = true;
    turn.deficit = std::min(turn.deficit + quantum_, quantum_);
    append(turns, as_new ? fresh_ : old_, queue);
  }

  // Whose turn is likely next, without a look at deficits; the round is not empty.
  std::uint32_t likely_first() const { return fresh_.first != Turn::kNobody ? fresh_.first : old_.first; }
  // Whose turn it is; the round is not empty. It may have nothing to send.
  template <typename TurnTable>
  std::uint32_t first(TurnTable& turns) {
    while (true) {
      List& list = fresh_.first != Turn::kNobody ? fresh_ : old_;
      const std::uint32_t queue = list.first;
      if (turns[queue].deficit > 0) return queue;
      turns[queue].deficit += quantum_;
      remove_first(turns, list);
      append(turns, old_, queue);
    }
  }

  // The first has sent so many bytes.
  static void charge(Turn& turn, std::uint64_t bytes) { turn.deficit -= static_cast<std::int32_t>(bytes); }

  // The first has nothing to send. False: it was new and goes behind the others; true: it has left the round.
  template <typename TurnTable>
  bool first_is_empty(TurnTable& turns) {
    const bool was_new = fresh_.first != Turn::kNobody;
    List& list = was_new ? fresh_ : old_;
    const std::uint32_t queue = list.first;
    remove_first(turns, list);
    if (was_new)
      append(turns, old_, queue);
    else
      turns[queue].taken = false;
    return !was_new;
  }

  // The first leaves the round.
  template <typename TurnTable>
  std::uint32_t take_first(TurnTable& turns) {
    List& list = fresh_.first != Turn::kNobody ? fresh_ : old_;
    const std::uint32_t queue = list.first;
    remove_first(turns, list);
    turns[queue].taken = false;
    return queue;
  }

 private:
  struct List {
    std::uint32_t first = Turn::kNobody;
    std::uint32_t last = Turn::kNobody;
  };

  template <typename TurnTable>
  static void append(TurnTable& turns, List& list, std::uint32_t queue) {
    turns[queue].next = Turn::kNobody;
    (list.first == Turn::kNobody ? list.first : turns[list.last].next) = queue;
    list.last = queue;
  }
  template <typename TurnTable>
  static void remove_first(TurnTable& turns, List& list) {
    list.first = turns[list.first].next;
  }

  List fresh_;
  List old_;
  std::int32_t quantum_;
};

}  // namespace headgate
