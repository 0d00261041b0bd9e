// What a bucket has, be it that of a class or of a plan: rate, burst, queue.
#pragma once

#include "config/said.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// Whether there is one, and it could be read.
bool read_rate(const Said& said, Rate& rate);

// `rate`: what it goes with; null: that could not be read.
void read_burst(const Said& said, const Rate* rate, Burst& burst);

// Stays as it is where none is said.
void read_queue(const Said& said, QueueCapacity& queue);

}  // namespace headgate
