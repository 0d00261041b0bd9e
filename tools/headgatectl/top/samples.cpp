#include "top/samples.hpp"

#include <algorithm>
#include <utility>

#include "human_text.hpp"
#include "show_screen.hpp"

namespace headgate::top {
namespace {

using Json = Samples::Json;

const Json& list_of(const Json& json, const char* member) {
  static const Json kNone = Json::array();
  const auto found = json.find(member);
  return found == json.end() ? kNone : *found;
}

Totals totals_of(const Json& item) {
  return {.packets = item.at("sent").at("packets"),
          .bytes = item.at("sent").at("bytes"),
          .drops = item.at("dropped").at("packets")};
}

Totals class_totals(const Json& item) {
  Totals totals = totals_of(item);
  if (const auto delays = item.find("delays"); delays != item.end())
    totals.delays = delays->at("packets").get<std::vector<std::uint64_t>>();
  totals.p50 = item.at("delay_us").at("p50");
  totals.p99 = item.at("delay_us").at("p99");
  return totals;
}

std::string words(const Json& array) {
  std::string text;
  for (const Json& word : array) text += " " + word.get<std::string>();
  return text;
}

// "sent 14.0k packets 8.40 MB, dropped 7060: queue_full 7060"
std::string counts_line(const Json& item) {
  const Json &sent = item.at("sent"), &dropped = item.at("dropped");
  std::string line = "sent " + packets_text(sent.at("packets")) + " packets " + bytes_text(sent.at("bytes")) +
                     ", dropped " + packets_text(dropped.at("packets"));
  std::string reasons;
  for (const auto& [reason, count] : list_of(dropped, "reasons").items()) {
    const std::uint64_t packets = count.at("packets");
    if (packets != 0) reasons += (reasons.empty() ? ": " : ", ") + reason + " " + packets_text(packets);
  }
  return line + reasons;
}

std::string class_line(const std::string& key, const Json& item) {
  if (item.at("bypass")) return key + ": not shaped, its flows are not told apart";
  std::string line = key + ": " + limits_text(item);
  if (!list_of(item, "key").empty()) line += ", key" + words(item["key"]);
  if (!list_of(item, "queue").empty()) line += ", queue" + words(item["queue"]);
  const auto held_by = item.find("held_by");
  if (held_by != item.end() && held_by->is_string())
    line += *held_by == item.at("name") ? ", held back by its ceiling"
                                        : ", held back by " + held_by->get<std::string>();
  return line;
}

std::string link_line(const Row& row, const Json& shape) {
  if (!row.trouble.empty()) return row.name + ": " + row.trouble;
  return row.name + ": diverting by " + shape.at("divert").get<std::string>();
}

std::string link_counts_line(const Json& shape) {
  std::string line = counts_line(shape);
  const auto add = [&](const std::string& what, const Json& packets) {
    if (packets != 0) line += ", " + what + " " + packets_text(packets);
  };
  add("lost before headgate", shape.at("lost").at("ring").at("packets").get<std::uint64_t>() +
                                  shape.at("lost").at("device").at("packets").get<std::uint64_t>());
  add("passed unshaped", shape.at("unshaped").at("packets"));
  return line;
}

std::string trouble_of(const Json& shape) {
  const std::string state = shape.at("state");
  if (!state.empty() || shape.at("diverting")) return state;
  if (shape.contains("interfaces") && shape["interfaces"].empty()) return "no interface matches";
  return "not diverting, traffic is not shaped";
}

Row link_row(const std::string& key, const Json& shape) {
  Row row{.key = key,
          .name = link_name(shape),
          .limit = link_limit(shape),
          .trouble = trouble_of(shape),
          .queued = shape.at("queued").at("packets"),
          .opens = true};
  row.details = {link_line(row, shape), link_counts_line(shape)};
  return row;
}

Row class_row(const std::string& link, const Json& item) {
  const std::string name = item.at("name");
  const bool bypass = item.at("bypass");
  Row row{.key = link + "/" + name,
          .name = name,
          .limit = bypass ? "bypass" : limits_text(item),
          .queued = item.at("queued").at("packets"),
          .flows = item.at("flows"),
          .opens = !bypass};
  row.details = {class_line(row.key, item), counts_line(item)};
  return row;
}

Row unmatched_row(const std::string& link, const Json& unmatched) {
  const std::uint64_t packets = unmatched.at("packets"), bytes = unmatched.at("bytes");
  return {.key = link + "/(unmatched)",
          .name = "(unmatched)",
          .limit = "unshaped",
          .details = {"packets that no class matched",
                      "sent " + packets_text(packets) + " packets " + bytes_text(bytes)}};
}

Row flow_row(const Json& flow, bool several_classes) {
  const std::string class_name = flow.at("class"), text = flow.at("text");
  const Json plan = flow.value("plan", Json());
  Row row{.key = class_name + " " + flow.at("key").dump(),
          .name = several_classes ? class_name + ": " + text : text,
          .limit = plan.is_string() ? plan.get<std::string>() : "",
          .queued = flow.at("queued").at("packets")};
  row.details = {class_name + ": " + text + (row.limit.empty() ? "" : ", plan " + row.limit),
                 counts_line(flow)};
  return row;
}

using Histories = std::map<std::string, History>;

Histories histories_of(Rows& rows) {
  Histories histories;
  for (Row& row : rows) histories.emplace(row.key, std::move(row.history));
  return histories;
}

void keep_history(Row& row, Histories& histories) {
  const auto found = histories.find(row.key);
  if (found != histories.end()) row.history = std::move(found->second);
}

void set_longest_delays(Row& link, const Rows& classes) {
  Sample longest;
  for (const Row& row : classes) {  // nothing is less than any delay
    longest.p50 = std::max(longest.p50, row.history.latest().p50);
    longest.p99 = std::max(longest.p99, row.history.latest().p99);
  }
  link.history.set_delays(longest.p50, longest.p99);
}

Json head_of(const Json& reply) {
  return {{"pid", reply.at("pid")}, {"uptime_s", reply.at("uptime_s")}};
}

}  // namespace

void Samples::add_show(const Json& reply) {
  seconds_ = seconds_between(show_, reply);
  daemon_ = daemon_line(reply);
  delay_bounds_ = list_of(reply, "delay_bounds_us").get<std::vector<double>>();
  Rows links;
  std::map<std::string, Rows> classes;
  for (const Json& shape : reply.at("shapes")) add_shape(shape, links, classes);
  for (const Json& pattern : list_of(reply, "patterns")) add_shape(pattern, links, classes);
  links_ = std::move(links);
  classes_ = std::move(classes);
  show_ = head_of(reply);
}

void Samples::add_shape(const Json& shape, Rows& links, std::map<std::string, Rows>& classes) {
  const std::string key =
      shape.at("interface").get<std::string>() + "/" + shape.at("direction").get<std::string>();
  Histories histories = histories_of(classes_[key]);
  const auto take = [&](Row row, Totals totals) {
    keep_history(row, histories);
    row.history.add(std::move(totals), seconds_, delay_bounds_);
    classes[key].push_back(std::move(row));
  };
  Row link = link_row(key, shape);
  for (const Json& item : shape.at("classes")) {
    take(class_row(key, item), class_totals(item));
    link.flows += classes[key].back().flows;
  }
  const Json& unmatched = shape.at("unmatched");
  take(unmatched_row(key, unmatched), {.packets = unmatched.at("packets"), .bytes = unmatched.at("bytes")});

  const auto before =
      std::find_if(links_.begin(), links_.end(), [&](const Row& row) { return row.key == key; });
  if (before != links_.end()) link.history = std::move(before->history);
  link.history.add(totals_of(shape), seconds_, {});
  set_longest_delays(link, classes[key]);
  links.push_back(std::move(link));
}

void Samples::add_flows(const std::string& class_name, const Json& reply) {
  Histories histories;
  double seconds = 0;
  if (class_name == open_class_) {
    histories = histories_of(flows_);
    seconds = seconds_between(flows_reply_, reply);
  }
  flows_in_all_ = 0;
  for (const Json& item : reply.at("classes")) flows_in_all_ += item.at("flows").get<std::uint64_t>();
  Rows flows;
  for (const Json& flow : reply.at("flows")) {
    flows.push_back(flow_row(flow, flow.at("class") != class_name));
    keep_history(flows.back(), histories);
    flows.back().history.add(totals_of(flow), seconds, {});
  }
  flows_ = std::move(flows);
  open_class_ = class_name;
  flows_reply_ = head_of(reply);
}

const Rows& Samples::classes_of(const std::string& link) const {
  static const Rows kNone;
  const auto found = classes_.find(link);
  return found == classes_.end() ? kNone : found->second;
}

const Rows& Samples::flows_of(const std::string& class_name) const {
  static const Rows kNone;
  return knows_flows_of(class_name) ? flows_ : kNone;
}

}  // namespace headgate::top
