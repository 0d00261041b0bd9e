// A pool of workers for the jobs of three tenants. All together may use a second of computing time each second; gold gets three
// shares of it for each that the others get, and free never more than a tenth. Within a tenant its users take turns. Who floods
// has his jobs refused, or handed back when they have waited for too long; nobody else waits for him.
//
// A job costs the microseconds of computing time that it is expected to take: a microsecond stands for a byte, so a second each
// second is a rate of 8 000 000 bit/s.
#include <headgate/scheduler.hpp>

#include <array>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using headgate::Scheduler;

constexpr std::uint64_t kASecondEachSecond = 8'000'000;

enum Tenant : std::uint32_t { gold, silver, free_of_charge, tenants };

struct Job {
  Tenant tenant = gold;
  std::uint64_t user = 0;
};

Scheduler::Config shares() {
  Scheduler::Config config;
  config.rate = headgate::BitRate{kASecondEachSecond};
  config.classes.resize(tenants);
  config.classes[gold].weight = 3;
  config.classes[free_of_charge].ceiling = headgate::BitRate{kASecondEachSecond / 10};
  for (Scheduler::Class& tenant : config.classes) {
    tenant.queue = {.items = 50, .longest_wait = 200ms};
    tenant.quantum = 1'000;
  }
  return config;
}

// What several threads may use: a lock around the scheduler, and a clock.
class Jobs {
 public:
  // False: too many wait, and the job stays the caller's.
  bool submit(Job& job, std::chrono::microseconds time) {
    const std::lock_guard lock(mutex_);
    const headgate::Cost cost{1, static_cast<std::uint64_t>(time.count())};
    const bool taken{
        scheduler_.enqueue(reinterpret_cast<Scheduler::Handle>(&job), {job.tenant, job.user}, cost, now())};
    if (taken) changed_.notify_one();
    return taken;
  }

  struct Next {
    Job* job;
    bool to_do;  // false: it has waited for too long
  };
  // Waits for it. None: closed, and nothing is left.
  std::optional<Next> next() {
    std::unique_lock lock(mutex_);
    while (true) {
      if (const auto item = scheduler_.dequeue(now())) {
        changed_.notify_one();  // somebody else waits for what comes next
        return Next{reinterpret_cast<Job*>(item->handle), item->verdict == Scheduler::Verdict::send};
      }
      const auto event = scheduler_.next_event();
      if (!event && closed_) return std::nullopt;
      if (event)
        changed_.wait_until(lock, Clock::time_point(event->time_since_epoch()));
      else
        changed_.wait(lock);
    }
  }

  // What waits comes back to the caller.
  void close(const std::function<void(Job&)>& give_back) {
    const std::lock_guard lock(mutex_);
    while (const auto handle = scheduler_.drain()) give_back(*reinterpret_cast<Job*>(*handle));
    closed_ = true;
    changed_.notify_all();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static headgate::Instant now() { return headgate::instant_of(Clock::now()); }

  std::mutex mutex_;
  std::condition_variable changed_;
  Scheduler scheduler_{shares()};
  bool closed_ = false;
};

struct Counts {
  int submitted = 0;
  int refused = 0;
  int done = 0;
  int too_late = 0;
  int given_back = 0;
};

}  // namespace

int main() {
  Jobs jobs;
  std::array<Counts, tenants> counts;
  std::mutex counting;
  const auto count = [&](const Job& job, int Counts::*what) {
    const std::lock_guard lock(counting);
    ++(counts[job.tenant].*what);
  };

  std::vector<std::jthread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&] {
      while (const auto next = jobs.next())
        count(*next->job, next->to_do ? &Counts::done : &Counts::too_late);
    });
  }

  // Half a second in which each tenant asks for all the time there is.
  std::vector<Job> all(3'000);
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = {static_cast<Tenant>(i % tenants), i % 7};
    count(all[i], &Counts::submitted);
    if (!jobs.submit(all[i], 1ms)) count(all[i], &Counts::refused);
    std::this_thread::sleep_until(start + i * 500ms / all.size());
  }
  jobs.close([&](const Job& job) { count(job, &Counts::given_back); });
  workers.clear();

  bool all_accounted = true;
  for (const auto& [tenant, name] : {std::pair{gold, "gold"}, {silver, "silver"}, {free_of_charge, "free"}}) {
    const Counts& each = counts[tenant];
    std::printf("%s: %d jobs, %d done, %d too late, %d refused, %d given back\n", name, each.submitted,
                each.done, each.too_late, each.refused, each.given_back);
    all_accounted &= each.submitted == each.done + each.too_late + each.refused + each.given_back;
  }
  const bool shared = counts[gold].done >= 2 * counts[silver].done && counts[free_of_charge].done < 80;
  return all_accounted && shared ? 0 : 1;
}
