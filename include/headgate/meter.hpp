// Three-colour meters: they colour packets by how well they keep their rates, and drop nothing.
//
// SingleRateMeter (RFC 2697): a packet within the committed burst is green, one within the excess burst yellow, others red.
// Tokens come at one rate, to the committed bucket, and when it is full to the excess bucket.
// TwoRateMeter (RFC 2698): a packet above the peak rate is red, one above the committed rate yellow, others green.
//
// Without a colour the meters are colour-blind. With the colour that the packet has already they are colour-aware: the
// packet never comes out better.
//
// Rates count bytes; the RFCs mean those of the IP packet. Where the RFCs add whole tokens, tokens flow here, exactly. In any
// time T at most committed burst + rate × T bytes are green. A clock that goes back stands still. Not thread-safe. Each call
// takes constant time, no memory. Errors: a constructor throws std::invalid_argument for what the RFC excludes.
#pragma once

#include <cstdint>

#include "headgate/accrual.hpp"
#include "headgate/units.hpp"

namespace headgate {

enum class Color : std::uint8_t { green, yellow, red };

class SingleRateMeter {
 public:
  // CIR, CBS, EBS. One of the bursts must be above zero.
  SingleRateMeter(UnitRate rate, DataSize committed_burst, DataSize excess_burst);

  Color mark(DataSize packet, Instant now, Color before = Color::green);

 private:
  void refill(Instant now);

  Accrual accrual_;
  Accrual::Parts committed_burst_;
  Accrual::Parts excess_burst_;
  Accrual::Parts committed_ = committed_burst_;  // tokens: Tc
  Accrual::Parts excess_ = excess_burst_;        // Te
};

class TwoRateMeter {
 public:
  // PIR, PBS, CIR, CBS. The peak rate must not be below the committed rate; both bursts must be above zero.
  TwoRateMeter(UnitRate peak_rate, DataSize peak_burst, UnitRate committed_rate, DataSize committed_burst);

  Color mark(DataSize packet, Instant now, Color before = Color::green);

 private:
  Accrual peak_accrual_;
  Accrual committed_accrual_;
  Accrual::Parts peak_burst_;
  Accrual::Parts committed_burst_;
  Accrual::Parts peak_ = peak_burst_;            // tokens: Tp
  Accrual::Parts committed_ = committed_burst_;  // Tc
};

}  // namespace headgate
