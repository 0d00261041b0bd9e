#include "config/quantity.hpp"

#include <algorithm>
#include <cctype>
#include <string>

#include "config/quantity_grammar.hpp"
#include "config/quantity_text.hpp"

namespace headgate {
namespace {

Reading refuse_second(std::string_view text, std::string_view what) {
  return refuse(quoted(text).append(" is a second ").append(what).append(", expected at most one"));
}

std::string warn_of_bytes(std::string_view text, BitRate rate) {
  const std::string in_bits = std::string(text.substr(0, text.size() - 2)) + "it";  // "10mbps" → "10mbit"
  return quoted(text) + " is in bytes per second, as in tc: " + to_text(rate) +
         "; for bits per second write " + quoted(in_bits);
}

Duration nanoseconds(std::uint64_t count) {
  return Duration(static_cast<Duration::rep>(count));
}

}  // namespace

Reading read_rate(std::string_view text, Rate& rate) {
  Measure measure;
  Reading reading = measure_quantity(text, QuantityKind::rate, measure);
  if (!reading.ok()) return reading;
  if (measure.dimension == Dimension::packet_rate) {
    if (rate.packets) return refuse_second(text, "packet rate");
    rate.packets = PacketRate{measure.value, measure.seconds};
    return reading;
  }
  if (rate.bits) return refuse_second(text, "bit rate");
  rate.bits = BitRate{measure.value};
  if (measure.dimension == Dimension::byte_rate) reading.warning = warn_of_bytes(text, *rate.bits);
  return reading;
}

Reading read_burst(std::string_view text, Burst& burst) {
  Measure measure;
  Reading reading = measure_quantity(text, QuantityKind::burst, measure);
  if (!reading.ok()) return reading;
  if (measure.dimension == Dimension::packets) {
    if (burst.packets) return refuse_second(text, "burst in packets");
    burst.packets = measure.value;
  } else {
    if (burst.bytes) return refuse_second(text, "burst in bytes");
    burst.bytes = DataSize{measure.value};
  }
  return reading;
}

Reading read_queue(std::string_view text, QueueCapacity& queue) {
  Measure measure;
  Reading reading = measure_quantity(text, QuantityKind::queue, measure);
  if (!reading.ok()) return reading;
  if (measure.dimension == Dimension::packets) {
    if (queue.packets) return refuse_second(text, "capacity in packets");
    queue.packets = measure.value;
  } else if (measure.dimension == Dimension::size) {
    if (queue.bytes) return refuse_second(text, "capacity in bytes");
    queue.bytes = DataSize{measure.value};
  } else {
    if (queue.time) return refuse_second(text, "capacity in time");
    queue.time = nanoseconds(measure.value);
  }
  return reading;
}

Reading read_bit_rate(std::string_view text, std::optional<BitRate>& rate) {
  Measure measure;
  Reading reading = measure_quantity(text, QuantityKind::bit_rate, measure);
  if (!reading.ok()) return reading;
  rate = BitRate{measure.value};
  if (measure.dimension == Dimension::byte_rate) reading.warning = warn_of_bytes(text, *rate);
  return reading;
}

Reading read_size(std::string_view text, DataSize& size) {
  Measure measure;
  Reading reading = measure_quantity(text, QuantityKind::size, measure);
  if (reading.ok()) size = DataSize{measure.value};
  return reading;
}

Reading read_time(std::string_view text, Duration& time) {
  Measure measure;
  Reading reading = measure_quantity(text, QuantityKind::time, measure);
  if (reading.ok()) time = nanoseconds(measure.value);
  return reading;
}

Reading read_limit(std::string_view text, WindowConfig& window) {
  Measure measure;
  Reading reading = measure_quantity(text, QuantityKind::limit, measure);
  if (!reading.ok()) return reading;
  window.packets.reset();
  window.bytes.reset();
  if (measure.dimension == Dimension::packets)
    window.packets = measure.value;
  else
    window.bytes = DataSize{measure.value};
  return reading;
}

Reading read_window(std::string_view text, Duration& length) {
  Measure measure;
  Reading reading = measure_quantity(text, QuantityKind::window, measure);
  if (reading.ok()) length = nanoseconds(measure.value);
  return reading;
}

Reading settle_burst(Burst& burst, const Rate& rate) {
  if (burst.packets == 1U && (!burst.bytes || rate.packets)) burst.packets.reset();
  if (burst.packets && !rate.packets) {
    return refuse("a burst in packets goes with a packet rate, but the rate is " + quoted(to_text(rate)) +
                  ": give bytes such as \"15kb\", or leave burst out");
  }
  if (burst.bytes && !rate.bits) {
    return refuse("a burst in bytes goes with a bit rate, but the rate is " + quoted(to_text(rate)) +
                  ": give packets such as \"10p\", or leave burst out");
  }
  constexpr auto kSeconds = static_cast<std::uint64_t>(kMaxTime / std::chrono::seconds(1));
  const bool too_long =
      (burst.packets && *burst.packets * rate.packets->seconds / kSeconds >= rate.packets->packets) ||
      (burst.bytes && burst.bytes->bytes * 8 / kSeconds >= rate.bits->bits_per_second);
  if (too_long) {
    return refuse("a burst of " + to_text(burst) + " takes more than a day to build up at " + to_text(rate) +
                  ", expected a smaller one");
  }
  return {};
}

}  // namespace headgate
