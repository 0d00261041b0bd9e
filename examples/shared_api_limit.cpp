// An API whose hosts let each client ask ten times a minute together, five of them at once: the count is kept by a
// Redis server. While that cannot be asked, each host goes on by itself.
#include <headgate/keyed.hpp>
#include <headgate/redis/gcra.hpp>
#include <headgate/token_bucket.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

namespace {

using namespace std::chrono_literals;

constexpr headgate::UnitRate kRate(10, 1min);
constexpr std::uint64_t kBurst = 5;

class Host {
 public:
  explicit Host(const std::string& server) : connection_({.address = server, .timeout = 5s}) {}

  // The status that a request is answered with.
  int answer(const std::string& client) {
    try {
      return answer_with(together_.allow(client, 1));
    } catch (const headgate::redis::Error& error) {
      std::printf("%s\n", error.what());
      const auto now = headgate::instant_of(std::chrono::steady_clock::now());
      return alone_.allow(client, 1, now) ? 200 : 429;
    }
  }

 private:
  static int answer_with(const headgate::redis::Standing& standing) {
    std::printf("X-RateLimit-Limit: %llu, X-RateLimit-Remaining: %llu",
                static_cast<unsigned long long>(standing.limit),
                static_cast<unsigned long long>(standing.remaining));
    if (!standing) {
      const auto wait = std::chrono::ceil<std::chrono::seconds>(*standing.retry_after);
      std::printf(", Retry-After: %lld", static_cast<long long>(wait.count()));
    }
    std::printf("\n");
    return standing ? 200 : 429;
  }

  headgate::redis::Connection connection_;
  headgate::redis::Gcra together_{connection_, "api", kRate, kBurst};
  headgate::Keyed<std::string, headgate::TokenBucket> alone_{100'000, headgate::TokenBucket(kRate, kBurst)};
};

}  // namespace

int main(int count, char** words) {
  const std::string server = count > 1 ? words[1] : "127.0.0.1:6379";
  Host hosts[] = {Host(server), Host(server)};
  const std::string client = "client-" + std::to_string(getpid());
  unsigned passed = 0;
  for (int request = 0; request < 10; ++request) {
    if (hosts[request % 2].answer(client) == 200) ++passed;
  }
  std::printf("%u of 10 requests pass\n", passed);
  return passed >= kBurst && passed < 10 ? 0 : 1;
}
