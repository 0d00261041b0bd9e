#include "trace_blocks.hpp"

#include <stdexcept>

#include "control/pcapng_writer.hpp"

namespace headgate {

namespace {

constexpr std::size_t kSmallestBlock = 12;
constexpr std::size_t kLargestBlock = 1024 * 1024;  // more than any frame with its options needs
constexpr std::size_t kLengthAt = 4;
constexpr std::size_t kDroppedAt =
    24;  // in statistics as headgated writes them: the value of their only option

}  // namespace

std::string TraceBlocks::take() {
  std::size_t taken = 0;
  while (!complete()) {
    const std::string_view rest = std::string_view(pending_).substr(taken);
    if (rest.size() < kSmallestBlock) break;
    const auto length = value_at<std::uint32_t>(rest, kLengthAt);
    if (length < kSmallestBlock || length > kLargestBlock)
      throw std::runtime_error("what headgated sends is no trace");
    if (rest.size() < length) break;
    const auto type = value_at<std::uint32_t>(rest, 0);
    if (type == PcapngWriter::kPacket) ++packets_;
    if (type == PcapngWriter::kStatistics)
      missed_ = value_at<std::uint64_t>(rest.substr(0, length), kDroppedAt);
    taken += length;
  }
  std::string blocks = pending_.substr(0, taken);
  pending_.erase(0, taken);
  return blocks;
}

}  // namespace headgate
