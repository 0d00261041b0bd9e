// What was said at run time of members of plans, on top of what the file says. A change survives a reload as long as the file
// says of that member what it said when it was changed, the plan is there, and the class's key can have the member; a restart
// forgets all.
//
// Main thread.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "vocabulary/config.hpp"

namespace headgate {

class MemberChanges {
 public:
  enum class Outcome { changed, unchanged, too_many };
  struct Result {
    Outcome outcome = Outcome::changed;
    PlanNumber before = kNoPlan;
    std::size_t members = 0;  // that the class has now
  };
  // `config` is the class as it is in force. Above kMaxMembers nothing is changed.
  Result change(const ShapeConfig& shape, const ClassConfig& config, const Member& member);

  // All members of the class now, in order.
  std::vector<Member> members_of(const ShapeConfig& shape, const ClassConfig& config) const;

  // What was changed since the class was put in force, for who knows its configuration only. kNoPlan: it is no member.
  std::vector<Member> since_in_force(const ShapeConfig& shape, const ClassConfig& config) const;

  // Puts what goes on into shapes that the file gave. Returns the changes as they are when these are in force. Says what must be
  // given up, for want of its plan or its key. Throws a sentence for the administrator where a class gets too many members.
  MemberChanges put_into(std::vector<ShapeConfig>& next, std::vector<std::string>& messages) const;

 private:
  using ClassName =
      std::tuple<std::string, Direction, std::string>;  // interface or pattern, direction, class
  struct ClassChanges {
    std::vector<std::string> plans;  // their names, by number
    MemberList in_file;
    std::map<Prefix, PlanNumber> changes;  // each says something else than the file
    std::size_t members = 0;               // in all
    std::size_t given_up = 0;              // of those before
  };

  static ClassName name_of(const ShapeConfig& shape, const ClassConfig& config);
  const ClassChanges* find(const ShapeConfig& shape, const ClassConfig& config) const;
  static ClassChanges going_on(const ClassChanges& before, const ClassConfig& next);

  std::map<ClassName, ClassChanges> classes_;
};

}  // namespace headgate
