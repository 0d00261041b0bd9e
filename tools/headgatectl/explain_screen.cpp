#include "explain_screen.hpp"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "frame_headers.hpp"
#include "human_text.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLabelWidth = 9;
constexpr std::size_t kValuesShown = 3;  // of a list in the configuration

// Sentences by the words of the reply; another version of headgated may have others.
using Sentence = std::pair<std::string_view, std::string_view>;

template <std::size_t count>
std::string sentence_for(const Sentence (&sentences)[count], const std::string& word) {
  for (const auto& [name, sentence] : sentences)
    if (name == word) return std::string(sentence);
  return word;
}

constexpr Sentence kHookSentences[] = {
    {"not_asked", "was not asked"},
    {"open", "lets it go on: nothing is diverted now"},
    {"own_packet", "lets it go on: it has the mark of what headgate has sent"},
    {"not_ip", "lets it go on: it is no IP packet"},
    {"control_traffic", "lets it go on: control traffic within control_limit"},
    {"unshapable", "lets it go on: it cannot be taken out of the kernel"},
    {"reader_dead", "lets it go on: packets are not read or not sent in time (dead-man switch)"},
    {"let_go", "lets it go on: no class shapes it"},
    {"cut_first", "takes it out, by the divert device, where the kernel completes it"},
    {"taken_out", "takes it out"},
};

constexpr Sentence kReasonSentences[] = {
    {"queue_full", "its queue is full"},
    {"pool_full", "packet memory is used up, and its queue is among the longest"},
    {"flow_table_full", "there is no flow record for a new flow"},
    {"too_old", "it would wait for longer than its queue allows"},
    {"policed", "it exceeds what its class lets pass"},
};

std::string line(std::string_view label, const std::string& text, const ScreenStyle& style,
                 Tone tone = Tone::plain) {
  std::string padded(label);
  padded.resize(kLabelWidth, ' ');
  return styled(padded, Tone::heading, style) + styled(text, tone, style) + "\n";
}

std::string packet_text(const Json& reply, const DescribedPacket& packet) {
  std::string text = to_text(headers_of(packet.frame)) + ", " + bytes_text(reply["charged"]["bytes"]);
  if (packet.mark != 0) text += ", mark " + std::to_string(packet.mark);
  return text;
}

std::string hook_text(const Json& reply) {
  const Json& hook = reply["hook"];
  std::string text = reply["interface"].get<std::string>() + " " + reply["direction"].get<std::string>() +
                     ": " + sentence_for(kHookSentences, hook["verdict"]);
  if (!hook["why"].is_null()) text += ": " + hook["why"].get<std::string>();
  if (!reply["state"].is_null()) text += " (" + reply["state"].get<std::string>() + ")";
  return text;
}

// "10.0.0.0/8, 192.168.0.0/16, /etc/headgate/list and 4 more"
std::string value_text(const Json& value) {
  if (value.is_string()) return "\"" + value.get<std::string>() + "\"";
  if (!value.is_array()) return value.dump();
  std::string text;
  for (std::size_t i = 0; i < value.size() && i < kValuesShown; ++i)
    text += (i == 0 ? "" : ", ") + value_text(value[i]);
  if (value.size() > kValuesShown) text += " and " + std::to_string(value.size() - kValuesShown) + " more";
  return text;
}

std::string verdict_text(const Json& one, bool bypass) {
  const std::string verdict = one["verdict"];
  if (verdict == "takes") return bypass ? "takes it, and shapes nothing (bypass)" : "takes it";
  if (verdict == "control") return "no: it is control traffic, and the class has no control = true";
  if (verdict == "cgroup")
    return "no: its cgroup is none of " + value_text(one["value"]) + " (a described packet has none)";
  if (verdict == "match") return "no: it does not match " + value_text(one["value"]);
  return "no: its " + verdict + " is none of " + value_text(one["value"]);
}

std::string classes_text(const Json& reply, const ScreenStyle& style) {
  std::string text;
  std::size_t number = 0;
  for (const Json& one : reply["classes"]) {
    const bool takes = one["verdict"] == "takes";
    ++number;
    text += line(number == 1 ? "classes" : "",
                 std::to_string(number) + " " + one["name"].get<std::string>() + ": " +
                     verdict_text(one, reply["bypass"]),
                 style, takes ? Tone::good : Tone::plain);
  }
  if (reply["keeps_control_limit"].get<bool>())
    text += line("", "control traffic within control_limit: it is of no class", style);
  else if (number > 0 && reply["class"].is_null())
    text += line("", "no class takes it: (unmatched)", style, Tone::attention);
  return text;
}

std::string flow_text(const Json& flow) {
  std::string text = flow["text"];
  if (!flow["plan"].is_null()) text += ", plan " + flow["plan"].get<std::string>();
  if (!flow["known"].get<bool>()) return text + ": new, this would be its first packet";
  const Json& queued = flow["queued"];
  text += ": " + packets_text(queued["packets"]) + " packets queued";
  if (queued["packets"] != 0) text += " (" + bytes_text(queued["bytes"]) + ")";
  return text + ", so far " + packets_text(flow["sent"]["packets"]) + " sent, " +
         packets_text(flow["dropped"]["packets"]) + " dropped";
}

// "1000pps and 20mbit"
std::string amount_text(const Json& value) {
  std::string text;
  for (const Json& one : value) text += (text.empty() ? "" : " and ") + one.get<std::string>();
  return text;
}

std::string bucket_text(const Json& bucket) {
  std::string text = amount_text(bucket["rate"]);
  if (const std::string burst = amount_text(bucket["burst"]); burst != "1p") text += ", burst " + burst;
  if (const std::string queue = amount_text(bucket["queue"]); !queue.empty()) text += ", queue " + queue;
  const double opens = bucket["opens_in_us"];
  return text + (opens > 0 ? ": lets the next packet go in " + delay_text(opens) : ": lets a packet go now");
}

std::string held_text(const Json& held) {
  const std::string what = held["what"];
  if (what == "nothing") return {};
  if (what == "turn") return "; others may come first";
  const std::string name = held["name"],
                    rate = held["rate"].is_null() ? "" : " " + held["rate"].get<std::string>();
  if (what != "ceiling") return "; held back by the rate" + rate + " of " + name;
  if (name == "link") return "; held back by the link's rate" + rate;
  return "; held back by the ceiling" + rate + " of " + name;
}

std::string wait_text(const Json& reply) {
  const double wait = reply["wait_us"];
  const bool exact = reply["wait_is_exact"];
  if (wait <= 0) return exact ? "at once" : "in its turn";
  return (exact ? "in " : "in its turn, not before ") + delay_text(wait);
}

std::string fate_text(const Json& reply) {
  const std::string fate = reply["fate"];
  if (fate == "goes_on") return "goes on, not shaped";
  if (fate == "dropped") {
    const std::string reason = reply["reason"];
    return "dropped, " + reason + ": " + sentence_for(kReasonSentences, reason);
  }
  if (fate == "leaves_marked") return "leaves at once, with the code point of what exceeds";
  if (fate == "leaves") return "leaves at once";
  return "leaves " + wait_text(reply) + held_text(reply["held_by"]);
}

Tone fate_tone(const Json& reply) {
  return reply["fate"] == "dropped" ? Tone::attention : Tone::plain;
}

}  // namespace

std::string explain_screen(const Json& reply, const DescribedPacket& packet, const ScreenStyle& style) {
  std::string screen = line("packet", packet_text(reply, packet), style);
  screen += line("hook", hook_text(reply), style);
  screen += classes_text(reply, style);
  if (!reply["flow"].is_null()) screen += line("flow", flow_text(reply["flow"]), style);
  if (!reply["bucket"].is_null()) screen += line("bucket", bucket_text(reply["bucket"]), style);
  return screen + line("now", fate_text(reply), style, fate_tone(reply));
}

std::string explain_line(const Json& reply, const DescribedPacket& packet, std::size_t number,
                         const ScreenStyle& style) {
  const std::string class_name = reply["class"].is_null() ? "(unmatched)" : reply["class"].get<std::string>();
  return std::to_string(number) + "  " + styled(packet_text(reply, packet), Tone::plain, style) + "  " +
         styled(class_name, Tone::heading, style) + "  " + styled(fate_text(reply), fate_tone(reply), style) +
         "\n";
}

}  // namespace headgate
