// How usage writes a command, its operands and its options: for help, for the manual page and in messages.
#pragma once

#include <string>
#include <string_view>

#include "command.hpp"

namespace headgate {

inline bool may_repeat(const Operand& operand) {
  return operand.occurs == Occurs::at_least_once || operand.occurs == Occurs::any_times;
}

inline bool may_lack(const Operand& operand) {
  return operand.occurs == Occurs::at_most_once || operand.occurs == Occurs::any_times;
}

std::string short_form(const Option& option);  // "-n N", "-w [SECONDS]", "--received"
std::string long_form(const Option& option);   // "-w, --watch[=SECONDS]", as the list of options has it

std::string operands_text(const Command& command);  // "CLASS {MEMBER PLAN | -}"
std::string usage_of(const Command& command);       // "flows [CLASS] [-n N] [-w [SECONDS]]"

std::string with_article(std::string_view name);  // "a CLASS", "an INTERFACE", "an N"

}  // namespace headgate
