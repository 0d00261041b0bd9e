#include "config/choices.hpp"

#include <array>
#include <string>

#include "config/quantity_text.hpp"
#include "config/suggestion.hpp"

namespace headgate {
namespace {

// `what_not` ends "... is " for a word that is none of `choices`.
template <typename Choice, std::size_t N>
Reading choose(std::string_view text, const std::array<Choice, N>& choices, std::string_view what_not,
               Choice& chosen) {
  std::array<std::string_view, N> words;
  for (std::size_t i = 0; i < N; ++i) {
    words[i] = to_text(choices[i]);
    if (text != words[i]) continue;
    chosen = choices[i];
    return {};
  }
  return refuse(quoted(text) + " is " + std::string(what_not) + ": " + suggest(text, words));
}

}  // namespace

Reading read_direction(std::string_view text, Direction& direction) {
  return choose(text, std::array{Direction::egress, Direction::ingress}, "not a direction", direction);
}

Reading read_divert(std::string_view text, DivertMethod& method) {
  return choose(text, std::array{DivertMethod::automatic, DivertMethod::tcx, DivertMethod::clsact},
                "no way to divert", method);
}

Reading read_segmentation(std::string_view text, Segmentation& segmentation) {
  return choose(text, std::array{Segmentation::precise, Segmentation::automatic, Segmentation::whole},
                "no way to segment", segmentation);
}

Reading read_precision(std::string_view text, Precision& precision) {
  return choose(text, std::array{Precision::normal, Precision::high}, "no precision", precision);
}

Reading read_queue_management(std::string_view text, QueueManagement& management) {
  return choose(text, std::array{QueueManagement::codel, QueueManagement::none}, "no queue management",
                management);
}

Reading read_action(std::string_view text, ClassAction& action) {
  return choose(text, std::array{ClassAction::shape, ClassAction::police}, "no action", action);
}

Reading read_limiter(std::string_view text, Limiter& limiter) {
  return choose(text, std::array{Limiter::token_bucket, Limiter::fixed_window, Limiter::sliding_window},
                "no limiter", limiter);
}

Reading read_on_loss(std::string_view text, OnLoss& on_loss) {
  return choose(text, std::array{OnLoss::floor, OnLoss::hold, OnLoss::open}, "no way to go on", on_loss);
}

Reading read_capture(std::string_view text, CaptureMethod& capture) {
  return choose(
      text,
      std::array{CaptureMethod::automatic, CaptureMethod::bpf, CaptureMethod::ring, CaptureMethod::pcap},
      "no way to capture", capture);
}

}  // namespace headgate
