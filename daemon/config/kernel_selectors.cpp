#include "config/kernel_selectors.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "config/quantity_text.hpp"
#include "config/table_reader.hpp"

namespace headgate {
namespace {

bool may_capture_by_bpf(const ShapeConfig& shape) {
  return shape.capture == CaptureMethod::automatic || shape.capture == CaptureMethod::bpf;
}

Reading refuse_capture(const ShapeConfig& shape) {
  return refuse("does not go with capture = \"" + std::string(to_text(shape.capture)) +
                "\", which has only the bytes of a packet: expected capture = \"bpf\" or \"auto\"");
}

// Only what leaves has a socket here.
Reading refuse_direction(const ShapeConfig& shape) {
  if (!shape.forward_to.empty()) {
    return refuse(
        "does not go with forward_to: what passes through has no socket here, expected a shape of what "
        "leaves, or leave cgroup out");
  }
  return refuse(
      "does not go with direction = \"ingress\": what arrives has no socket yet, expected \"egress\", or "
      "leave cgroup out");
}

// Those of an array. What else stands there is reported where it is read.
std::vector<const toml::table*> tables_of(const toml::array* array) {
  std::vector<const toml::table*> tables;
  if (array == nullptr) return tables;
  for (const toml::node& node : *array)
    if (const toml::table* table = node.as_table()) tables.push_back(table);
  return tables;
}

void count_cgroups(const TableReader& reader, const ClassConfig& config,
                   std::set<std::string_view>& different) {
  for (const std::string& path : config.selectors.cgroups) {
    if (!different.insert(path).second || different.size() <= kMaxCgroups) continue;
    reader.findings().add_error(reader.place("cgroup"),
                                "cgroup: " + quoted(path) + " is number " + std::to_string(different.size()) +
                                    " of the different cgroups in the file, expected at most " +
                                    std::to_string(kMaxCgroups));
  }
}

}  // namespace

std::vector<ShapeFinding> check_kernel_selectors(const ShapeConfig& shape, const ClassConfig& config) {
  std::vector<ShapeFinding> findings;
  const Selectors& selectors = config.selectors;
  if (!selectors.marks.empty() && !may_capture_by_bpf(shape))
    findings.push_back({"mark", refuse_capture(shape)});
  if (selectors.cgroups.empty()) return findings;
  if (!may_capture_by_bpf(shape)) findings.push_back({"cgroup", refuse_capture(shape)});
  if (shape.direction == Direction::ingress) findings.push_back({"cgroup", refuse_direction(shape)});
  return findings;
}

void check_kernel_selectors(const toml::array& tables, const std::vector<ShapeConfig>& shapes,
                            Findings& findings) {
  std::set<std::string_view> different;
  const std::vector<const toml::table*> shape_tables = tables_of(&tables);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const auto class_tables = tables_of((*shape_tables[i])["class"].as_array());
    // Behind those of the file there may be one of our own.
    for (std::size_t j = 0; j < std::min(class_tables.size(), shapes[i].classes.size()); ++j) {
      const TableReader reader(*class_tables[j], findings);
      const ClassConfig& config = shapes[i].classes[j];
      for (const auto& [key, reading] : check_kernel_selectors(shapes[i], config))
        findings.add(reader.place(key), key, reading);
      count_cgroups(reader, config, different);
    }
  }
}

}  // namespace headgate
