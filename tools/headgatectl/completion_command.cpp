// headgatectl completion: the scripts for shells, and the names that they ask for.
#include "completion.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "completion_names.hpp"
#include "config/suggestion.hpp"
#include "control_client.hpp"
#include "invocation.hpp"
#include "output.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

// Somebody has pressed a key.
constexpr std::chrono::seconds kCompletionPatience(1);

Json shown(const Invocation& invocation) {
  return ask_daemon(invocation.control, {{"command", "show"}, {"instances", false}}, kCompletionPatience);
}

struct Completion {
  std::string_view name;
  std::string (*script)(const std::vector<Command>& commands);  // null: it is a list of names
  std::set<std::string> (*names)(const Invocation& invocation);
};

constexpr std::array kCompletions = {
    Completion{"bash", bash_completion, nullptr},
    Completion{"zsh", zsh_completion, nullptr},
    Completion{"fish", fish_completion, nullptr},
    Completion{kind_name(Completes::class_name), nullptr,
               [](const Invocation& invocation) { return class_names(shown(invocation)); }},
    Completion{kind_name(Completes::plan), nullptr,
               [](const Invocation& invocation) {
                 return plan_names(shown(invocation), invocation.operand("CLASS"));
               }},
    Completion{kind_name(Completes::interface), nullptr, [](const Invocation&) { return interface_names(); }},
    Completion{kind_name(Completes::class_key), nullptr, [](const Invocation&) { return key_names(); }},
};

const Completion& find_completion(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Completion& completion : kCompletions) {
    if (completion.name == name) return completion;
    names.push_back(completion.name);
  }
  throw UsageError("no completion \"" + name + "\", " + suggest(name, names));
}

// No names where no headgated answers: a line that is being typed is no place for errors.
std::string lines_of_names(const Completion& completion, const Invocation& invocation) {
  std::string lines;
  try {
    for (const std::string& name : completion.names(invocation)) lines += name + "\n";
  } catch (const ControlError&) {
  } catch (const Json::exception&) {
  }
  return lines;
}

int complete(const Invocation& invocation) {
  const Completion& completion = find_completion(invocation.operand("SHELL"));
  print(completion.script ? completion.script(commands()) : lines_of_names(completion, invocation));
  return kExitOk;
}

}  // namespace

Command completion_command() {
  return {
      .name = "completion",
      .operands = {{.name = "SHELL", .completes = Completes::shell},
                   {.name = "CLASS", .occurs = Occurs::at_most_once, .completes = Completes::class_name}},
      .summary = "the script that lets bash, zsh or fish complete a command line",
      .details =
          "Prints the completion script for SHELL: bash, zsh or fish. The packages have installed it. In "
          "the\n"
          "place of SHELL may stand what the scripts ask for: classes, interfaces, keys, or plans, those of\n"
          "CLASS if that is given. It prints their names, one a line, and none where no headgated answers.",
      .examples = {"headgatectl completion bash > ~/.local/share/bash-completion/completions/headgatectl",
                   "headgatectl completion classes"},
      .run = complete,
  };
}

}  // namespace headgate
