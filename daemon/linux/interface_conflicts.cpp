#include "linux/interface_conflicts.hpp"

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "linux/traffic_hook.hpp"

namespace headgate {

namespace {

std::string quoted(const std::string& name) {
  return '"' + name + '"';
}

std::string same_interface(const std::string& first, const std::string& second) {
  return quoted(first) + " and " + quoted(second) + " are names of the same interface";
}

void refuse_second_shapes(Netlink& netlink, const std::vector<ShapeConfig>& shapes) {
  std::map<std::pair<int, Direction>, const ShapeConfig*> by_place;
  for (const ShapeConfig& shape : shapes) {
    const auto link = netlink.find_link(shape.interface);
    if (!link) continue;
    const auto [first, is_new] = by_place.emplace(std::pair(link->index, shape.direction), &shape);
    if (is_new) continue;
    throw std::runtime_error("interface: " + same_interface(first->second->interface, shape.interface) +
                             ", whose " + name_of(shape.direction) +
                             " is shaped twice: expected its classes in one [[shape]]");
  }
}

// As check_shapes_together() has it: of an end that is inline itself.
void refuse_third_ends(Netlink& netlink, const std::vector<ShapeConfig>& shapes) {
  std::map<int, const ShapeConfig*> inline_shapes;  // by interface
  for (const ShapeConfig& shape : shapes) {
    if (const auto link = netlink.find_link(shape.interface); link && !shape.forward_to.empty())
      inline_shapes.emplace(link->index, &shape);
  }
  std::map<int, const ShapeConfig*> by_far_end;
  for (const auto& [interface, shape] : inline_shapes) {
    const auto far_end = netlink.find_link(shape->forward_to);
    if (!far_end || !inline_shapes.contains(far_end->index)) continue;
    const auto [first, is_new] = by_far_end.emplace(far_end->index, shape);
    if (is_new) continue;
    throw std::runtime_error("forward_to: " + same_interface(first->second->forward_to, shape->forward_to) +
                             ", which is inline itself and the other end of both " +
                             quoted(first->second->interface) + " and " + quoted(shape->interface) +
                             ": expected one");
  }
}

}  // namespace

void refuse_interface_conflicts(Netlink& netlink, const std::vector<ShapeConfig>& shapes) {
  refuse_second_shapes(netlink, shapes);
  refuse_third_ends(netlink, shapes);
}

}  // namespace headgate
