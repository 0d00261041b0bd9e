#include "input_requests.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <deque>
#include <nlohmann/json.hpp>
#include <system_error>

#include "control_client.hpp"
#include "human_text.hpp"
#include "input_lines.hpp"
#include "json_output.hpp"
#include "output.hpp"
#include "request_pipeline.hpp"
#include "visible_text.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostRefusalsNamed = 10;

class RequestsOfInput {
 public:
  RequestsOfInput(const Invocation& invocation, const InputRequests& requests)
      : invocation_(invocation), requests_(requests), pipeline_(invocation.control) {}

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
    for (const InputLine& line :
         ended_ ? lines_.finish() : lines_.add({buffer.data(), static_cast<std::size_t>(length)}))
      send(line);
  }

  void send(const InputLine& line) {
    if (!line.error.empty()) return refuse(line.number, line.error);
    try {
      pipeline_.put(requests_.request(line.words));
      sent_.push_back(line.number);
    } catch (const UsageError& error) {
      refuse(line.number, error.what());
    }
  }

  void refuse(std::size_t number, const std::string& why) {
    refuse(number, {{"schema", kSchema}, {"error", {{"code", kErrorBadRequest}, {"message", why}}}}, why);
  }

  void take_replies() {
    for (Json& reply : pipeline_.progress()) {
      const std::size_t number = sent_.front();
      sent_.pop_front();
      if (!reply.contains("error")) {
        const bool as_before = requests_.changes_nothing && requests_.changes_nothing(reply);
        ++(as_before ? unchanged_ : changed_);
        print_reply(number, std::move(reply));
        continue;
      }
      const ControlError error = error_of(reply, invocation_.control);
      if (!is_of_the_line(error.code)) throw error;
      refuse(number, std::move(reply), error.what());
    }
  }

  // The others hold for every line.
  bool is_of_the_line(const std::string& code) const {
    const bool of_the_class = code == kErrorUnknownClass || code == kErrorAmbiguousClass;
    if (of_the_class) return requests_.names_classes;
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
    const std::string text = whole_text(changed_) + " " + std::string(requests_.noun) +
                             (changed_ == 1 ? "" : "s") + " changed, " +
                             (requests_.changes_nothing ? whole_text(unchanged_) + " as before, " : "") +
                             whole_text(refused_) + " refused";
    if (invocation_.has("quiet")) return;
    if (invocation_.json) {
      print_error("headgatectl: " + text);
    } else {
      print(text + "\n");
    }
  }

  const Invocation& invocation_;
  const InputRequests& requests_;
  RequestPipeline pipeline_;
  InputLines lines_;
  std::deque<std::size_t> sent_;  // the numbers of the lines that have no reply yet
  bool ended_ = false;            // the input
  std::uint64_t changed_ = 0;
  std::uint64_t unchanged_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace

int send_input(const Invocation& invocation, const InputRequests& requests) {
  return RequestsOfInput(invocation, requests).run();
}

}  // namespace headgate
