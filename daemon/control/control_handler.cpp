#include "control/control_handler.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "config/suggestion.hpp"
#include "control/both_ways.hpp"
#include "control/class_flows.hpp"
#include "control/class_lookup.hpp"
#include "control/explain_answer.hpp"
#include "control/live_answers.hpp"
#include "control/plan_request.hpp"
#include "control/request_error.hpp"
#include "control/statistics_json.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDeepestRequest = 8;  // requests are flat; nothing deeper is worth parsing

// `flows` without a class looks at all of them, each of which costs a walk over the flow table of its shape.
constexpr std::size_t kMaxClassesAtOnce = 16;

std::string reply_line(const Json& reply) {
  // Names of interfaces and files may hold any byte; JSON may not.
  return reply.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string error_line(const RequestError& error) {
  Json json = {{"code", error.code}, {"message", error.message}};
  if (!error.details.empty()) json["details"] = error.details;
  return reply_line({{"schema", kSchema}, {"error", std::move(json)}});
}

// What `answer` throws becomes an error reply.
template <typename Answer>
Reply or_error(const Answer& answer) {
  try {
    return answer();
  } catch (const RequestError& error) {
    return {error_line(error)};
  } catch (const std::exception& error) {
    return {error_line({kErrorInternal, error.what(), {}})};
  }
}

struct Request {
  std::string command;
  std::string class_name;
  std::optional<std::string> member;
  std::optional<std::string> plan;
  bool has_plan = false;  // it may be null
  std::size_t limit = kDefaultFlowLimit;
  PacketEventSet events{true, true, true};
  bool instances = true;  // each instance of a pattern, too
  bool both = false;      // a class and that of the other direction
  Json members;           // all, as they were sent
};

Json parse_object(std::string_view line) {
  auto refuse_depth = [](int depth, Json::parse_event_t, Json&) {
    if (depth > kDeepestRequest) throw RequestError{kErrorBadRequest, "the request is nested too deeply", {}};
    return true;
  };
  auto not_json = [](std::size_t byte) {
    return RequestError{kErrorBadRequest, "the request is not JSON: see byte " + std::to_string(byte), {}};
  };
  // The parser would take a zero byte for the end.
  if (const std::size_t zero = line.find('\0'); zero != std::string_view::npos) throw not_json(zero + 1);
  Json json;
  try {
    json = Json::parse(line, refuse_depth);
  } catch (const Json::parse_error& error) {
    throw not_json(error.byte);
  } catch (const Json::exception&) {
    throw RequestError{kErrorBadRequest, "the request holds a number out of range", {}};
  }
  if (!json.is_object()) throw RequestError{kErrorBadRequest, "the request is not a JSON object", {}};
  return json;
}

std::string string_member(const std::string& name, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  throw RequestError{kErrorBadRequest, "member " + in_quotes(name) + " is not a string", {}};
}

std::optional<std::string> string_or_null(const std::string& name, const Json& value) {
  if (value.is_null()) return std::nullopt;
  if (value.is_string()) return value.get<std::string>();
  throw RequestError{kErrorBadRequest, "member " + in_quotes(name) + " is neither a string nor null", {}};
}

std::size_t limit_member(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto limit = value.get<std::uint64_t>();
    if (limit >= 1 && limit <= kMaxFlowLimit) return limit;
  }
  throw RequestError{kErrorBadRequest,
                     "member \"limit\" is not a whole number from 1 to " + std::to_string(kMaxFlowLimit),
                     {}};
}

bool flag_member(const std::string& name, const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  throw RequestError{kErrorBadRequest, "member " + in_quotes(name) + " is not true or false", {}};
}

RequestError bad_events() {
  std::string message = "member \"events\" is not an array of one or more of:";
  for (const std::string_view name : kPacketEventNames) message += " " + in_quotes(name);
  return {kErrorBadRequest, message, {}};
}

PacketEventSet events_member(const Json& value) {
  if (!value.is_array() || value.empty()) throw bad_events();
  PacketEventSet events{};
  for (const Json& item : value) {
    const auto found = item.is_string() ? std::find(kPacketEventNames.begin(), kPacketEventNames.end(),
                                                    item.get_ref<const std::string&>())
                                        : kPacketEventNames.end();
    if (found == kPacketEventNames.end()) throw bad_events();
    events[static_cast<std::size_t>(found - kPacketEventNames.begin())] = true;
  }
  return events;
}

RequestError missing_member(std::string_view name) {
  return {kErrorBadRequest, "the request has no member " + in_quotes(name), {}};
}

// Read where they are needed: control/live_answers.hpp, control/explain_answer.hpp.
bool is_member_of_some(std::string_view name) {
  constexpr std::string_view kNames[] = {"values", "for_s", "interface", "direction", "rate",   "key",
                                         "file",   "bytes", "confirm_s", "frame",     "length", "mark"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

Request parse_request(std::string_view line) {
  Json json = parse_object(line);
  Request request;
  for (const auto& [name, value] : json.items()) {
    if (name == "command") {
      request.command = string_member(name, value);
    } else if (name == "class") {
      request.class_name = string_member(name, value);
    } else if (name == "member") {
      request.member = string_member(name, value);
    } else if (name == "plan") {
      request.has_plan = true;
      request.plan = string_or_null(name, value);
    } else if (name == "limit") {
      request.limit = limit_member(value);
    } else if (name == "events") {
      request.events = events_member(value);
    } else if (name == "both") {
      request.both = flag_member(name, value);
    } else if (name == "instances") {
      request.instances = flag_member(name, value);
    } else if (!is_member_of_some(name)) {
      throw RequestError{kErrorBadRequest, "unknown member " + in_quotes(name) + " in the request", {}};
    }
  }
  if (!json.contains("command")) throw missing_member("command");
  request.members = std::move(json);
  return request;
}

Json status_reply(const DaemonStatus& status) {
  const double uptime = std::chrono::duration<double>(status.uptime).count();
  return {{"schema", kSchema},
          {"version", status.version},
          {"pid", status.pid},
          {"uptime_s", uptime},
          {"config", status.config_path.empty() ? Json() : Json(status.config_path)}};
}

Json answer_version(const Request&, DaemonControl& daemon) {
  return status_reply(daemon.status());
}

Json answer_show(const Request& request, DaemonControl& daemon) {
  const DaemonStatus status = daemon.status();
  Json reply = status_reply(status);
  reply["kernel_lacks"] = status.kernel_lacks;
  reply["delay_bounds_us"] = delay_bounds_json();
  Json& shapes = reply["shapes"] = Json::array();
  for (const ShapeStatistics& shape : status.shapes)
    if (request.instances || shape.config.pattern.empty()) shapes.push_back(to_json(shape));
  Json& patterns = reply["patterns"] = Json::array();
  for (const PatternStatistics& pattern : status.patterns) patterns.push_back(to_json(pattern));
  Json& budgets = reply["budgets"] = Json::array();
  for (const BudgetStatistics& budget : status.budgets) budgets.push_back(to_json(budget));
  return reply;
}

std::vector<FoundClass> find_classes(const DaemonStatus& status, std::string_view name) {
  return find_classes(status.shapes, status.patterns, name);
}

std::vector<std::string> full_names(const std::vector<FoundClass>& classes) {
  std::vector<std::string> names;
  names.reserve(classes.size());
  for (const FoundClass& one : classes) names.push_back(one.name);
  return names;
}

RequestError no_such_class(const DaemonStatus& status, const std::string& name) {
  return unknown_class(name, full_names(find_classes(status, "")));
}

std::vector<FoundClass> select_classes(const DaemonStatus& status, const std::string& name) {
  std::vector<FoundClass> found = find_classes(status, name);
  if (name.empty()) {
    if (found.size() <= kMaxClassesAtOnce) return found;
    throw RequestError{
        kErrorAmbiguousClass,
        "there are too many classes to show the flows of all, name one of:", full_names(found)};
  }
  if (found.empty()) throw no_such_class(status, name);
  if (found.size() > 1) throw ambiguous_class(name, full_names(found));
  return found;
}

Json class_summary(const std::string& name, const ClassConfig& config, std::size_t flows) {
  return {{"name", name}, {"bypass", config.bypass}, {"has_plans", !config.plans.empty()}, {"flows", flows}};
}

Json answer_flows(const Request& request, DaemonControl& daemon) {
  const DaemonStatus status = daemon.status();
  if (request.both) {
    if (request.class_name.empty()) throw missing_member("class");
    Json reply = status_reply(status);
    reply.update(both_ways_json(status, request.class_name, request.limit, daemon));
    return reply;
  }
  const std::vector<FoundClass> found = select_classes(status, request.class_name);
  Json reply = status_reply(status);
  Json& classes = reply["classes"] = Json::array();
  for (const FoundClass& one : found)
    classes.push_back(class_summary(one.name, *one.config, flow_records(one)));
  Json& flows = reply["flows"] = Json::array();
  for (const FlowOfClass& item : collect_flows(found, request.limit, daemon)) {
    flows.push_back(to_json(item.flow, *item.config, full_class_name(*item.shape, item.config->name)));
  }
  return reply;
}

Json answer_plan(const Request& request, DaemonControl& daemon, const std::string& who) {
  if (request.class_name.empty()) throw missing_member("class");
  if (!request.member) throw missing_member("member");
  const auto rate = request.members.find("rate");
  const bool has_rate = rate != request.members.end();
  if (!request.has_plan && !has_rate) throw missing_member("plan");
  return answer(PlanRequest{.class_name = request.class_name,
                            .member = *request.member,
                            .plan = request.plan,
                            .rate = has_rate ? string_member("rate", *rate) : std::string(),
                            .time = time_of(request.members)},
                daemon, who);
}

// A trace has the packets of one interface.
RequestError several_interfaces(const FoundClass& found) {
  if (found.shapes.empty()) {
    return {kErrorRefused,
            "no capture: " + found.name + " is a class of a pattern that no interface matches now",
            {}};
  }
  return {kErrorRefused,
          "no capture: " + found.name +
              " is the class of all interfaces that match, and a trace is of one: "
              "write " +
              full_class_name(*found.shapes.front(), found.config->name) +
              (found.shapes.size() > 1 ? ", or that of another interface" : ""),
          {}};
}

// The trace follows the reply.
Reply answer_capture(const Request& request, DaemonControl& daemon) {
  const DaemonStatus status = daemon.status();
  if (request.class_name.empty()) throw missing_member("class");
  const FoundClass found = select_classes(status, request.class_name).front();
  if (found.of_pattern) throw several_interfaces(found);
  const ShapeStatistics& shape = *found.shapes.front();
  CaptureResult result = daemon.capture({.interface = shape.interface,
                                         .direction = shape.direction,
                                         .class_name = found.config->name,
                                         .events = request.events});
  if (!result.stream) throw RequestError{kErrorRefused, "no capture: " + result.refusal, {}};
  Json reply = status_reply(status);
  reply["class"] = found.name;
  reply["events"] = Json::array();
  for (std::size_t i = 0; i < kPacketEventCount; ++i) {
    if (request.events[i]) reply["events"].push_back(kPacketEventNames[i]);
  }
  reply["format"] = "pcapng";
  return {reply_line(reply), std::move(result.stream)};
}

struct Asked {
  const Request& request;
  DaemonControl& daemon;
  const std::string& who;
};

template <Json (*answer)(const Request&, DaemonControl&)>
Reply look(const Asked& asked) {
  return {reply_line(answer(asked.request, asked.daemon))};
}

template <Json (*answer)(DaemonControl&)>
Reply look(const Asked& asked) {
  return {reply_line(answer(asked.daemon))};
}

template <Json (*answer)(const Json&, DaemonControl&, const std::string&)>
Reply change(const Asked& asked) {
  return {reply_line(answer(asked.request.members, asked.daemon, asked.who))};
}

template <Json (*answer)(DaemonControl&, const std::string&)>
Reply change(const Asked& asked) {
  return {reply_line(answer(asked.daemon, asked.who))};
}

Reply change_plan(const Asked& asked) {
  return {reply_line(answer_plan(asked.request, asked.daemon, asked.who))};
}

Reply explain(const Asked& asked) {
  return {reply_line(answer_explain(asked.request.members, asked.daemon))};
}

Reply capture(const Asked& asked) {
  return answer_capture(asked.request, asked.daemon);
}

// The file follows the request.
Reply begin_try(const Asked& asked) {
  Reply reply{.line = {}, .body = try_bytes(asked.request.members)};
  reply.with_body = [members = asked.request.members, &daemon = asked.daemon,
                     who = asked.who](std::string text) {
    return or_error([&] { return Reply{reply_line(answer_try(members, std::move(text), daemon, who))}; });
  };
  return reply;
}

struct Command {
  std::string_view name;
  bool changes;  // what is in force: not everybody may
  Reply (*answer)(const Asked&);
};

constexpr Command kCommands[] = {{"show", false, look<answer_show>},
                                 {"flows", false, look<answer_flows>},
                                 {"explain", false, explain},
                                 {"capture", false, capture},
                                 {"version", false, look<answer_version>},
                                 {"diff", false, look<answer_diff>},
                                 {"save", false, look<answer_save>},
                                 {"reload", true, change<answer_reload>},
                                 {"plan", true, change_plan},
                                 {"set", true, change<answer_set>},
                                 {"limit", true, change<answer_limit>},
                                 {"unlimit", true, change<answer_unlimit>},
                                 {"try", true, begin_try},
                                 {"confirm", true, change<answer_confirm>},
                                 {"undo", true, change<answer_undo>}};

RequestError not_permitted(const Request& request, const Requester& requester) {
  return {
      kErrorNotPermitted,
      requester.name + " may look at headgated, and not change it: " + request.command + " is not permitted",
      {"Run as root, or have root name a group of yours: [daemon] operators = \"GROUP\", and restart "
       "headgated"}};
}

Reply answer(const Request& request, DaemonControl& daemon, const Requester& requester) {
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) {
    names.push_back(command.name);
    if (command.name != request.command) continue;
    if (command.changes && !requester.may_change) throw not_permitted(request, requester);
    return command.answer({request, daemon, requester.name});
  }
  throw RequestError{kErrorBadRequest,
                     "unknown command " + in_quotes(request.command) + ", " + suggest(request.command, names),
                     {}};
}

}  // namespace

Reply handle_request(std::string_view line, DaemonControl& daemon, const Requester& requester) {
  Reply reply = or_error([&] { return answer(parse_request(line), daemon, requester); });
  // Else what comes behind it would be taken for requests.
  if (reply.body == 0 && line.find("\"bytes\"") != std::string_view::npos) reply.close = true;
  return reply;
}

}  // namespace headgate
