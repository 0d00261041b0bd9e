// What the groups and classes of a shape's tree of rates must have to do with each other.
#pragma once

#include <vector>

#include "config/table_reader.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// Those of the shape's own table, and of its groups and classes in their order.
struct TreeReaders {
  const TableReader& shape;
  const std::vector<TableReader>& groups;
  const std::vector<TableReader>& classes;
};

// Refuses names that stand twice, parents that there are not, circles of them, guarantees that cannot hold, and what has
// nothing to be a part of. Warns of groups and ceilings that change nothing.
void check_tree(const ShapeConfig& shape, const TreeReaders& readers);

}  // namespace headgate
