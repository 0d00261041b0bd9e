#include "shape_explanation.hpp"

#include <memory>
#include <stdexcept>
#include <utility>

#include "pipeline/arriving_packet.hpp"
#include "pipeline/part_of_flow.hpp"

namespace headgate {

namespace {

constexpr Duration kPatience = std::chrono::milliseconds(500);

HookTrialResult ask_hook(const ExplainedShape& shape, std::span<const std::byte> frame, std::uint32_t mark) {
  if (shape.attachment == nullptr || !shape.attachment->diverting())
    return {.verdict = HookVerdict::open, .why_not_asked = {}, .copied = {}};
  return shape.attachment->try_hook(shape.hook_classes, frame, mark);
}

// Whether a class is asked for, if only to say which would take it.
bool is_classified(HookVerdict verdict) {
  return verdict != HookVerdict::own_packet && verdict != HookVerdict::not_ip &&
         verdict != HookVerdict::control_traffic;
}

bool comes_to_worker(HookVerdict verdict) {
  return verdict == HookVerdict::taken_out || verdict == HookVerdict::cut_first ||
         verdict == HookVerdict::not_asked;
}

// The worker's until it has answered, which may be after nobody waits any more.
struct Question {
  explicit Question(CapturedCopy own_copy) : copy(std::move(own_copy)) {}

  CapturedCopy copy;
  ArrivingPacket packet{};
  FlowOutlook outlook{};
};

bool is_answered(const std::future<void>& asked, Duration patience) {
  return !asked.valid() || asked.wait_for(patience) == std::future_status::ready;
}

FlowOutlook ask_worker(ShapePart& part, std::future<void>& asked, const std::shared_ptr<Question>& question) {
  if (is_answered(asked, Duration::zero())) {
    asked = part.worker().ask([question, &shaper = part.shaper](Instant now) {
      question->packet.arrival = now;
      shaper.gather(question->packet);
      question->outlook = shaper.explain(question->packet, now);
    });
    if (is_answered(asked, kPatience)) {
      asked.get();
      return question->outlook;
    }
  }
  throw std::runtime_error("the worker that has its flow does not answer");
}

}  // namespace

Explanation explain(const ExplainedShape& shape, std::span<const std::byte> frame, std::uint32_t mark) {
  HookTrialResult tried = ask_hook(shape, frame, mark);
  Explanation explanation{.hook = tried.verdict, .why_hook_is_not_asked = std::move(tried.why_not_asked)};
  const auto question = std::make_shared<Question>(tried.copied ? std::move(*tried.copied)
                                                                : CapturedCopy(frame, {.mark = mark}));
  ArrivingPacket& packet = question->packet;
  packet = arriving_packet(question->copy.captured(), added_bytes(shape.link_header), MonotonicClock().now());
  explanation.charged = {packet.charged_packets, packet.charged_bytes};
  if (!is_classified(tried.verdict)) return explanation;
  Classifier::Classification classification = shape.classifier.explain(packet);
  explanation.is_ip = classification.is_ip;
  explanation.keeps_control_limit = classification.keeps_control_limit;
  explanation.verdicts = std::move(classification.verdicts);
  explanation.class_index = packet.class_index;
  if (shape.classifier.unshaped(packet.class_index)) return explanation;
  explanation.key = packet.key;
  explanation.worker = part_of_flow(packet.flow_hash, shape.parts.size());
  if (!comes_to_worker(tried.verdict)) return explanation;
  explanation.outlook =
      ask_worker(*shape.parts[explanation.worker], shape.asked[explanation.worker], question);
  explanation.key = packet.key;  // perhaps its plan's
  return explanation;
}

}  // namespace headgate
