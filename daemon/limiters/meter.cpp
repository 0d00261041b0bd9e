#include "headgate/meter.hpp"

#include <algorithm>
#include <stdexcept>

namespace headgate {
namespace {

bool slower(UnitRate one, UnitRate other) {
  return Int128{one.units()} * other.period().count() < Int128{other.units()} * one.period().count();
}

}  // namespace

SingleRateMeter::SingleRateMeter(UnitRate rate, DataSize committed_burst, DataSize excess_burst)
    : accrual_(rate),
      committed_burst_(accrual_.parts(committed_burst.bytes)),
      excess_burst_(accrual_.parts(excess_burst.bytes)) {
  if (committed_burst_ == 0 && excess_burst_ == 0) throw std::invalid_argument("a meter needs a burst");
}

void SingleRateMeter::refill(Instant now) {
  committed_ += accrual_.advance(now);
  const Accrual::Parts over = std::max<Accrual::Parts>(0, committed_ - committed_burst_);
  committed_ -= over;
  excess_ = std::min(excess_ + over, excess_burst_);
}

Color SingleRateMeter::mark(DataSize packet, Instant now, Color before) {
  refill(now);
  const Accrual::Parts size = accrual_.parts(packet.bytes);
  if (before == Color::green && committed_ >= size) {
    committed_ -= size;
    return Color::green;
  }
  if (before != Color::red && excess_ >= size) {
    excess_ -= size;
    return Color::yellow;
  }
  return Color::red;
}

TwoRateMeter::TwoRateMeter(UnitRate peak_rate, DataSize peak_burst, UnitRate committed_rate,
                           DataSize committed_burst)
    : peak_accrual_(peak_rate),
      committed_accrual_(committed_rate),
      peak_burst_(peak_accrual_.parts(peak_burst.bytes)),
      committed_burst_(committed_accrual_.parts(committed_burst.bytes)) {
  if (slower(peak_rate, committed_rate))
    throw std::invalid_argument("the peak rate is below the committed rate");
  if (peak_burst_ == 0 || committed_burst_ == 0) throw std::invalid_argument("a meter needs both bursts");
}

Color TwoRateMeter::mark(DataSize packet, Instant now, Color before) {
  peak_ = std::min(peak_ + peak_accrual_.advance(now), peak_burst_);
  committed_ = std::min(committed_ + committed_accrual_.advance(now), committed_burst_);
  const Accrual::Parts of_peak = peak_accrual_.parts(packet.bytes);
  const Accrual::Parts of_committed = committed_accrual_.parts(packet.bytes);
  if (before == Color::red || peak_ < of_peak) return Color::red;
  peak_ -= of_peak;
  if (before == Color::yellow || committed_ < of_committed) return Color::yellow;
  committed_ -= of_committed;
  return Color::green;
}

}  // namespace headgate
