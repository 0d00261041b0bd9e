// The two ends of a shape's pipeline, as a worker sees them. One virtual call per batch, never per packet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "headgate/clock.hpp"

namespace headgate {

// A frame in its capture slot.
struct CapturedFrame {
  std::span<const std::byte> frame;  // what was captured; shorter than wire_length when clipped
  std::uint32_t wire_length = 0;
  std::uint8_t prefix_bytes = 0;  // in front of the frame in memory: pipeline/frame_prefix.hpp
  std::uint32_t slot = 0;         // for give_back()
  std::uint16_t vlan_tpid = 0;    // the tag that the kernel stripped; 0: none
  std::uint16_t vlan_tci = 0;
  std::uint32_t cgroups = 0;  // ArrivingPacket
};

// What a worker waits at.
class Arrivals {
 public:
  virtual ~Arrivals() = default;

  // Any thread. A frame has arrived that no receive() has given yet.
  virtual bool waiting() const = 0;

  // For a waiter: readable when a frame may have arrived. -1: nothing to wait at.
  virtual int descriptor() const { return -1; }
  // The worker that reads: the descriptor has an error, which receive() is to judge.
  virtual void note_error() {}
  // The worker that reads: it is going to wait at the descriptor, after a last look at waiting().
  virtual void before_wait() {}
};

class PacketSource : public Arrivals {
 public:
  // The worker that reads. Fills `out` with frames that have arrived, oldest first; fewer than `out` holds
  // only when no more have arrived or all slots are out. Never blocks.
  // Throws std::system_error when the source is gone for good; a device that is down is not an error.
  virtual std::size_t receive(std::span<CapturedFrame> out) = 0;

  // The worker that reads. How long the first frame that the last receive() gave had waited for it; by the clock of wall
  // time, so a step of that clock adds to it.
  virtual Duration waited() const = 0;

  // The worker that reads. reached_line(): everything has been given that had arrived at the last draw_line().
  virtual void draw_line() {}
  virtual bool reached_line() const { return !waiting(); }

  // Any worker of the shape. Where there is one, slots return in the order in which receive() gave them.
  virtual void give_back(std::span<const std::uint32_t> slots) = 0;

  // Number of slots: the most frames that can be out at once.
  virtual std::size_t slots() const = 0;

  // The worker that reads. In between, frames of a shared source are given to it.
  virtual void begin() {}
  virtual void end() {}
  // It has its frames from a shared source, where the worker waits for them.
  virtual bool is_shared() const { return false; }
};

// Gives what arrives to the sources of several ports of one worker.
class SharedSource : public Arrivals {
 public:
  // The worker. Looks at no more than `most` frames.
  virtual void distribute(std::size_t most) = 0;
};

// A frame to send, gathered from parts.
struct OutgoingFrame {
  std::span<const std::span<const std::byte>> parts;
};

class PacketSink {
 public:
  virtual ~PacketSink() = default;

  // The worker. Tries to send the frames in order, each once. Sets sent[i] for each; false: the kernel refused it. Never
  // waits, never throws for a device that is down or gone: its frames are simply not sent.
  virtual void send(std::span<const OutgoingFrame> frames, std::span<bool> sent) = 0;
};

// The dead-man switch as a worker sees it (see linux/traffic_divert.hpp).
class DeadManSwitch {
 public:
  virtual ~DeadManSwitch() = default;
  // "Packets are being read". While this is not called for 500 ms with packets waiting, the kernel lets packets pass
  // unshaped.
  virtual void reset(Instant now) = 0;
  // How long diverted packets have been unread; zero: none are.
  virtual Duration unread_for(Instant now) const = 0;
  // Packets have passed unshaped since the last reset.
  virtual bool has_let_pass() const = 0;
};

}  // namespace headgate
