// headgatectl set: keys of a class, a group or a link get other values while headgated runs.
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <span>

#include "change_reply.hpp"
#include "commands.hpp"
#include "input_requests.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

bool is_whole_number(const std::string& text) {
  long long number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// "500pps" is a text, "2" a number, "true" a flag, and what begins with a bracket or a quotation mark stands as in the file.
Json value_of(const std::string& text) {
  if (text.empty()) return nullptr;
  if (text == "true" || text == "false") return text == "true";
  if (is_whole_number(text)) return std::stoll(text);
  if (text.front() != '[' && text.front() != '"') return text;
  try {
    return Json::parse(text);
  } catch (const Json::exception&) {
    throw UsageError("\"" + text +
                     "\" is no list and no text of the configuration, expected such as [\"1000pps\", "
                     "\"20mbit\"]; mind the quotation marks of the shell");
  }
}

Json request_of(const Invocation& invocation, const std::string& class_name,
                std::span<const std::string> words) {
  if (words.empty()) throw UsageError("expected CLASS KEY=VALUE, as in clients rate=500pps");
  Json request = {{"command", "set"}, {"class", class_name}, {"values", Json::object()}};
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError("\"" + word + "\" is no KEY=VALUE, expected such as rate=500pps");
    const std::string key = word.substr(0, equals);
    if (request["values"].contains(key)) throw UsageError("key \"" + key + "\" is given twice");
    request["values"][key] = value_of(word.substr(equals + 1));
  }
  add_time(invocation, request);
  return request;
}

int set(const Invocation& invocation) {
  const std::string class_name = invocation.operand("CLASS");
  if (class_name != "-") {
    const std::vector<std::string> words = invocation.operands("KEY=VALUE");
    return change(invocation, request_of(invocation, class_name, words), "set" + time_text(invocation));
  }
  const auto request = [&](const std::vector<std::string>& words) {
    return request_of(invocation, words.front(), std::span(words).subspan(1));
  };
  return send_input(invocation,
                    {.request = request, .changes_nothing = nullptr, .names_classes = true, .noun = "value"});
}

}  // namespace

Command set_command() {
  return {
      .name = "set",
      .operands = {{.name = "CLASS", .completes = Completes::class_name, .alternative = "-"},
                   {.name = "KEY=VALUE", .occurs = Occurs::at_least_once, .completes = Completes::class_key}},
      .options = {for_option(), quiet_option()},
      .summary = "give keys of a class, a group or a link other values",
      .details =
          "Puts other values of keys in force, all or none, without a reload and without loss: of a class, "
          "of\n"
          "a group, or with eth0/egress of the link itself. The keys are those of headgate.toml(5);\n"
          "plan.NAME.KEY is a key of a plan, and KEY= without a value is as if the file did not say it. "
          "What\n"
          "was set survives a reload as long as the file says of the key what it said then, and a restart\n"
          "when headgatectl save has written it. headgatectl undo takes it back. With - it reads lines\n"
          "\"CLASS KEY=VALUE\" from standard input and sends all over one connection.",
      .examples = {"headgatectl set clients rate=500pps", "headgatectl set eth0/egress rate=80mbit --quiet",
                   "headgatectl set guests ceiling=5mbit weight=1 --for 2h",
                   "headgatectl set customers plan.gold.rate=50mbit"},
      .run = set,
  };
}

}  // namespace headgate
