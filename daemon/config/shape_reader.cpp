#include "config/shape_reader.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "config/choices.hpp"
#include "config/class_reader.hpp"
#include "config/control_limit_grammar.hpp"
#include "config/known_keys.hpp"
#include "config/link_layer.hpp"
#include "config/names.hpp"
#include "config/shape_rules.hpp"
#include "config/table_reader.hpp"
#include "config/worker_count.hpp"

namespace headgate {
namespace {

constexpr std::size_t kMaxClasses = 4096;  // a packet is tried against one after the other

void read_interface(const TableReader& reader, ShapeConfig& config) {
  if (!reader.has("interface")) {
    reader.findings().add_error(reader.place(),
                                "the shape has no interface, expected one such as interface = \"eth0\"");
    return;
  }
  const auto name = reader.text("interface", "\"eth0\"");
  if (name && reader.findings().add(reader.place("interface"), "interface", check_interface_name(*name))) {
    config.interface = *name;
  }
}

// What was said and could be read.
std::optional<Direction> said_direction(const TableReader& reader, ShapeConfig& config) {
  const auto text = reader.text("direction", "\"egress\"");
  if (!text) return std::nullopt;
  const Reading reading = read_direction(*text, config.direction);
  return reader.findings().add(reader.place("direction"), "direction", reading)
             ? std::optional(config.direction)
             : std::nullopt;
}

// Kept also where it is refused, so that the shape still counts as inline.
void read_forward_to(const TableReader& reader, ShapeConfig& config) {
  const auto name = reader.text("forward_to", "\"eth1\"");
  if (!name) return;
  reader.findings().add(reader.place("forward_to"), "forward_to", check_interface_name(*name));
  config.forward_to = *name;
}

void read_traffic_handling(const TableReader& reader, ShapeConfig& config) {
  Findings& findings = reader.findings();
  if (const auto text = reader.text("segmentation", "\"precise\""))
    findings.add(reader.place("segmentation"), "segmentation", read_segmentation(*text, config.segmentation));
  if (const auto text = reader.text("capture", "\"ring\""))
    findings.add(reader.place("capture"), "capture", read_capture(*text, config.capture));
  if (const auto text = reader.text("precision", "\"normal\""))
    findings.add(reader.place("precision"), "precision", read_precision(*text, config.precision));
  if (const auto workers = reader.whole_number("workers", "2"))
    findings.add(reader.place("workers"), "workers", read_workers(*workers, config.workers));
  if (const auto bytes = reader.whole_number("overhead", "24"))
    findings.add(reader.place("overhead"), "overhead", read_overhead(*bytes, config));
  if (const auto bytes = reader.whole_number("mpu", "84"))
    findings.add(reader.place("mpu"), "mpu", read_mpu(*bytes, config));
}

void read_control_limit(const TableReader& reader, ShapeConfig& config) {
  if (!reader.has("control_limit")) return;
  ControlLimitReader limit;
  for (const auto& [text, place] : reader.quantities("control_limit", QuantityKind::rate)) {
    reader.findings().add(place, "control_limit", limit.add(text));
  }
  config.control_limit = limit.limit();
}

void report(const std::vector<ShapeFinding>& shape_findings, const TableReader& reader) {
  for (const auto& [key, reading] : shape_findings) reader.findings().add(reader.place(key), key, reading);
}

void check_names_differ(const std::vector<ClassConfig>& classes, const std::vector<TableReader>& readers,
                        Findings& findings) {
  std::map<std::string_view, std::size_t> lines;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i].name.empty()) continue;
    const Place place = readers[i].place("name");
    const auto [first, is_new] = lines.emplace(classes[i].name, place.line);
    if (is_new) continue;
    findings.add_error(place, "name: " + quoted(classes[i].name) + " is the name of the class in line " +
                                  std::to_string(first->second) + " already, expected another");
  }
}

// What a class asks of a packet. Classes that name the same networks share one set of them.
using Demands = std::tuple<std::string_view, std::uint64_t, const NetworkSet*, const NetworkSet*>;
constexpr unsigned kAllDemands = 0b1111;

// Of a class those in `kept`, a bit for each; the others are left out.
Demands demands_of(const ClassConfig& config, unsigned kept) {
  const Selectors& selectors = config.selectors;
  Demands demands;
  if (kept & 0b0001) std::get<0>(demands) = config.match;
  if (kept & 0b0010) std::get<1>(demands) = selectors.dscp;
  if (kept & 0b0100) std::get<2>(demands) = selectors.source.networks.get();
  if (kept & 0b1000) std::get<3>(demands) = selectors.destination.networks.get();
  return demands;
}

void warn_of_idle_classes(const std::vector<ClassConfig>& classes, const std::vector<TableReader>& readers,
                          Findings& findings) {
  std::map<Demands, const ClassConfig*>
      by_demands;  // of those that ask the same the first, or the first with control
  // The class that asks nothing that this one does not ask, too. A class without `control` leaves control traffic to the
  // classes behind it.
  const auto class_before = [&](const ClassConfig& config) -> const ClassConfig* {
    for (unsigned kept = 0; kept <= kAllDemands; ++kept) {
      const auto found = by_demands.find(demands_of(config, kept));
      if (found != by_demands.end() && (found->second->control || !config.control)) return found->second;
    }
    return nullptr;
  };
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (const ClassConfig* earlier = class_before(classes[i])) {
      findings.add_warning(readers[i].place(), "class " + quoted(classes[i].name) +
                                                   " never gets a packet: the class " +
                                                   quoted(earlier->name) + " before it takes them all");
      continue;
    }
    by_demands[demands_of(classes[i], kAllDemands)] = &classes[i];
  }
}

void read_classes(const TableReader& reader, NetworkLists& lists, ShapeConfig& config) {
  Findings& findings = reader.findings();
  const toml::array* tables = reader.tables("class", "shape.class");
  if (!reader.has("class") || (tables != nullptr && tables->empty())) {
    findings.add_error(
        reader.place(),
        "the shape has no class and would shape nothing, expected at least one [[shape.class]] below it");
  }
  if (tables == nullptr) return;
  if (tables->size() > kMaxClasses) {
    findings.add_error(reader.place("class"), "the shape has " + std::to_string(tables->size()) +
                                                  " classes, expected at most " +
                                                  std::to_string(kMaxClasses));
    return;
  }
  const std::size_t errors_before = findings.errors();
  std::vector<TableReader> readers;
  for (const toml::node& node : *tables) {
    const toml::table* table = node.as_table();
    if (table == nullptr) continue;
    readers.emplace_back(*table, findings);
    config.classes.push_back(read_class(*table, lists, findings));
  }
  check_names_differ(config.classes, readers, findings);
  if (findings.errors() == errors_before) warn_of_idle_classes(config.classes, readers, findings);
}

}  // namespace

ShapeConfig read_shape(const toml::table& table, NetworkLists& lists, Findings& findings) {
  report_unknown_keys(table, TableKind::shape, findings);
  const TableReader reader(table, findings);
  ShapeConfig config;
  read_interface(reader, config);
  const std::optional<Direction> direction = said_direction(reader, config);
  read_forward_to(reader, config);
  config.qdisc_bypass = reader.flag("qdisc_bypass").value_or(false);
  read_traffic_handling(reader, config);
  read_control_limit(reader, config);
  report(settle_shape(config, direction), reader);
  const std::size_t errors_before = findings.errors();
  read_classes(reader, lists, config);
  if (findings.errors() == errors_before) report(check_accounting(config), reader);
  return config;
}

}  // namespace headgate
