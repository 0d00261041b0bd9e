// The members of a class's plans: of the networks that have an address, the smallest says which plan it has.
//
// A hash table of networks, by address and length, open addressing with linear probing, at most half full. A look-up probes
// once for each length that some member has, the longest first: one or two in most tables, 129 in the worst.
//
// Memory    24 bytes a cell, all taken by the constructor. put() allocates nothing.
// Errors    the constructor throws std::bad_alloc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "vocabulary/plan_member.hpp"

namespace headgate {

class MemberTable {
 public:
  using Address = std::array<std::uint8_t, 16>;

  MemberTable() : MemberTable({}, 0, 0) {}
  // With room for so many members in all. Each plan is below `plans`.
  MemberTable(std::span<const Member> members, std::size_t plans, std::size_t room);

  PlanNumber plan_of(const Address& address) const {
    return plan_of(Prefix{.address = address, .length = 128});
  }
  // Of the smallest network that has all of it.
  PlanNumber plan_of(const Prefix& prefix) const;

  // From now on the network is a member of this plan, and of no other; of kNoPlan: of none. One more needs room.
  void put(const Member& member);

  std::size_t size() const { return size_; }
  std::size_t room() const { return cells_.size() / 2; }
  // By plan.
  const std::vector<std::uint32_t>& counts() const { return counts_; }

 private:
  struct Cell {
    Prefix prefix;
    PlanNumber plan = kNoPlan;  // none: the cell is empty
  };

  std::size_t home(const Prefix& prefix) const;
  std::size_t behind(std::size_t cell) const { return (cell + 1) & (cells_.size() - 1); }
  std::size_t find(const Prefix& prefix) const;  // its cell, or the empty one that it would have
  void count(const Member& member, int change);
  void take_out(std::size_t cell);

  std::vector<Cell> cells_;  // a power of two
  std::vector<std::uint32_t> counts_;
  std::array<std::uint32_t, 129> of_length_{};  // how many members
  std::vector<std::uint8_t> lengths_;           // that are in use, the longest first
  std::size_t size_ = 0;
};

}  // namespace headgate
