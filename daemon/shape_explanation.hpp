// What would become of a packet of a shape: the program on the hook is tried out, what it takes out is classified as a port
// does, and the worker that has the flow is asked.
//
// Main thread. Changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <span>

#include "attachment.hpp"
#include "core/classifier.hpp"
#include "vocabulary/explanation.hpp"

namespace headgate {

struct ExplainedShape {
  const Classifier& classifier;  // that the workers have
  std::span<const HookClass> hook_classes;
  const ShapeParts& parts;
  const Attachment* attachment;  // null: none
  LinkHeader link_header;
  std::span<std::future<void>>
      asked;  // by part, the last time: while a worker has not answered it is not asked
};

// A frame with an Ethernet header, also where the link has none. Throws a sentence: a worker does not answer.
Explanation explain(const ExplainedShape& shape, std::span<const std::byte> frame, std::uint32_t mark);

}  // namespace headgate
