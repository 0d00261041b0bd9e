// Text as a terminal shows it: how many columns it takes, and how it is cut. By the locale of the process.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headgate::top {

std::size_t columns_of(std::string_view text);

// At most `columns` wide; what is cut ends with `ellipsis`, which takes one column.
std::string cut_to(std::string_view text, std::size_t columns, std::string_view ellipsis);

// Exactly `columns` wide, with blanks behind the text, or before it.
std::string padded(std::string_view text, std::size_t columns, std::string_view ellipsis, bool right = false);

}  // namespace headgate::top
