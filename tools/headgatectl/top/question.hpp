// A question that headgated is asked again and again. It may be slow, gone, and back again: nothing here waits or
// throws.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "headgate/clock.hpp"
#include "pending_reply.hpp"

namespace headgate::top {

class Question {
 public:
  using Json = nlohmann::ordered_json;

  // Times are those of a clock of the host, which people read.
  using WallTime = std::chrono::system_clock::time_point;

  explicit Question(std::string control_path) : control_path_(std::move(control_path)) {}

  // Leaves a request that is like this one and on its way to be answered, unless it has been so for too long.
  void ask(const Json& request, Instant now, WallTime time);
  void drop();

  int descriptor() const { return pending_ ? pending_->descriptor() : -1; }
  bool pending() const { return pending_.has_value(); }

  // The reply, once, when it is whole.
  std::optional<Json> take(WallTime time);

  struct Failure {
    WallTime since;
    std::string why;     // "headgated is slow", or the first line of an error
    bool silent = true;  // there was no answer; false: this is what it answered
  };

  // Why there is no answer, from some seconds after it was asked on at the latest, until there is one.
  std::optional<Failure> failure(Instant now) const;

 private:
  void fail(const std::exception& error, WallTime time, bool silent);

  std::string control_path_;
  Json request_;
  std::optional<PendingReply> pending_;
  Instant asked_{};
  WallTime asked_at_{};
  std::optional<Failure> failure_;
};

}  // namespace headgate::top
