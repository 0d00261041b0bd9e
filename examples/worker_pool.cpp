// A pool of workers that may call a service 200 times a second. Whoever has no turn yet waits for it, in order, but at most
// eight wait, and nobody for longer than 50 ms: what cannot be done in time is refused at once.
#include <headgate/shared.hpp>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

int main() {
  using namespace std::chrono_literals;
  headgate::Shared calls(headgate::TokenBucket({200, 1s}, 5), 8);
  std::atomic<int> done = 0;
  std::atomic<int> late = 0;
  std::atomic<int> crowded = 0;
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < 12; ++i) {
      workers.emplace_back([&](std::stop_token stop) {
        for (int job = 0; job < 5; ++job) {
          const headgate::Answer turn = calls.wait(1, stop, std::chrono::steady_clock::now() + 50ms);
          if (turn)
            ++done;
          else if (turn.refusal == headgate::Refusal::no_room)
            ++crowded;
          else
            ++late;
        }
      });
    }
    for (std::jthread& worker : workers) worker.join();
  }
  std::printf("%d done, %d would have been late, %d found too many waiting\n", done.load(), late.load(),
              crowded.load());
  return done > 0 && done + late + crowded == 60 ? 0 : 1;
}
