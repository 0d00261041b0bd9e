// headgatectl plan: an address or a network gets the rate of a plan, or the lines of standard input theirs.
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <deque>
#include <nlohmann/json.hpp>
#include <system_error>

#include "commands.hpp"
#include "control_client.hpp"
#include "human_text.hpp"
#include "invocation.hpp"
#include "json_output.hpp"
#include "member_lines.hpp"
#include "output.hpp"
#include "request_pipeline.hpp"
#include "visible_text.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostRefusalsNamed = 10;

Json request_of(const std::string& class_name, const std::string& member, const std::string& plan) {
  return {{"command", "plan"},
          {"class", class_name},
          {"member", member},
          {"plan", plan == "none" ? Json() : Json(plan)}};
}

std::string plan_text(const Json& plan) {
  return plan.is_null() ? "no plan" : "plan " + visible(plan.get<std::string>());
}

int change_one(const Invocation& invocation) {
  const std::string member = invocation.operand("MEMBER");
  const Json reply = ask_daemon(invocation.control,
                                request_of(invocation.operand("CLASS"), member, invocation.operand("PLAN")));
  if (invocation.json) {
    print_json(reply);
    return kExitOk;
  }
  const Json &plan = reply.at("plan"), &before = reply.at("before");
  print(visible(reply.at("class").get<std::string>()) + ": " + visible(member) + " has " + plan_text(plan) +
        (plan == before ? ", as before" : ", before " + plan_text(before)) + "\n");
  return kExitOk;
}

// The lines of standard input, all over one connection.
class MembersOfInput {
 public:
  explicit MembersOfInput(const Invocation& invocation)
      : invocation_(invocation), pipeline_(invocation.control) {}

  int run() {
    try {
      while (!ended_ || pipeline_.unanswered() > 0) wait();
    } catch (const ControlError&) {
      report();
      throw;
    }
    report();
    return refused_ == 0 ? kExitOk : kExitRefused;
  }

 private:
  void wait() {
    const bool reads = !ended_ && !pipeline_.full();
    std::array<pollfd, 2> descriptors{
        {{.fd = reads ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0}, pipeline_.interest()}};
    const auto limit = std::chrono::milliseconds(pipeline_.wait());
    const int ready = poll(descriptors.data(), descriptors.size(), static_cast<int>(limit.count()));
    if (ready < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "poll");
    if (ready == 0) pipeline_.idle();
    if (ready <= 0) return;
    if (descriptors[1].revents != 0) take_replies();
    if (descriptors[0].revents != 0) read_input();
  }

  void read_input() {
    std::array<char, 16 * 1024> buffer;
    const ssize_t length = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (length < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (length < 0) {
      throw ControlError(kExitRefused, "system",
                         "cannot read standard input: " + std::generic_category().message(errno));
    }
    ended_ = length == 0;
    for (const MemberLine& line :
         ended_ ? lines_.finish() : lines_.add({buffer.data(), static_cast<std::size_t>(length)}))
      send(line);
  }

  void send(const MemberLine& line) {
    if (!line.error.empty()) {
      Json reply = {{"schema", kSchema}, {"error", {{"code", kErrorBadRequest}, {"message", line.error}}}};
      return refuse(line.number, std::move(reply), line.error);
    }
    pipeline_.put(request_of(invocation_.operand("CLASS"), line.member, line.plan));
    sent_.push_back(line.number);
  }

  void take_replies() {
    for (Json& reply : pipeline_.progress()) {
      const std::size_t number = sent_.front();
      sent_.pop_front();
      if (!reply.contains("error")) {
        ++(reply.at("plan") == reply.at("before") ? unchanged_ : changed_);
        print_reply(number, std::move(reply));
        continue;
      }
      const ControlError error = error_of(reply, invocation_.control);
      if (!is_of_the_line(error.code)) throw error;
      refuse(number, std::move(reply), error.what());
    }
  }

  // The others hold for every line.
  static bool is_of_the_line(const std::string& code) {
    return code == kErrorBadRequest || code == kErrorUnknownPlan || code == kErrorRefused;
  }

  void refuse(std::size_t number, Json reply, const std::string& why) {
    if (++refused_ <= kMostRefusalsNamed)
      print_error("headgatectl: line " + std::to_string(number) + ": " + visible(why));
    print_reply(number, std::move(reply));
  }

  void print_reply(std::size_t number, Json reply) const {
    if (!invocation_.json) return;
    reply["line"] = number;
    print_json(reply, JsonLayout::one_line);
  }

  void report() const {
    if (refused_ > kMostRefusalsNamed) {
      print_error("headgatectl: " + whole_text(refused_ - kMostRefusalsNamed) +
                  " more lines were refused, which are not named");
    }
    const std::string text = whole_text(changed_) + (changed_ == 1 ? " member" : " members") + " changed, " +
                             whole_text(unchanged_) + " as before, " + whole_text(refused_) + " refused";
    if (invocation_.json) {
      print_error("headgatectl: " + text);
    } else {
      print(text + "\n");
    }
  }

  const Invocation& invocation_;
  RequestPipeline pipeline_;
  MemberLines lines_;
  std::deque<std::size_t> sent_;  // the numbers of the lines that have no reply yet
  bool ended_ = false;            // the input
  std::uint64_t changed_ = 0;
  std::uint64_t unchanged_ = 0;
  std::uint64_t refused_ = 0;
};

int plan(const Invocation& invocation) {
  return invocation.operand("MEMBER") == "-" ? MembersOfInput(invocation).run() : change_one(invocation);
}

}  // namespace

Command plan_command() {
  return {
      .name = "plan",
      .operands = {{.name = "CLASS", .completes = Completes::class_name},
                   {.name = "MEMBER", .alternative = "-"},
                   {.name = "PLAN", .completes = Completes::plan}},
      .summary = "give an address or network the rate of a plan",
      .details =
          "Makes MEMBER, an address or a network, a member of a plan of the class, or with the PLAN none of\n"
          "no plan. Each key of its addresses has the plan's rate from its next packet on. Of several\n"
          "networks that have an address the smallest says which plan it has. A reload keeps the change as\n"
          "long as the file says of the member what it said then. With - it reads lines \"MEMBER PLAN\" "
          "from\n"
          "standard input, where # begins a comment, and sends all over one connection. A line that is\n"
          "refused is named, and the rest goes on.",
      .examples = {"headgatectl plan customers 10.0.0.5 gold", "headgatectl plan customers 10.0.0.5 none",
                   "headgatectl plan eth0/egress/customers - < members"},
      .run = plan,
  };
}

}  // namespace headgate
