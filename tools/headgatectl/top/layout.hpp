// The whole screen of top: title, state, rows, details of the selected row, keys.
#pragma once

#include <string>

#include "top/samples.hpp"
#include "top/screen.hpp"
#include "top/view.hpp"

namespace headgate::top {

// What stands beside the rows. The texts need not be fit for a terminal.
struct Remarks {
  std::string silence;  // headgated does not answer; empty: it does
  std::string flows;    // why the flows of the class are not known; empty: they are
};

// How many rows there is room for.
std::size_t rows_on(Size size);

// `rows` is what shown_rows() gives, and the place of the view is one that follow() has seen to.
Screen layout(const Samples& samples, const ShownRows& rows, const View& view, const Remarks& remarks,
              Size size, bool utf8);

}  // namespace headgate::top
