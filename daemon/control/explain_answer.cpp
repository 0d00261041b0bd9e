#include "control/explain_answer.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "config/json_values.hpp"
#include "config/keys.hpp"
#include "config/quantity_text.hpp"
#include "control/flow_key_text.hpp"
#include "control/request_members.hpp"
#include "control/statistics_json.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostFrameBytes = 65'535 + kEthernetHeaderBytes;
constexpr std::size_t kTypeAt = 12;  // of an Ethernet frame

std::vector<std::byte> bytes_of(const std::string& digits) {
  std::vector<std::byte> bytes(digits.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char* const at = digits.data() + 2 * i;
    unsigned value = 0;
    const auto [end, error] = std::from_chars(at, at + 2, value, 16);
    if (error != std::errc() || end != at + 2 || digits.size() % 2 != 0)
      throw bad_request("member \"frame\" is not an even number of hexadecimal digits");
    bytes[i] = static_cast<std::byte>(value);
  }
  return bytes;
}

std::uint64_t number_of(const Json& request, const char* name, std::uint64_t least, std::uint64_t most) {
  const Json& value = request[name];
  if (value.is_number_unsigned())
    if (const auto number = value.get<std::uint64_t>(); number >= least && number <= most) return number;
  throw bad_request("member " + in_quotes(name) + " is not a whole number from " + std::to_string(least) +
                    " to " + std::to_string(most));
}

// What the request does not have of the frame are zeros.
std::vector<std::byte> frame_of(const Json& request) {
  std::vector<std::byte> frame = bytes_of(text(member(request, "frame"), "frame"));
  if (frame.size() < kEthernetHeaderBytes)
    throw bad_request("the frame has " + std::to_string(frame.size()) + " bytes, less than the " +
                      std::to_string(kEthernetHeaderBytes) + " of an Ethernet header");
  if (request.contains("length")) frame.resize(number_of(request, "length", frame.size(), kMostFrameBytes));
  return frame;
}

ExplainQuery query_of(const Json& request) {
  ExplainQuery query{.interface = text(member(request, "interface"), "interface"),
                     .direction = direction_of(request),
                     .frame = frame_of(request)};
  if (request.contains("mark"))
    query.mark =
        static_cast<std::uint32_t>(number_of(request, "mark", 0, std::numeric_limits<std::uint32_t>::max()));
  return query;
}

std::string title_of(const ShapeConfig& shape) {
  return shape.interface + " " + std::string(to_text(shape.direction));
}

std::string pattern_refusal(const std::string& pattern, const std::vector<std::string>& instances) {
  if (instances.empty()) return pattern + " is a pattern that no interface matches now";
  return pattern + " is a pattern, and a packet is of one interface: name one that matches";
}

RequestError no_such_shape(const ExplainQuery& query, const ExplainResult& result, DaemonControl& daemon) {
  std::vector<std::string> all, instances;
  for (const ShapeConfig* shape : result.instead) {
    all.push_back(title_of(*shape));
    if (shape->pattern == query.interface) instances.push_back(shape->interface);
    if (shape->interface == query.interface)
      return {kErrorUnknownInterface,
              query.interface + " is shaped, but its " + std::string(to_text(*query.direction)) + " is not",
              {title_of(*shape)}};
  }
  const auto templates = daemon.shapes();
  if (std::any_of(templates.begin(), templates.end(),
                  [&](const ShapeConfig* shape) { return shape->interface == query.interface; }))
    return {kErrorUnknownInterface, pattern_refusal(query.interface, instances), instances};
  return {kErrorUnknownInterface,
          in_quotes(query.interface) + " is not shaped" + (all.empty() ? ": nothing is" : "; what is:"), all};
}

// The key whose value the packet does not suit, as the configuration has it.
Json asked_by(ClassVerdict verdict, const ClassConfig& config) {
  constexpr std::pair<ClassVerdict, std::string_view> kKeys[] = {
      {ClassVerdict::control, "control"}, {ClassVerdict::dscp, "dscp"}, {ClassVerdict::source, "src"},
      {ClassVerdict::destination, "dst"}, {ClassVerdict::mark, "mark"}, {ClassVerdict::cgroup, "cgroup"},
      {ClassVerdict::match, "match"},
  };
  for (const auto& [of, name] : kKeys) {
    if (of != verdict) continue;
    for (const ClassKey& key : class_keys())
      if (key.name == name) return {{"key", name}, {"value", key.write(config)}};
  }
  return {{"key", nullptr}, {"value", nullptr}};
}

Json classes_json(const Explanation& explanation, const ShapeConfig& shape) {
  Json classes = Json::array();
  const std::size_t count = std::min(explanation.verdicts.size(), shape.classes.size());
  for (std::size_t i = 0; i < count; ++i) {
    const ClassVerdict verdict = explanation.verdicts[i];
    Json& one = classes.emplace_back(Json::object());
    one["name"] = shape.classes[i].name;
    one["verdict"] = kClassVerdictNames[static_cast<std::size_t>(verdict)];
    one.update(asked_by(verdict, shape.classes[i]));
  }
  return classes;
}

double microseconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1e3;
}

Json plan_json(const FlowOutlook& outlook, const ClassConfig& config) {
  return text_or_null(plan_name(outlook.plan, config));
}

Json flow_json(const Explanation& explanation, const FlowOutlook& outlook, const ClassConfig& config) {
  const DecodedFlowKey key = decode(explanation.key, config.key, plan_name(outlook.plan, config));
  return {{"known", outlook.known},
          {"text", to_text(key)},
          {"key", to_json(key)},
          {"plan", plan_json(outlook, config)},
          {"worker", explanation.worker},
          {"sent", to_json(outlook.sent)},
          {"dropped", to_json(outlook.dropped)},
          {"queued", to_json(outlook.queued)}};
}

// Of the flow's bucket, as it is now.
Rate rate_of(const FlowOutlook& outlook, const ClassConfig& config) {
  if (outlook.leased) return *outlook.leased;
  return outlook.plan < config.plans.size() ? config.plans[outlook.plan].rate : config.rate;
}

Json bucket_json(const FlowOutlook& outlook, const ClassConfig& config) {
  if (!outlook.bucket_opens_in) return nullptr;
  const bool has_plan = outlook.plan < config.plans.size();
  const Rate rate = rate_of(outlook, config);
  const Burst& burst = has_plan ? config.plans[outlook.plan].burst : config.burst;
  const QueueCapacity& queue = has_plan ? config.plans[outlook.plan].queue : config.queue;
  return {{"rate", list_json(to_text(rate))},
          {"burst", list_json(to_text(burst))},
          {"queue", list_json(to_text(queue))},
          {"opens_in_us", microseconds(*outlook.bucket_opens_in)}};
}

// Whose rate it is, and which.
Json held_by_json(const FlowOutlook& outlook, const ClassConfig& config) {
  Json held = {{"what", kHeldByNames[static_cast<std::size_t>(outlook.held_by)]},
               {"name", nullptr},
               {"rate", nullptr}};
  const bool has_plan = outlook.plan < config.plans.size();
  const Rate rate = rate_of(outlook, config);
  const std::string& owner = has_plan ? config.plans[outlook.plan].name : config.name;
  switch (outlook.held_by) {
    case HeldBy::packet_rate:
      held["name"] = owner;
      if (rate.packets) held["rate"] = to_text(*rate.packets);
      break;
    case HeldBy::bit_rate:
      held["name"] = owner;
      if (rate.bits) held["rate"] = to_text(*rate.bits);
      break;
    case HeldBy::ceiling:
      held["name"] = outlook.ceiling;
      if (outlook.ceiling_rate) held["rate"] = to_text(*outlook.ceiling_rate);
      break;
    case HeldBy::nothing:
    case HeldBy::turn:
      break;
  }
  return held;
}

void add_outlook(Json& reply, const Explanation& explanation, const ClassConfig& config) {
  const FlowOutlook& outlook = *explanation.outlook;
  const bool dropped = outlook.fate == Fate::dropped;
  reply["flow"] = flow_json(explanation, outlook, config);
  reply["bucket"] = bucket_json(outlook, config);
  reply["queued_in_class"] = to_json(outlook.queued_in_class);
  reply["fate"] = kFateNames[static_cast<std::size_t>(outlook.fate)];
  reply["reason"] = dropped ? Json(name_of(outlook.reason)) : Json();
  reply["wait_us"] = microseconds(outlook.wait);
  reply["wait_is_exact"] = outlook.wait_is_exact;
  reply["held_by"] = held_by_json(outlook, config);
}

Json to_json(const ExplainResult& result) {
  const ShapeConfig& shape = *result.shape;
  const Explanation& explanation = *result.explanation;
  const bool matched = explanation.class_index < shape.classes.size();
  Json reply = {{"schema", kSchema},
                {"interface", shape.interface},
                {"direction", to_text(shape.direction)},
                {"state", text_or_null(result.state)},
                {"charged", headgate::to_json(explanation.charged)},
                {"hook",
                 {{"verdict", kHookVerdictNames[static_cast<std::size_t>(explanation.hook)]},
                  {"why", text_or_null(explanation.why_hook_is_not_asked)}}},
                {"classes", classes_json(explanation, shape)},
                {"keeps_control_limit", explanation.keeps_control_limit},
                {"class", matched ? Json(shape.classes[explanation.class_index].name) : Json()},
                {"bypass", matched && shape.classes[explanation.class_index].bypass},
                {"flow", nullptr},
                {"bucket", nullptr},
                {"queued_in_class", nullptr},
                {"fate", "goes_on"},
                {"reason", nullptr},
                {"wait_us", nullptr},
                {"wait_is_exact", nullptr},
                {"held_by", nullptr}};
  if (explanation.outlook) add_outlook(reply, explanation, shape.classes[explanation.class_index]);
  return reply;
}

bool has_tag(const std::vector<std::byte>& frame) {
  if (frame.size() < kTypeAt + 2) return false;
  const unsigned type =
      std::to_integer<unsigned>(frame[kTypeAt]) << 8 | std::to_integer<unsigned>(frame[kTypeAt + 1]);
  return type == 0x8100 || type == 0x88a8;
}

}  // namespace

Json answer_explain(const Json& request, DaemonControl& daemon) {
  const ExplainQuery query = query_of(request);
  const ExplainResult result = daemon.explain(query);
  if (result.shape == nullptr) throw no_such_shape(query, result, daemon);
  if (result.link_header == LinkHeader::none && has_tag(query.frame))
    throw bad_request(query.interface + " has no Ethernet header, so its packets have no VLAN tag");
  if (!result.explanation) throw RequestError{kErrorRefused, "not explained: " + result.refusal, {}};
  return to_json(result);
}

}  // namespace headgate
