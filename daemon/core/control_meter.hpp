// Whether control traffic keeps the shape's limit: of what comes to headgate, that which no class with `control` takes.
// The divert program in the kernel does the same for what it lets go on.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/control_limit.hpp"
#include "vocabulary/statistics.hpp"

namespace headgate {

class ControlMeter {
 public:
  explicit ControlMeter(const ControlLimit& limit) : limit_(limit) {}

  // True: the packet keeps both bounds and has been charged to them. Any thread.
  bool take(const Count& size, Instant now);
  // Whether it would; charges nothing.
  bool would_take(const Count& size, Instant now) const;

 private:
  // As time since the beginning of Instant: when all that was taken has been paid for.
  using PaidAt = std::atomic<Duration::rep>;

  const ControlLimit limit_;
  PaidAt packets_paid_at_{0};
  PaidAt bits_paid_at_{0};
};

}  // namespace headgate
