// The columns of a level, as many as a width has room for.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "top/view.hpp"

namespace headgate::top {

enum class Field {
  name,
  bits,
  packets,
  rate_trend,
  drops,
  drops_trend,
  p50,
  p99,
  delay_trend,
  queue,
  flows,
  limit
};

struct PlacedColumn {
  Field field;
  std::string_view title;
  std::size_t gap;  // blanks before it
  std::size_t width;
  bool right;  // aligned to the right
};

struct Content {
  std::size_t longest_name = 0;  // columns
  bool limits = false;           // some row has one
};

// From left to right, together at most `width` wide. The name comes first, and is always there; what else fits is
// chosen by how much it matters.
std::vector<PlacedColumn> columns_for(const View& view, std::size_t width, const Content& content);

}  // namespace headgate::top
