// What the daemon says, for any number of threads that ask.
//
// The daemon is asked for one thing at a time: who asks meanwhile gets the same answer, and so does who asks within
// kFreshness. So however many clients there are, the daemon has no more than two connections of ours and little work. A
// thread waits for twice kDaemonPatience at most.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "control_client.hpp"

namespace headgate {

inline constexpr std::chrono::seconds kDaemonPatience(3);
inline constexpr std::chrono::milliseconds kFreshness(250);

struct DaemonAnswer {
  nlohmann::ordered_json reply;  // null: there is none, as `error` says
  std::shared_ptr<ControlError> error;
  std::chrono::duration<double> took{};
};

// The last answer to one kind of request.
class AnswerCache {
 public:
  explicit AnswerCache(std::string control) : control_(std::move(control)) {}

  std::shared_ptr<const DaemonAnswer> ask(const nlohmann::ordered_json& request);

 private:
  bool is_fresh(const nlohmann::ordered_json& request) const;

  const std::string control_;
  std::mutex mutex_;
  std::condition_variable answered_;
  bool asking_ = false;
  nlohmann::ordered_json request_;  // of the last answer
  std::shared_ptr<const DaemonAnswer> last_;
  std::chrono::steady_clock::time_point at_;
};

class DaemonView {
 public:
  explicit DaemonView(const std::string& control) : show_(control), flows_(control) {}

  std::shared_ptr<const DaemonAnswer> show();
  std::shared_ptr<const DaemonAnswer> flows(const std::string& class_name);

 private:
  AnswerCache show_;
  AnswerCache flows_;
};

}  // namespace headgate
