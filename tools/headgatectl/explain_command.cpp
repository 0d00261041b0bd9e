// headgatectl explain: what would become of a packet, and why.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "commands.hpp"
#include "control_client.hpp"
#include "described_packet.hpp"
#include "explain_screen.hpp"
#include "invocation.hpp"
#include "json_output.hpp"
#include "option_value.hpp"
#include "output.hpp"
#include "trace_traffic.hpp"
#include "traffic_grammar.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kPacketsExplained = 100;   // of a trace, unless --limit says
constexpr std::size_t kMostBytesSent = 16 * 1024;  // of a frame; a request has no room for more

std::string hexadecimal(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 0xf];
  }
  return text;
}

Json ask(const Invocation& invocation, const DescribedPacket& packet) {
  const std::span<const std::byte> frame = packet.frame;
  Json request = {{"command", "explain"},
                  {"interface", invocation.operand("INTERFACE")},
                  {"frame", hexadecimal(frame.first(std::min(frame.size(), kMostBytesSent)))},
                  {"length", packet.length}};
  if (packet.mark != 0) request["mark"] = packet.mark;
  if (invocation.has("ingress")) request["direction"] = "ingress";
  return ask_daemon(invocation.control, request);
}

std::string words_of(const Invocation& invocation) {
  std::string text;
  for (const std::string& word : invocation.operands("PACKET")) text += (text.empty() ? "" : " ") + word;
  return text;
}

DescribedPacket packet_of(const std::string& text) {
  try {
    return read_packet(text);
  } catch (const TrafficError& error) {
    throw UsageError("the packet, " + std::string(error.what()) + "\n  " + text + "\n  " +
                     std::string(error.column - 1, ' ') + "^");
  }
}

void show_one(const Invocation& invocation, const DescribedPacket& packet) {
  const Json reply = ask(invocation, packet);
  if (invocation.json) {
    print_json(reply);
  } else {
    print(explain_screen(reply, packet, ScreenStyle::detect()));
  }
}

DescribedPacket described(const OfferedPacket& offered) {
  return {
      .frame = {offered.frame.begin(), offered.frame.end()}, .length = offered.length, .mark = offered.mark};
}

// All, a line for each, or the one that is asked for in full.
int explain_trace(const Invocation& invocation, const std::string& path) {
  const auto wanted = invocation.value<std::uint64_t>("packet");
  const std::uint64_t limit = invocation.value<std::uint64_t>("limit").value_or(kPacketsExplained);
  const ScreenStyle style = ScreenStyle::detect();
  TraceTraffic trace(path);
  std::uint64_t number = 0;
  for (const OfferedPacket* offered = trace.next(); offered != nullptr; offered = trace.next()) {
    if (!wanted && number == limit) return kExitOk;
    ++number;
    if (wanted && number < *wanted) continue;
    const DescribedPacket packet = described(*offered);
    if (packet.frame.size() < kEthernetHeaderBytes) {
      const std::string why = path + ", packet " + std::to_string(number) + ": the frame has " +
                              std::to_string(packet.frame.size()) + " bytes, less than the " +
                              std::to_string(kEthernetHeaderBytes) + " of an Ethernet header";
      if (wanted) throw UsageError(why);
      print_error("headgatectl: warning: " + why);
      continue;
    }
    if (wanted) {
      show_one(invocation, packet);
      return kExitOk;
    }
    const Json reply = ask(invocation, packet);
    if (invocation.json) {
      print_json(reply, JsonLayout::one_line);
    } else {
      print(explain_line(reply, packet, number, style));
    }
  }
  if (wanted)
    throw UsageError("--packet " + std::to_string(*wanted) + ": the trace has " + std::to_string(number) +
                     (number == 1 ? " packet" : " packets"));
  return kExitOk;
}

int explain(const Invocation& invocation) {
  const std::string words = words_of(invocation);
  const auto trace = invocation.value("trace");
  if (trace && !words.empty())
    throw UsageError("explain takes a packet in words or a trace; expected one of them");
  if (!trace && (invocation.has("packet") || invocation.has("limit")))
    throw UsageError("--packet and --limit are of a trace; expected --trace, too");
  if (trace) return explain_trace(invocation, *trace);
  show_one(invocation, packet_of(words));
  return kExitOk;
}

}  // namespace

Command explain_command() {
  return {
      .name = "explain",
      .operands = {{.name = "INTERFACE", .completes = Completes::interface},
                   {.name = "PACKET", .occurs = Occurs::any_times}},
      .options = {{.name = "trace",
                   .value = "FILE",
                   .help = "the packets of a pcap or pcapng trace, a line for each, - is standard input",
                   .completes = Completes::file},
                  {.name = "packet",
                   .value = "N",
                   .help = "of the trace the Nth packet alone, in full",
                   .read = number_from(1)},
                  {.letter = 'n',
                   .name = "limit",
                   .value = "N",
                   .help = "of the trace at most N packets, 100 unless given",
                   .read = number_from(1)},
                  {.name = "ingress",
                   .help = "the packet arrives; egress where it is shaped in both directions"}},
      .summary = "what would become of a packet now, and why",
      .details =
          "Asks headgated, by the code that its packets go through, and changes nothing: what the hook does\n"
          "with the packet, which class takes it and why not those before, its flow, bucket and queue, and\n"
          "what holds it back. PACKET is words in any order: udp, tcp, icmp, src ADDRESS, dst ADDRESS,\n"
          "sport N, dport N, FROM>TO, a size such as 1200b, vlan N, dscp NAME, ecn, l4s, mark N. What is "
          "left\n"
          "out is udp, source port 40000, destination port 9, 64 bytes.",
      .examples = {"headgatectl explain eth0 \"src 10.0.0.5 dst 1.1.1.1 udp dport 53\"",
                   "headgatectl explain eth0 'tcp 10.0.0.5:50000>10.0.0.9:443 1514b'",
                   "headgatectl explain wg0 --ingress --trace monday.pcap --packet 17"},
      .run = explain,
  };
}

}  // namespace headgate
