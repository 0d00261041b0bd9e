// What a rate brings as time passes, exactly: the arithmetic of the buckets and meters. Not thread-safe.
//
// Amounts are kept in parts, of which a unit has as many as the rate's period has nanoseconds. At 10 units a minute a unit
// is 6·10^10 parts, and each nanosecond brings 10. So nothing is ever rounded, and no rate drifts.
//
// Time is the latest instant that was seen: a clock that goes back stands still, one that jumps forward by years brings
// what those years bring. Any Instant will do. Each call takes constant time.
#pragma once

#include <cstdint>

#include "headgate/clock.hpp"
#include "headgate/units.hpp"
#include "headgate/wide.hpp"

namespace headgate {

class Accrual {
 public:
  using Parts = Int128;

  // Waits are bounded, so that no amount overflows: 36 years.
  static constexpr Duration kLongestWait{std::int64_t{1} << 60};

  explicit Accrual(UnitRate rate) : rate_(rate) {}

  UnitRate rate() const { return rate_; }
  Instant latest() const { return latest_; }  // before the first advance(): Instant::min()

  // What has come since the latest instant. `now` becomes the latest, unless it lies before.
  Parts advance(Instant now);

  Parts parts(std::uint64_t units) const { return Parts{units} * rate_.period().count(); }
  Parts in(Int128 nanoseconds) const { return nanoseconds * Parts{rate_.units()}; }

  std::int64_t whole_units(Parts amount) const;  // rounded down
  std::int64_t units_up(Parts amount) const;     // rounded up
  Int128 nanoseconds_for(Parts amount) const;    // rounded up

  // Goes over to another rate from the latest instant on. Returns `amount` in parts of the new rate, rounded down by less
  // than one.
  Parts change(UnitRate rate, Parts amount);

 private:
  UnitRate rate_;
  Instant latest_ = Instant::min();
};

}  // namespace headgate
