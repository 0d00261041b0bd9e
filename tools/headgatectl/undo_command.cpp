// headgatectl undo: takes back the last change.
#include <nlohmann/json.hpp>

#include "change_reply.hpp"
#include "commands.hpp"

namespace headgate {
namespace {

int undo(const Invocation& invocation) {
  return change(invocation, {{"command", "undo"}}, "what was in force before is in force again");
}

}  // namespace

Command undo_command() {
  return {
      .name = "undo",
      .options = {quiet_option()},
      .summary = "take back the last change at run time, up to ten",
      .details =
          "Takes back the last change that reload, set, limit, unlimit, plan or try made, and given again "
          "the\n"
          "one before, up to ten. While a trial is under way it ends that. Files stay as they are.",
      .examples = {"headgatectl undo"},
      .run = undo,
  };
}

}  // namespace headgate
