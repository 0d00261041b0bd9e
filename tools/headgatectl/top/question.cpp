#include "top/question.hpp"

#include "control_client.hpp"

namespace headgate::top {
namespace {

constexpr Duration kSlow = std::chrono::seconds(3);  // without an answer for so long is worth saying

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

void Question::ask(const Json& request, Instant now, WallTime time) {
  if (pending_ && request == request_ && now - asked_ < kPatience) return;
  if (pending_ && request == request_ && !failure_)
    failure_ = {asked_at_, first_line(no_reply(control_path_, kPatience).what()), true};
  pending_.reset();
  request_ = request;
  asked_ = now;
  asked_at_ = time;
  try {
    pending_.emplace(control_path_, request);
  } catch (const ControlError& error) {
    fail(error, time, true);
  }
}

void Question::drop() {
  pending_.reset();
  failure_.reset();
  request_ = nullptr;
}

std::optional<Question::Json> Question::take(WallTime time) {
  if (!pending_) return std::nullopt;
  try {
    std::optional<Json> reply = pending_->take();
    if (!reply) return std::nullopt;
    pending_.reset();
    failure_.reset();
    return reply;
  } catch (const ControlError& error) {
    pending_.reset();
    fail(error, time, error.exit == kExitNotRunning);
  }
  return std::nullopt;
}

// The beginning of a silence is kept.
void Question::fail(const std::exception& error, WallTime time, bool silent) {
  const bool goes_on = failure_ && failure_->silent == silent;
  failure_ = {goes_on ? failure_->since : time, first_line(error.what()), silent};
}

std::optional<Question::Failure> Question::failure(Instant now) const {
  if (failure_) return failure_;
  if (pending_ && now - asked_ >= kSlow) return Failure{asked_at_, "it is busy or stopped", true};
  return std::nullopt;
}

}  // namespace headgate::top
