// An API that lets each client ask ten times a minute, five of them at once, and tells the others when to come again.
#include <headgate/keyed.hpp>
#include <headgate/token_bucket.hpp>

#include <cstdio>
#include <string>

namespace {

using namespace std::chrono_literals;

class Api {
 public:
  // The status that a request is answered with.
  int answer(const std::string& client, headgate::Instant now) {
    const headgate::Answer answer = clients_.allow(client, 1, now);
    if (answer) return 200;
    if (answer.refusal == headgate::Refusal::no_room) return 503;
    const auto wait = clients_.find(client, now)->wait(1, now);
    std::printf("%s: Retry-After: %lld\n", client.c_str(),
                static_cast<long long>(std::chrono::ceil<std::chrono::seconds>(*wait).count()));
    return 429;
  }

 private:
  headgate::Keyed<std::string, headgate::TokenBucket> clients_{100'000, headgate::TokenBucket({10, 1min}, 5)};
};

}  // namespace

int main() {
  Api api;
  const headgate::Instant start = headgate::instant_of(std::chrono::steady_clock::now());
  int refused = 0;
  for (int second = 0; second < 12; ++second) {
    const headgate::Instant now = start + second * 1s;
    const int alice = api.answer("alice", now);
    if (alice == 429) ++refused;
    std::printf("%d s: alice %d\n", second, alice);
    if (second % 6 == 0 && api.answer("bob", now) != 200) return 1;  // what alice does is not his concern
  }
  return refused == 6 ? 0 : 1;  // five at once and one after 6 s pass
}
