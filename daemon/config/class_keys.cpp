#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "config/bucket_values.hpp"
#include "config/cgroup_grammar.hpp"
#include "config/characters.hpp"
#include "config/choices.hpp"
#include "config/dscp_grammar.hpp"
#include "config/json_values.hpp"
#include "config/key_grammar.hpp"
#include "config/keys.hpp"
#include "config/mark_grammar.hpp"
#include "config/names.hpp"
#include "config/quantity.hpp"
#include "config/quantity_text.hpp"
#include "config/tree_values.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

Reading read_name(const std::string& text, std::string& name) {
  Reading reading = check_class_name(text);
  if (reading.ok()) name = text;
  return reading;
}

// Whether it is an expression is seen when those of all classes are compiled together.
void read_match(const Said& said, ClassDraft& draft) {
  said.text([&](const std::string& text) {
    if (is_blank(text))
      return refuse("the expression is empty; leave " + said.name() + " out to take every packet");
    draft.match = text;
    return Reading{};
  });
}

void read_networks(const Said& said, NetworkLists& lists, NetworkSelector& selector) {
  if (!said.given()) return;
  NetworkListReader list(lists);
  if (said.each([&](const std::string& text) { return list.add(text); }))
    said.add(list.settle(selector.networks));
}

Json networks_json(const NetworkSelector& selector) {
  return selector.networks ? Json(selector.networks->texts()) : Json::array();
}

void read_key(const Said& said, ClassDraft& draft) {
  KeyReader key;
  draft.key_is_readable = said.each([&](const std::string& text) { return key.add(text); });
  draft.key = key.key();
}

void read_queue_of_class(const Said& said, ClassDraft& draft) {
  draft.queue.packets = kDefaultQueuePackets;
  read_queue(said, draft.queue);
}

Reading read_group(const std::string& text, std::string& group) {
  Reading reading = check_group_name(text);
  if (reading.ok()) group = text;
  return reading;
}

// And keeps that it could be read.
template <typename Choice>
Reading read_said(const std::string& text, Reading (*read)(std::string_view, Choice&), Choice& choice,
                  std::optional<Choice>& said) {
  Reading reading = read(text, choice);
  if (reading.ok()) said = choice;
  return reading;
}

void read_limit_of_class(const Said& said, ClassDraft& draft) {
  said.quantity(QuantityKind::limit,
                [&](const std::string& text) { return read_limit(text, draft.police.window); });
}

void read_window_of_class(const Said& said, ClassDraft& draft) {
  said.quantity(QuantityKind::window,
                [&](const std::string& text) { return read_window(text, draft.police.window.length); });
}

void read_codel_time(const Said& said, Duration& time) {
  said.quantity(QuantityKind::time, [&](const std::string& text) { return read_time(text, time); });
}

// What a class that is never shaped, or whose queues are not managed, does not have.
template <typename Value>
Json unless_bypass(const ClassConfig& config, const Value& value) {
  return config.bypass ? Json() : Json(value);
}
// Nor has one whose packets never wait.
template <typename Value>
Json if_it_waits(const ClassConfig& config, const Value& value) {
  return config.action == ClassAction::police ? Json() : unless_bypass(config, value);
}
template <typename Value>
Json with_codel(const ClassConfig& config, const Value& value) {
  return config.aqm == QueueManagement::codel ? Json(value) : Json();
}

bool has_rate(const ClassConfig& config) {
  return !config.bypass && config.police.limiter == Limiter::token_bucket;
}

template <typename Value>
Json if_policed(const ClassConfig& config, const Value& value) {
  return config.action == ClassAction::police ? Json(value) : Json();
}
template <typename Value>
Json if_windowed(const ClassConfig& config, const Value& value) {
  return config.police.limiter == Limiter::token_bucket ? Json() : Json(value);
}

Json plans_json(const ClassConfig& config) {
  Json json = Json::array();
  for (const PlanConfig& plan : config.plans) {
    Json& members = json.emplace_back(Json::object());
    for (const PlanKey& key : plan_keys())
      if (key.write != nullptr) members[std::string(key.json_name)] = key.write(plan);
  }
  return json;
}

constexpr auto kKeys = std::to_array<ClassKey>({
    {.name = "name",
     .example = R"("clients")",
     .read =
         [](const Said& said, ClassDraft& draft) {
           said.text([&](const std::string& text) { return read_name(text, draft.name); });
         },
     .required = true},
    {.name = "match",
     .example = R"("udp port 53")",
     .read = read_match,
     .write = [](const ClassConfig& config) { return Json(config.match); },
     .option = {.value = "EXPRESSION",
                .example = "\"udp port 53\"",
                .help = "which packets, as in pcap-filter(7) (all)"}},
    {.name = "dscp",
     .example = R"("ef", "af41" or "46")",
     .read =
         [](const Said& said, ClassDraft& draft) {
           said.each([&](const std::string& text) { return read_dscp(text, draft.selectors.dscp); });
         },
     .write = [](const ClassConfig& config) { return Json(dscp_texts(config.selectors.dscp)); },
     .option = {.value = "DSCP",
                .example = "ef",
                .help = "which packets: ef, af41, 46; several: give it several times",
                .repeats = true}},
    {.name = "src",
     .example = R"("10.0.0.0/8", or the path of a file of networks)",
     .read = [](const Said& said,
                ClassDraft& draft) { read_networks(said, draft.lists, draft.selectors.source); },
     .write = [](const ClassConfig& config) { return networks_json(config.selectors.source); },
     .option = {.value = "NETWORK",
                .example = "10.0.0.0/8",
                .help = "which packets, by source address: 10.0.0.0/8, or /PATH of a file of networks; "
                        "several: give it several times",
                .repeats = true}},
    {.name = "dst",
     .example = R"("10.0.0.0/8", or the path of a file of networks)",
     .read = [](const Said& said,
                ClassDraft& draft) { read_networks(said, draft.lists, draft.selectors.destination); },
     .write = [](const ClassConfig& config) { return networks_json(config.selectors.destination); },
     .option = {.value = "NETWORK",
                .example = "10.0.0.0/8",
                .help = "the same, by destination address",
                .repeats = true}},
    {.name = "mark",
     .example = R"("0x10" or "0x10/0xff")",
     .read =
         [](const Said& said, ClassDraft& draft) {
           said.each([&](const std::string& text) { return read_mark(text, draft.selectors.marks); });
         },
     .write = [](const ClassConfig& config) { return Json(mark_texts(config.selectors.marks)); },
     .option = {.value = "MARK",
                .example = "0x10/0xff",
                .help = "which packets, by firewall mark: 0x10, or 0x10/0xff with a mask; several: give it "
                        "several times",
                .repeats = true}},
    {.name = "cgroup",
     .example = R"("system.slice/backup.service")",
     .read =
         [](const Said& said, ClassDraft& draft) {
           said.each([&](const std::string& text) { return read_cgroup(text, draft.selectors.cgroups); });
         },
     .write = [](const ClassConfig& config) { return Json(config.selectors.cgroups); },
     .option = {.value = "PATH",
                .example = "system.slice/backup.service",
                .help = "which packets, by the control group of their socket: system.slice/backup.service; "
                        "several: give it several times",
                .repeats = true}},
    {.name = "key",
     .example = R"("dst", "5-tuple" or "class")",
     .read = read_key,
     .write = [](const ClassConfig& config) { return list_json(config.bypass ? "" : to_text(config.key)); },
     .option = {.value = "KEY",
                .example = "dst",
                .help = "one bucket per: class (the default), src, dst, src-dst, 5-tuple, src-mac, dst-mac, "
                        "vlan; prefixes as in dst/24,64; parts that go together: give --key several times",
                .repeats = true},
     .shaping = true},
    {.name = "action",
     .example = R"("police")",
     .read =
         [](const Said& said, ClassDraft& draft) {
           said.text([&](const std::string& text) {
             return read_said(text, read_action, draft.action, draft.said_action);
           });
         },
     .write = [](const ClassConfig& config) { return unless_bypass(config, to_text(config.action)); },
     .shaping = true},
    {.name = "exceed",
     .example = R"("drop" or "dscp:cs1")",
     .read =
         [](const Said& said, ClassDraft& draft) {
           said.text([&](const std::string& text) { return read_exceed(text, draft.police.exceed_dscp); });
         },
     .write =
         [](const ClassConfig& config) { return if_policed(config, exceed_text(config.police.exceed_dscp)); },
     .shaping = true},
    {.name = "limiter",
     .example = R"("fixed-window")",
     .read =
         [](const Said& said, ClassDraft& draft) {
           said.text([&](const std::string& text) {
             return read_said(text, read_limiter, draft.police.limiter, draft.said_limiter);
           });
         },
     .write = [](const ClassConfig& config) { return if_policed(config, to_text(config.police.limiter)); },
     .shaping = true},
    {.name = "limit",
     .read = read_limit_of_class,
     .write = [](const ClassConfig& config) { return if_windowed(config, limit_text(config.police.window)); },
     .shaping = true},
    {.name = "window",
     .read = read_window_of_class,
     .write =
         [](const ClassConfig& config) { return if_windowed(config, to_text(config.police.window.length)); },
     .shaping = true},
    {.name = "rate",
     .read = [](const Said& said,
                ClassDraft& draft) { draft.rate_is_readable = read_rate(said, draft.rate); },
     .write = [](const ClassConfig& config) { return list_json(to_text(config.rate)); },
     .option = {.value = "RATE",
                .example = "1000pps",
                .help = "of each bucket: packets 1000pps, bits 20mbit; both: give --rate twice",
                .repeats = true},
     .shaping = true},
    {.name = "budget",
     .example = R"("uplink")",
     .read =
         [](const Said& said, ClassDraft& draft) {
           said.text([&](const std::string& text) { return read_budget_name(text, draft.budget); });
         },
     .write =
         [](const ClassConfig& config) {
           return text_or_null(config.budget.empty() ? config.place.budget : config.budget);
         },
     .shaping = true,
     .waiting = true},
    {.name = "burst",
     .read =
         [](const Said& said, ClassDraft& draft) {
           read_burst(said, draft.rate_is_readable ? &draft.rate : nullptr, draft.burst);
         },
     .write =
         [](const ClassConfig& config) { return list_json(has_rate(config) ? to_text(config.burst) : ""); },
     .option = {.value = "BURST",
                .example = "10p",
                .help = "what may leave at once after idle: 10p, 15kb (1p)",
                .repeats = true},
     .shaping = true},
    {.name = "queue",
     .read = read_queue_of_class,
     .write = [](const ClassConfig& config) { return list_json(to_text(config.queue)); },
     .option = {.value = "CAPACITY",
                .example = "100p",
                .help = "what a bucket holds: 100p, 64kb, 50ms; all that are given hold (100p)",
                .repeats = true},
     .shaping = true,
     .waiting = true},
    {.name = "group",
     .example = R"("office")",
     .read =
         [](const Said& said, ClassDraft& draft) {
           said.text([&](const std::string& text) { return read_group(text, draft.place.parent); });
         },
     .write = [](const ClassConfig& config) { return text_or_null(config.place.parent); },
     .shaping = true,
     .waiting = true},
    {.name = "guarantee",
     .read = [](const Said& said, ClassDraft& draft) { read_bit_rate(said, draft.guarantee); },
     .write = [](const ClassConfig& config) { return rate_or_null(config.guarantee); },
     .shaping = true,
     .waiting = true},
    {.name = "ceiling",
     .read = [](const Said& said, ClassDraft& draft) { read_bit_rate(said, draft.place.ceiling); },
     .write = [](const ClassConfig& config) { return rate_or_null(config.place.ceiling); },
     .shaping = true,
     .waiting = true},
    {.name = "priority",
     .example = "0",
     .read = [](const Said& said, ClassDraft& draft) { read_priority(said, draft.place); },
     .write = [](const ClassConfig& config) { return if_it_waits(config, config.place.priority); },
     .shaping = true,
     .waiting = true},
    {.name = "weight",
     .example = "2",
     .read = [](const Said& said, ClassDraft& draft) { read_weight(said, draft.place); },
     .write = [](const ClassConfig& config) { return if_it_waits(config, config.place.weight); },
     .shaping = true,
     .waiting = true},
    {.name = "fair",
     .read = [](const Said& said, ClassDraft& draft) { said.flag(draft.fair); },
     .write = [](const ClassConfig& config) { return if_it_waits(config, config.fair); },
     .shaping = true,
     .waiting = true},
    {.name = "aqm",
     .example = R"("codel")",
     .read =
         [](const Said& said, ClassDraft& draft) {
           said.text([&](const std::string& text) {
             return read_said(text, read_queue_management, draft.aqm, draft.said_aqm);
           });
         },
     .write = [](const ClassConfig& config) { return if_it_waits(config, to_text(config.aqm)); },
     .shaping = true,
     .waiting = true},
    {.name = "target",
     .read = [](const Said& said, ClassDraft& draft) { read_codel_time(said, draft.codel.target); },
     .write = [](const ClassConfig& config) { return with_codel(config, to_text(config.codel.target)); },
     .shaping = true,
     .waiting = true},
    {.name = "interval",
     .read = [](const Said& said, ClassDraft& draft) { read_codel_time(said, draft.codel.interval); },
     .write = [](const ClassConfig& config) { return with_codel(config, to_text(config.codel.interval)); },
     .shaping = true,
     .waiting = true},
    {.name = "ecn",
     .read = [](const Said& said, ClassDraft& draft) { said.flag(draft.codel.ecn); },
     .write = [](const ClassConfig& config) { return with_codel(config, config.codel.ecn); },
     .shaping = true,
     .waiting = true},
    {.name = "plan", .write = plans_json, .json_name = "plans", .shaping = true, .waiting = true},
    {.name = "bypass",
     .read = [](const Said& said, ClassDraft& draft) { said.flag(draft.bypass); },
     .write = [](const ClassConfig& config) { return Json(config.bypass); }},
    {.name = "control",
     .read = [](const Said& said, ClassDraft& draft) { said.flag(draft.control); },
     .write = [](const ClassConfig& config) { return Json(config.control); }},
});

}  // namespace

std::span<const ClassKey> class_keys() {
  return kKeys;
}

}  // namespace headgate
