// Which rows are shown, and in what order.
#pragma once

#include "top/samples.hpp"
#include "top/view.hpp"

namespace headgate::top {

// Of the level that is open.
ShownRows shown_rows(const Samples& samples, const View& view);

// Of any rows, by the view's filter and order.
ShownRows arranged(const Rows& rows, const View& view);

}  // namespace headgate::top
