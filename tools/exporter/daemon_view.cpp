#include "daemon_view.hpp"

#include "metrics_text.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kShownFlows = 50;

std::shared_ptr<const DaemonAnswer> ask_now(const std::string& control, const Json& request) {
  auto answer = std::make_shared<DaemonAnswer>();
  const auto begin = Clock::now();
  try {
    answer->reply = ask_daemon(control, request, kDaemonPatience);
  } catch (const ControlError& error) {
    answer->error = std::make_shared<ControlError>(error);
  }
  answer->took = Clock::now() - begin;
  return answer;
}

}  // namespace

bool AnswerCache::is_fresh(const Json& request) const {
  return last_ && request_ == request && Clock::now() - at_ < kFreshness;
}

std::shared_ptr<const DaemonAnswer> AnswerCache::ask(const Json& request) {
  std::unique_lock lock(mutex_);
  const auto give_up = Clock::now() + kDaemonPatience;
  while (!is_fresh(request)) {
    if (!asking_) {
      asking_ = true;
      lock.unlock();
      auto answer = ask_now(control_, request);
      lock.lock();
      asking_ = false;
      request_ = request;
      last_ = std::move(answer);
      at_ = Clock::now();
      answered_.notify_all();
      return last_;
    }
    if (answered_.wait_until(lock, give_up) == std::cv_status::timeout && asking_) {
      auto late = std::make_shared<DaemonAnswer>();
      late->error = std::make_shared<ControlError>(no_reply(control_, kDaemonPatience));
      return late;
    }
  }
  return last_;
}

std::shared_ptr<const DaemonAnswer> DaemonView::show() {
  return show_.ask(metrics_request());
}

std::shared_ptr<const DaemonAnswer> DaemonView::flows(const std::string& class_name) {
  return flows_.ask({{"command", "flows"}, {"class", class_name}, {"limit", kShownFlows}});
}

}  // namespace headgate
