#include "config/class_reader.hpp"

#include <string>

#include "config/characters.hpp"
#include "config/dscp_grammar.hpp"
#include "config/key_grammar.hpp"
#include "config/known_keys.hpp"
#include "config/names.hpp"
#include "config/quantity.hpp"
#include "config/table_reader.hpp"

namespace headgate {
namespace {

constexpr std::string_view kKeyExamples = R"("dst", "5-tuple" or "class")";
constexpr std::string_view kDscpExamples = R"("ef", "af41" or "46")";
constexpr std::string_view kNetworkExamples = R"("10.0.0.0/8", or the path of a file of networks)";

void read_name(const TableReader& reader, ClassConfig& config) {
  if (!reader.has("name")) {
    reader.findings().add_error(reader.place(),
                                "the class has no name, expected one such as name = \"clients\"");
    return;
  }
  const auto name = reader.text("name", "\"clients\"");
  if (name && reader.findings().add(reader.place("name"), "name", check_class_name(*name)))
    config.name = *name;
}

void read_match(const TableReader& reader, ClassConfig& config) {
  const auto match = reader.text("match", "\"udp port 53\"");
  if (!match) return;
  if (is_blank(*match)) {
    reader.findings().add_error(reader.place("match"),
                                "match: the expression is empty; leave match out to take every packet");
    return;
  }
  config.match = *match;  // check_matches() compiles those of all classes together
}

void read_networks(const TableReader& reader, std::string_view key, NetworkLists& lists,
                   NetworkSelector& selector) {
  if (!reader.has(key)) return;
  Findings& findings = reader.findings();
  const std::size_t errors_before = findings.errors();
  NetworkListReader list(lists);
  for (const auto& [text, place] : reader.elements(key, kNetworkExamples)) {
    findings.add(place, key, list.add(text));
  }
  if (findings.errors() == errors_before)
    findings.add(reader.place(key), key, list.settle(selector.networks));
}

void read_selectors(const TableReader& reader, NetworkLists& lists, Selectors& selectors) {
  for (const auto& [text, place] : reader.elements("dscp", kDscpExamples)) {
    reader.findings().add(place, "dscp", read_dscp(text, selectors.dscp));
  }
  read_networks(reader, "src", lists, selectors.source);
  read_networks(reader, "dst", lists, selectors.destination);
}

void read_key(const TableReader& reader, ClassConfig& config) {
  KeyReader key;
  for (const auto& [text, place] : reader.elements("key", kKeyExamples)) {
    reader.findings().add(place, "key", key.add(text));
  }
  config.key = key.key();
}

// Rate, burst and queue of a class that is shaped.
void read_limits(const TableReader& reader, ClassConfig& config) {
  Findings& findings = reader.findings();
  const std::size_t errors_before = findings.errors();
  if (!reader.has("rate")) {
    findings.add_error(
        reader.place(),
        "the class has no rate, expected rate = \"1000pps\" or the like, or bypass = true for packets "
        "that are not to be shaped");
  }
  for (const auto& [text, place] : reader.quantities("rate", QuantityKind::rate)) {
    findings.add(place, "rate", read_rate(text, config.rate));
  }
  for (const auto& [text, place] : reader.quantities("burst", QuantityKind::burst)) {
    findings.add(place, "burst", read_burst(text, config.burst));
  }
  if (findings.errors() == errors_before) {
    findings.add(reader.place("burst"), "burst", settle_burst(config.burst, config.rate));
  }
  for (const auto& [text, place] : reader.quantities("queue", QuantityKind::queue)) {
    findings.add(place, "queue", read_queue(text, config.queue));
  }
  if (!reader.has("queue")) config.queue.packets = kDefaultQueuePackets;
}

void refuse_limits_of_bypass(const TableReader& reader) {
  for (const std::string_view key : {"key", "rate", "burst", "queue"}) {
    if (!reader.has(key)) continue;
    reader.findings().add_error(reader.place(key),
                                std::string(key) +
                                    " does not go with bypass = true: packets of this class are "
                                    "never shaped, expected one of the two");
  }
}

}  // namespace

ClassConfig read_class(const toml::table& table, NetworkLists& lists, Findings& findings) {
  report_unknown_keys(table, TableKind::shape_class, findings);
  const TableReader reader(table, findings);
  ClassConfig config;
  read_name(reader, config);
  read_match(reader, config);
  read_selectors(reader, lists, config.selectors);
  config.bypass = reader.flag("bypass").value_or(false);
  config.control = reader.flag("control").value_or(false);
  if (config.bypass) {
    refuse_limits_of_bypass(reader);
  } else {
    read_key(reader, config);
    read_limits(reader, config);
  }
  return config;
}

}  // namespace headgate
