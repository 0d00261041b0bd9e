// The threads that serve, and the connections that wait for one of them.
#pragma once

#include <httplib.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace headgate {

// Where too many wait, a task is run at once by who brings it, with being_refused() true meanwhile: it is to end quickly.
class BoundedPool : public httplib::TaskQueue {
 public:
  BoundedPool(std::size_t threads, std::size_t waiting);

  void enqueue(std::function<void()> task) override;
  void shutdown() override;  // once what waits is done

  static bool being_refused();  // in this thread

 private:
  void run();

  const std::size_t waiting_;
  std::mutex mutex_;
  std::condition_variable has_work_;
  std::deque<std::function<void()>> tasks_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace headgate
