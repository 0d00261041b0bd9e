#include "headgate/accrual.hpp"

namespace headgate {

Accrual::Parts Accrual::advance(Instant now) {
  if (now <= latest_) return 0;
  const Int128 passed = nanoseconds_of(now) - nanoseconds_of(latest_);
  latest_ = now;
  return in(passed);
}

std::int64_t Accrual::whole_units(Parts amount) const {
  return nearest_64_bits(rounded_down_quotient(amount, rate_.period().count()));
}

std::int64_t Accrual::units_up(Parts amount) const {
  return nearest_64_bits(rounded_up_quotient(amount, rate_.period().count()));
}

Int128 Accrual::nanoseconds_for(Parts amount) const {
  return rounded_up_quotient(amount, rate_.units());
}

Accrual::Parts Accrual::change(UnitRate rate, Parts amount) {
  const Int128 old_period = rate_.period().count();
  const Int128 new_period = rate.period().count();
  const Int128 whole = rounded_down_quotient(amount, old_period);
  const Int128 rest = amount - whole * old_period;
  rate_ = rate;
  return whole * new_period + rest * new_period / old_period;
}

}  // namespace headgate
