// Quantities for a screen: three significant digits and the unit.
#pragma once

#include <cstdint>
#include <string>

namespace headgate {

// Counts are exact up to 9999: "9999", "12.3k", "1.20M".
std::string packets_text(std::uint64_t packets);
std::string whole_text(std::uint64_t number);  // all of it: "50 000"
std::string bytes_text(std::uint64_t bytes);   // of 1000: "9999 B", "12.3 kB"

std::string delay_text(double microseconds);              // "12.0 us", "97.0 ms", "1.20 s"
std::string packet_rate_text(double packets_per_second);  // "1000 pps"
std::string bit_rate_text(double bits_per_second);        // "12.3 Mbit/s"
std::string uptime_text(double seconds);                  // the two largest units: "2 h 13 min"

}  // namespace headgate
