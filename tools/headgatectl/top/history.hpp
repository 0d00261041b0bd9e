// What a link, a class or a flow did lately, from the counts of one look after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace headgate::top {

inline constexpr std::size_t kSamplesKept = 60;

// Between two looks. Nothing: not known, or there was nothing to measure.
struct Sample {
  std::optional<double> packets;  // sent, per second
  std::optional<double> bits;     // sent, per second
  std::optional<double> drops;    // packets per second
  std::optional<double> p50;      // of delays, microseconds
  std::optional<double> p99;
};

// Counts at one look. They only grow, unless they began anew.
struct Totals {
  std::uint64_t packets = 0;  // sent
  std::uint64_t bytes = 0;    // sent
  std::uint64_t drops = 0;
  std::vector<std::uint64_t> delays;  // as delay_quantile() takes them; empty: not measured
  double p50 = 0, p99 = 0;            // of the last ten seconds, measured finely; 0: nothing was sent
};

class History {
 public:
  // `seconds` since the look before; 0: that was another process, whose counts say nothing of these.
  void add(Totals now, double seconds, const std::vector<double>& delay_bounds);

  // For what is made of others: a link has the longest delays of its classes.
  void set_delays(std::optional<double> p50, std::optional<double> p99);

  const Sample& latest() const;                                   // empty before the second look
  const std::deque<Sample>& samples() const { return samples_; }  // the latest last

 private:
  std::optional<Totals> before_;
  std::deque<Sample> samples_;
};

}  // namespace headgate::top
