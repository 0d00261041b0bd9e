// headgatectl limit and unlimit: an interface gets one rate, without a line in a file.
#include <nlohmann/json.hpp>

#include "change_reply.hpp"
#include "commands.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

Option ingress_option() {
  return {.name = "ingress", .help = "what arrives on the interface, instead of what leaves"};
}

Json request_of(const Invocation& invocation, const char* command) {
  return {{"command", command},
          {"interface", invocation.operand("INTERFACE")},
          {"direction", invocation.has("ingress") ? "ingress" : "egress"}};
}

std::string name_of(const Json& request) {
  return request["interface"].get<std::string>() + "/" + request["direction"].get<std::string>();
}

int limit(const Invocation& invocation) {
  Json request = request_of(invocation, "limit");
  request["rate"] = invocation.operand("RATE");
  if (const auto key = invocation.value("key")) request["key"] = *key;
  add_time(invocation, request);
  const std::string headline =
      name_of(request) + " is limited to " + invocation.operand("RATE") + time_text(invocation);
  return change(invocation, request, headline);
}

int unlimit(const Invocation& invocation) {
  const Json request = request_of(invocation, "unlimit");
  return change(invocation, request, name_of(request) + " is not limited any more");
}

}  // namespace

Command limit_command() {
  return {
      .name = "limit",
      .operands = {{.name = "INTERFACE", .completes = Completes::interface}, {.name = "RATE"}},
      .options = {{.name = "key",
                   .value = "KEY",
                   .help = "a bucket of this rate for each KEY: dst, src, 5-tuple"},
                  ingress_option(),
                  for_option(),
                  quiet_option()},
      .summary = "hold an interface that no file shapes to a rate",
      .details =
          "Shapes an interface that the files say nothing of. A bit rate alone is that of the link: within "
          "it\n"
          "connections take turns and their queues stay short. A packet rate, or a rate with --key, is that "
          "of\n"
          "a bucket. Given again, the limit changes without loss; headgatectl unlimit ends it, and "
          "headgatectl\n"
          "save keeps it over a restart.",
      .examples = {"headgatectl limit eth0 20mbit", "headgatectl limit eth0 100mbit --ingress",
                   "headgatectl limit wg0 5mbit --key dst --for 1h"},
      .run = limit,
  };
}

Command unlimit_command() {
  return {
      .name = "unlimit",
      .operands = {{.name = "INTERFACE", .completes = Completes::interface}},
      .options = {ingress_option(), quiet_option()},
      .summary = "end what limit began",
      .details = "Ends what headgatectl limit began. What is queued is sent.",
      .examples = {"headgatectl unlimit eth0"},
      .run = unlimit,
  };
}

}  // namespace headgate
