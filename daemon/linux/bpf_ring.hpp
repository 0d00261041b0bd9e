// A BPF ring buffer, into which the divert programs of a worker's shapes copy packets, and the sources that give each shape
// its own. One for each worker: a shape's channel is its part of it.
//
// A record stays where it is until its frame has been given back; then the kernel may write there again, once all older
// ones have been given back too. When there is no room the program counts what is lost.
//
// The kernel wakes who waits at the descriptor when it has written a record to the very place up to which all has been given
// back. So that it wakes nobody who is awake, the last record that was given back is kept, until the worker is about to
// wait.
//
// Frames are taken out and given to the channels by the worker that reads. Any worker gives frames back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "linux/capture_source.hpp"
#include "pipeline/packet_io.hpp"

namespace headgate {

class BpfRing : public SharedSource {
 public:
  // `bytes`: a power of two and of whole pages. Throws std::system_error.
  explicit BpfRing(std::size_t bytes = kBytes);
  ~BpfRing() override;
  BpfRing(const BpfRing&) = delete;
  BpfRing& operator=(const BpfRing&) = delete;

  int map() const { return descriptor(); }  // for the program

  // A shape's part. It gets frames between begin() and end(), by its number. The ring must outlive it.
  class Channel : public CaptureSource {
   public:
    virtual std::uint32_t number() const = 0;
  };
  std::unique_ptr<Channel> open_channel();

  void distribute(std::size_t most) override;
  bool waiting() const override;
  int descriptor() const override;
  void before_wait() override;

  // Some milliseconds of packets of any size.
  static constexpr std::size_t kBytes = 16UL * 1024 * 1024;
  // Frames that are out at once.
  static constexpr std::size_t kSlots = 16'384;

  struct State;  // the channels', too

 private:
  std::unique_ptr<State> state_;
};

}  // namespace headgate
