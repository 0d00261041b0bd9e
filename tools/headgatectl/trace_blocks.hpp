// Cuts the trace that headgated sends into its blocks, so that what is written ends with a whole one, and counts.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace headgate {

// A number of a block; 0 behind its end.
template <typename Value>
Value value_at(std::string_view bytes, std::size_t position) {
  Value value{};
  if (bytes.size() >= position + sizeof value) std::memcpy(&value, bytes.data() + position, sizeof value);
  return value;
}

class TraceBlocks {
 public:
  // `most_packets`: where the trace is to end; none: it goes on.
  explicit TraceBlocks(std::optional<std::uint64_t> most_packets) : most_packets_(most_packets) {}

  void add(std::string_view bytes) { pending_ += bytes; }
  // The blocks that have come since, in whole. Throws std::runtime_error when it is not a trace.
  std::string take();

  std::uint64_t packets() const { return packets_; }  // taken
  std::uint64_t missed() const { return missed_; }    // which headgated could not put in
  bool complete() const { return most_packets_ && packets_ >= *most_packets_; }

 private:
  const std::optional<std::uint64_t> most_packets_;
  std::string pending_;
  std::uint64_t packets_ = 0;
  std::uint64_t missed_ = 0;
};

}  // namespace headgate
