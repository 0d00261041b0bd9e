#include "merged_traffic.hpp"

#include <utility>

namespace headgate {

MergedTraffic::MergedTraffic(std::vector<std::unique_ptr<Traffic>> parts) : parts_(std::move(parts)) {
  for (const auto& part : parts_) waiting_.push_back(part->next());
}

// There are few parts: a trace, and what was said of one --traffic each.
const OfferedPacket* MergedTraffic::next() {
  if (given_ != kNone) waiting_[given_] = parts_[given_]->next();
  given_ = kNone;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (waiting_[i] == nullptr) continue;
    if (given_ == kNone || waiting_[i]->at < waiting_[given_]->at) given_ = i;
  }
  return given_ == kNone ? nullptr : waiting_[given_];
}

std::optional<double> MergedTraffic::progress() const {
  std::optional<double> least;
  for (const auto& part : parts_) {
    const std::optional<double> one = part->progress();
    if (one && (!least || *one < *least)) least = one;
  }
  return least;
}

}  // namespace headgate
