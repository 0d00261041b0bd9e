#include "core/member_table.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <functional>

namespace headgate {
namespace {

constexpr std::size_t kFewestCells = 16;
constexpr std::uint64_t kOddA = 0x9e37'79b9'7f4a'7c15;
constexpr std::uint64_t kOddB = 0xd6e8'feb8'6659'fd93;

std::uint64_t folded(std::uint64_t one, std::uint64_t other) {
  const auto product = static_cast<unsigned __int128>(one) * other;
  return static_cast<std::uint64_t>(product ^ product >> 64);
}

}  // namespace

MemberTable::MemberTable(std::span<const Member> members, std::size_t plans, std::size_t room)
    : cells_(std::bit_ceil(std::max(kFewestCells, 2 * std::max(room, members.size())))), counts_(plans) {
  lengths_.reserve(of_length_.size());
  for (const Member& member : members) put(member);
}

PlanNumber MemberTable::plan_of(const Prefix& prefix) const {
  const bool ipv4 = is_ipv4(prefix);
  for (const std::uint8_t length : lengths_) {
    if (length > prefix.length) continue;
    if (ipv4 && length < kIpv4PrefixBits) break;
    const PlanNumber plan = cells_[find(cut_to(prefix.address, length))].plan;
    if (plan != kNoPlan) return plan;
  }
  return kNoPlan;
}

void MemberTable::put(const Member& member) {
  const std::size_t cell = find(member.prefix);
  const Member before{member.prefix, cells_[cell].plan};
  if (before.plan != kNoPlan) count(before, -1);
  if (member.plan != kNoPlan) {
    assert(before.plan != kNoPlan || size_ < room());
    count(member, +1);
    cells_[cell] = {member.prefix, member.plan};
  } else if (before.plan != kNoPlan) {
    take_out(cell);
  }
}

void MemberTable::count(const Member& member, int change) {
  const auto add = static_cast<std::uint32_t>(change);  // modulo 2^32
  size_ += static_cast<std::size_t>(change);
  counts_[member.plan] += add;
  const std::uint8_t length = member.prefix.length;
  const auto place = std::lower_bound(lengths_.begin(), lengths_.end(), length, std::greater<>());
  if (of_length_[length] == 0) lengths_.insert(place, length);
  of_length_[length] += add;
  if (of_length_[length] == 0) lengths_.erase(place);
}

// Shifts back what follows, so that no probe ends before its member.
void MemberTable::take_out(std::size_t cell) {
  for (std::size_t next = behind(cell); cells_[next].plan != kNoPlan; next = behind(next)) {
    const std::size_t from_home = (next - home(cells_[next].prefix)) & (cells_.size() - 1);
    const std::size_t from_gap = (next - cell) & (cells_.size() - 1);
    if (from_home < from_gap) continue;
    cells_[cell] = cells_[next];
    cell = next;
  }
  cells_[cell] = Cell{};
}

std::size_t MemberTable::find(const Prefix& prefix) const {
  std::size_t cell = home(prefix);
  while (cells_[cell].plan != kNoPlan && cells_[cell].prefix != prefix) cell = behind(cell);
  return cell;
}

// Members are the administrator's: nobody else can choose them to collide.
std::size_t MemberTable::home(const Prefix& prefix) const {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  std::memcpy(&high, prefix.address.data(), sizeof high);
  std::memcpy(&low, prefix.address.data() + sizeof high, sizeof low);
  const std::uint64_t mixed = folded(low ^ folded(high ^ prefix.length, kOddA), kOddB);
  return mixed >> 32 & (cells_.size() - 1);
}

}  // namespace headgate
