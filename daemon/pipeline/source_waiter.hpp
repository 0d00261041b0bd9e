// The sleep of a drain thread that reads, too: until a packet arrives at its source, or as any Waiter.
#pragma once

#include <optional>

#include "pipeline/capture_loop.hpp"
#include "pipeline/waiter.hpp"

namespace headgate {

class SourceWaiter : public Waiter {
 public:
  explicit SourceWaiter(PacketSource& source) : source_(source) {}

  // Before the drain thread runs: who reads the source in it.
  void set_reader(CaptureLoop& reader) { reader_ = &reader; }

  // An interrupt stays for the next wait(), so nothing is lost in between.
  void prepare() override {}
  void wait(std::optional<Instant> deadline) override { reader_->wait_until(deadline); }
  void cancel() override {}
  void wake() override { source_.interrupt(); }

 private:
  PacketSource& source_;
  CaptureLoop* reader_ = nullptr;
};

}  // namespace headgate
