// headgatectl plan: an address or a network gets the rate of a plan, or the lines of standard input theirs.
#include <nlohmann/json.hpp>

#include "change_reply.hpp"
#include "commands.hpp"
#include "control_client.hpp"
#include "input_requests.hpp"
#include "json_output.hpp"
#include "output.hpp"
#include "visible_text.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

Json request_of(const std::string& class_name, const std::string& member, const std::string& plan) {
  return {{"command", "plan"},
          {"class", class_name},
          {"member", member},
          {"plan", plan == "none" ? Json() : Json(plan)}};
}

std::string plan_text(const Json& plan) {
  return plan.is_null() ? "no plan" : "plan " + visible(plan.get<std::string>());
}

// Of the plan that is named, or of a rate.
Json request_of(const Invocation& invocation) {
  const std::string plan = invocation.operand("PLAN");
  const auto rate = invocation.value("rate");
  if (plan.empty() == !rate)
    throw UsageError(rate ? "\"plan\" takes a PLAN or --rate RATE, not both"
                          : "\"plan\" needs a PLAN, or --rate RATE");
  Json request = request_of(invocation.operand("CLASS"), invocation.operand("MEMBER"), plan);
  if (rate) {
    request.erase("plan");
    request["rate"] = *rate;
  }
  add_time(invocation, request);
  return request;
}

int change_one(const Invocation& invocation) {
  const std::string member = invocation.operand("MEMBER");
  const Json reply = ask_daemon(invocation.control, request_of(invocation), kReloadPatience);
  if (invocation.has("quiet")) return kExitOk;
  if (invocation.json) {
    print_json(reply);
    return kExitOk;
  }
  const Json &plan = reply.at("plan"), &before = reply.at("before");
  print(visible(reply.at("class").get<std::string>()) + ": " + visible(member) + " has " + plan_text(plan) +
        (plan == before ? ", as before" : ", before " + plan_text(before)) + "\n");
  return kExitOk;
}

Json request_of_line(const Invocation& invocation, const std::vector<std::string>& words) {
  if (words.size() != 2) throw UsageError("expected MEMBER PLAN, as in 10.0.0.5 gold");
  Json request = request_of(invocation.operand("CLASS"), words[0], words[1]);
  add_time(invocation, request);
  return request;
}

int plan(const Invocation& invocation) {
  if (invocation.operand("MEMBER") != "-") return change_one(invocation);
  if (invocation.has("rate")) throw UsageError("--rate does not go with the members of standard input");
  return send_input(
      invocation,
      {.request = [&](const auto& words) { return request_of_line(invocation, words); },
       .changes_nothing = [](const Json& reply) { return reply.at("plan") == reply.at("before"); },
       .noun = "member"});
}

}  // namespace

Command plan_command() {
  return {
      .name = "plan",
      .operands = {{.name = "CLASS", .completes = Completes::class_name},
                   {.name = "MEMBER", .alternative = "-"},
                   {.name = "PLAN", .occurs = Occurs::at_most_once, .completes = Completes::plan}},
      .options = {{.name = "rate",
                   .value = "RATE",
                   .help = "in place of a PLAN: this rate, for each key of MEMBER"},
                  for_option(),
                  quiet_option()},
      .summary = "give an address or network the rate of a plan",
      .details =
          "Makes MEMBER, an address or a network, a member of a plan of the class, or with the PLAN none of\n"
          "no plan. Each key of its addresses has the plan's rate from its next packet on; in a plan whose\n"
          "members are together, it has their bucket. Of several networks that have an address the smallest\n"
          "says which plan it has. A reload keeps the change as long as the file says of the member what it\n"
          "said then. With - it reads lines \"MEMBER PLAN\" from standard input, where # begins a comment,\n"
          "and sends all over one connection. A line that is refused is named, and the rest goes on.",
      .examples = {"headgatectl plan customers 10.0.0.5 gold", "headgatectl plan customers 10.0.0.5 none",
                   "headgatectl plan customers 10.0.0.5 --rate 50mbit --for 2h",
                   "headgatectl plan eth0/egress/customers - < members"},
      .run = plan,
  };
}

}  // namespace headgate
