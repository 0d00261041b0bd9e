#include "config/plan_members.hpp"

#include <memory>
#include <string>

#include "config/prefix.hpp"
#include "config/quantity_text.hpp"

namespace headgate {

Reading PlanMembers::add(const Prefix& prefix) {
  const bool of_ipv4 = is_ipv4(prefix);
  const int before = of_ipv4 ? kIpv4PrefixBits : 0;
  const int bits = prefix.length - before;
  const int most = length_kept(key_, of_ipv4) - before;
  if (bits > most) {
    return refuse(quoted(to_text(prefix)) + " has " + std::to_string(bits) +
                  " bits, but key = " + said_text(key_) + " keeps " + std::to_string(most) + " of an " +
                  (of_ipv4 ? "IPv4" : "IPv6") +
                  " address, so no key could be in it: expected a network of at most " +
                  std::to_string(most) + " bits");
  }
  const auto number = static_cast<PlanNumber>(plans_.size() - 1);
  const auto [member, is_new] = numbers_.emplace(prefix, number);
  if (is_new || member->second == number) return {};
  return refuse(quoted(to_text(prefix)) + " is a member of the plan " + quoted(plans_[member->second].name) +
                " and of the plan " + quoted(plans_[number].name) + ", expected it in one of the two");
}

Reading PlanMembers::add(const Networks& networks) {
  Reading reading;
  for (auto network = networks.ipv4.begin(); reading.ok() && network != networks.ipv4.end(); ++network)
    reading = add(prefix_of(*network));
  for (auto network = networks.ipv6.begin(); reading.ok() && network != networks.ipv6.end(); ++network)
    reading = add(prefix_of(*network));
  return reading;
}

MemberList PlanMembers::list() const {
  if (numbers_.empty()) return {};
  std::vector<Member> members;
  members.reserve(numbers_.size());
  for (const auto& [prefix, plan] : numbers_) members.push_back({prefix, plan});
  return {std::make_shared<const std::vector<Member>>(std::move(members))};
}

}  // namespace headgate
