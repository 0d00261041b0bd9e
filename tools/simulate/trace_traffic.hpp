// The packets of a trace, pcap or pcapng, read by libpcap: Ethernet, raw IP, or "any" (Linux cooked).
//
// A frame that the trace holds only in part counts with its original length. One whose time stamp lies before that of the
// frame in front of it comes at the time of that one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "traffic.hpp"

namespace headgate {

class TraceTraffic : public Traffic {
 public:
  // `path`: "-" is standard input. `filter`: pcap-filter(7), only packets that match; empty: all. Throws
  // std::runtime_error, a sentence, when it cannot be read or is no trace of a kind that is known.
  explicit TraceTraffic(const std::string& path, const std::string& filter = {});
  ~TraceTraffic() override;

  const OfferedPacket* next() override;
  std::optional<double> progress() const override;

  // Of the first packet; none: there is none.
  std::optional<Instant> start() const;

  // What a reader of the results should know of the trace as far as it has been read, a sentence each.
  std::vector<std::string> notes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headgate
