// headgatectl top: a screen that follows links, classes and flows.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "config/suggestion.hpp"
#include "control_client.hpp"
#include "invocation.hpp"
#include "option_value.hpp"
#include "top/full_screen.hpp"
#include "top/plain_output.hpp"
#include "top/requests.hpp"
#include "top/terminal.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

std::any read_sort(const std::string& text) {
  const auto found = std::find(top::kSortNames.begin(), top::kSortNames.end(), text);
  if (found != top::kSortNames.end()) return static_cast<top::SortBy>(found - top::kSortNames.begin());
  throw WrongValue(list_of_words(top::kSortNames));
}

void open_class(top::View& view, const std::string& full_name) {
  view.level = top::Level::flows;
  view.class_name = full_name;
  // An interface has no slash in its name, and neither has a direction.
  view.link = full_name.substr(0, full_name.find('/', full_name.find('/') + 1));
}

// Links whose interface, or whose interface and direction, are named so.
std::vector<std::string> links_named(const top::Samples& samples, const std::string& name) {
  std::vector<std::string> found;
  for (const top::Row& link : samples.links())
    if (name.empty() || link.key == name || link.key.starts_with(name + "/")) found.push_back(link.key);
  return found;
}

// headgated says what a class's name stands for, and what is wrong with it.
void open_named(top::View& view, const Invocation& invocation, const std::string& name) {
  const Json reply = ask_daemon(invocation.control, {{"command", "flows"}, {"class", name}, {"limit", 1}});
  const Json& found = reply.at("classes").at(0);
  if (found.at("bypass"))
    throw ControlError(
        kExitUsage, std::string(kErrorUnknownClass),
        found.at("name").get<std::string>() + " is a bypass class: its flows are not told apart");
  open_class(view, found.at("name"));
}

std::vector<std::string> ask_links(const top::View& view, const Invocation& invocation,
                                   const std::string& name) {
  top::Samples samples;
  samples.add_show(ask_daemon(invocation.control, top::show_request(view)));
  return links_named(samples, name);
}

// One link is opened, several of an interface are filtered for. Who names one of a pattern sees each of it.
top::View first_view(const Invocation& invocation) {
  top::View view;
  view.interval = invocation.value<Duration>("interval").value_or(view.interval);
  view.sort = invocation.value<top::SortBy>("sort").value_or(view.sort);
  view.instances = invocation.has("all");
  const std::string name = invocation.operand("CLASS|INTERFACE");
  std::vector<std::string> links = ask_links(view, invocation, name);
  if (links.empty() && !name.empty() && !view.instances) {
    view.instances = true;
    links = ask_links(view, invocation, name);
    view.instances = !links.empty();
  }
  if (links.size() == 1) {
    view.level = top::Level::classes;
    view.link = links.front();
  } else if (links.size() > 1) {
    view.place().filter = name;
  } else if (!name.empty()) {
    open_named(view, invocation, name);
    view.instances = view.instances || ask_links(view, invocation, view.link).empty();
  }
  return view;
}

int run_top(const Invocation& invocation) {
  const top::Task task{.control = invocation.control,
                       .view = first_view(invocation),
                       .rounds = invocation.value<std::uint64_t>("rounds")};
  if (!invocation.json && top::can_show_screens()) {
    top::show_full_screen(task);
  } else {
    top::show_plainly(task, invocation.json);
  }
  return kExitOk;
}

}  // namespace

Command top_command() {
  return {
      .name = "top",
      .operands = {{.name = "CLASS|INTERFACE",
                    .occurs = Occurs::at_most_once,
                    .completes = Completes::class_name}},
      .options = {{.letter = 'i',
                   .name = "interval",
                   .value = "SECONDS",
                   .help = "look every SECONDS, each second unless given",
                   .read = seconds(0.1, 86'400)},
                  {.letter = 's',
                   .name = "sort",
                   .value = "BY",
                   .help = "rate, drops, delay, queue or name; by rate unless given",
                   .read = read_sort},
                  {.letter = 'a', .name = "all", .help = "show each interface of a pattern, too"},
                  {.letter = 'n',
                   .name = "rounds",
                   .value = "N",
                   .help = "end after N rounds, those without an answer among them",
                   .read = number_from(1)}},
      .summary = "a screen that follows links, classes and flows",
      .details =
          "Rates, drops and delays of each link, with what they were lately as small charts. Enter opens a\n"
          "link's classes and a class's flows, Esc goes back, ? tells the keys. It begins with what is "
          "named:\n"
          "an interface, or a class as for flows. Where output is no terminal it prints a table for each "
          "look,\n"
          "with -j a line of JSON, until interrupted.",
      .examples = {"headgatectl top", "headgatectl top eth0/egress/clients -i 5 --sort drops",
                   "headgatectl -j top -n 1 | jq '.classes[] | {name, drops_per_second}'"},
      .run = run_top,
  };
}

}  // namespace headgate
