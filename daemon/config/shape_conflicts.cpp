#include "config/shape_conflicts.hpp"

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "config/quantity_text.hpp"

namespace headgate {
namespace {

bool is_inline(const PlacedShape& shape) {
  return !shape.config.forward_to.empty();
}

std::string in_line(Place place) {
  return "in line " + std::to_string(place.line);
}

std::string describe_second(const PlacedShape& first, const PlacedShape& second) {
  const std::string name = quoted(second.config.interface);
  if (first.config.forward_to != second.config.forward_to) {
    const std::string where = is_inline(first) ? quoted(first.config.forward_to) : "the host";
    return "what arrives on " + name + " goes to " + where + " by the shape " + in_line(first.interface) +
           " already, expected one of the two";
  }
  return "the " + std::string(to_text(second.config.direction)) + " of " + name + " is shaped " +
         in_line(first.interface) + " already, expected its classes in one [[shape]]";
}

void refuse_second_shapes(const std::vector<PlacedShape>& shapes, Findings& findings) {
  std::map<std::pair<std::string_view, Direction>, const PlacedShape*> by_place;
  for (const PlacedShape& shape : shapes) {
    if (shape.config.interface.empty()) continue;
    const auto [first, is_new] =
        by_place.emplace(std::pair(std::string_view(shape.config.interface), shape.config.direction), &shape);
    if (!is_new) findings.add_error(shape.interface, "interface: " + describe_second(*first->second, shape));
  }
}

// By interface, of those that are inline.
using InlineShapes = std::map<std::string_view, const PlacedShape*>;

InlineShapes inline_shapes(const std::vector<PlacedShape>& shapes) {
  InlineShapes by_interface;
  for (const PlacedShape& shape : shapes) {
    if (is_inline(shape)) by_interface.emplace(shape.config.interface, &shape);
  }
  return by_interface;
}

void refuse_third_ends(const std::vector<PlacedShape>& shapes, const InlineShapes& by_interface,
                       Findings& findings) {
  InlineShapes by_far_end;
  for (const PlacedShape& shape : shapes) {
    const std::string& far_end = shape.config.forward_to;
    if (!by_interface.contains(far_end)) continue;
    const auto [first, is_new] = by_far_end.emplace(far_end, &shape);
    if (is_new || first->second->config.interface == shape.config.interface) continue;
    findings.add_error(shape.forward_to, "forward_to: " + quoted(far_end) +
                                             " is inline itself and the other end of " +
                                             quoted(first->second->config.interface) + " " +
                                             in_line(first->second->forward_to) +
                                             " already, expected an interface of a wire that has no other");
  }
}

void warn_of_half_wires(const std::vector<PlacedShape>& shapes, const InlineShapes& by_interface,
                        Findings& findings) {
  for (const PlacedShape& shape : shapes) {
    const std::string& interface = shape.config.interface;
    const std::string& far_end = shape.config.forward_to;
    if (!is_inline(shape)) continue;
    const auto back = by_interface.find(far_end);
    if (back != by_interface.end() && back->second->config.forward_to == interface) continue;
    findings.add_warning(shape.forward_to, "forward_to: nothing forwards what arrives on " + quoted(far_end) +
                                               " back to " + quoted(interface) +
                                               "; that is another [[shape]], with interface = " +
                                               quoted(far_end) + " and forward_to = " + quoted(interface));
  }
}

}  // namespace

void check_shapes_together(const std::vector<PlacedShape>& shapes, Findings& findings) {
  refuse_second_shapes(shapes, findings);
  const InlineShapes by_interface = inline_shapes(shapes);
  refuse_third_ends(shapes, by_interface, findings);
  if (findings.errors() == 0) warn_of_half_wires(shapes, by_interface, findings);
}

}  // namespace headgate
