// What a host asks lease_script.lua for a budget, and what it is told. Pure: whoever talks to Redis sends the
// arguments and hands over the line that comes back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "vocabulary/budget.hpp"

namespace headgate {

struct LeaseRequest {
  std::uint64_t serial = 0;
  std::uint64_t acknowledged = 0;  // a serial; 0: none
  std::string epoch;               // of the last reply; empty: none
  std::uint64_t aged = 0;          // an event of that epoch that is longer ago than `aged_for`; 0: none
  Duration aged_for{};
  BitRate want;
  BudgetTerms terms;
};

// What a grant was bounded by.
enum class GrantBound : std::uint8_t {
  want,      // nothing: the host has what it wants
  share,     // its fair share
  others,    // what the others may still use
  learning,  // Redis does not know yet what was granted before
  hosts,     // more hosts ask than terms.hosts
  old,       // no grant: the request is not newer than one that Redis has had of the same host
};

std::string_view to_text(GrantBound bound);  // "want", "share", …

struct LeaseReply {
  std::string epoch;
  std::uint64_t event = 0;   // the number of the request in the epoch
  std::uint64_t serial = 0;  // of the request
  BitRate grant;
  GrantBound bound = GrantBound::want;
  BitRate share;
  BitRate used;            // what all hosts together may use now, floors kept free included
  std::uint32_t live = 0;  // hosts that have a part
  Duration longest_lease{};
  bool agreed = true;  // whether all hosts say the same terms
  bool operator==(const LeaseReply&) const = default;
};

struct ReplyError {
  std::string message;
};

// The hash of a budget: "headgate:{NAME}".
std::string budget_key(std::string_view budget);

// ARGV of one budget, at the end of what is there already: the host's name, and the budgets before.
//
// The host's name is of one run of the daemon and of no other: it holds a random number. It is not "@budget".
void append_arguments(const LeaseRequest& request, std::vector<std::string>& arguments);

std::variant<LeaseReply, ReplyError> read_lease_reply(std::string_view line);

}  // namespace headgate
