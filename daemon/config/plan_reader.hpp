// The [[shape.class.plan]] of one class.
#pragma once

#include "config/keys.hpp"
#include "config/table_reader.hpp"

namespace headgate {

// `reader` is the table of the class, all else of which `draft` has.
void read_plans(const TableReader& reader, ClassDraft& draft);

}  // namespace headgate
