#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "config/choices.hpp"
#include "config/control_limit_grammar.hpp"
#include "config/interface_pattern.hpp"
#include "config/json_values.hpp"
#include "config/keys.hpp"
#include "config/link_layer.hpp"
#include "config/quantity_text.hpp"
#include "config/tree_values.hpp"
#include "config/worker_count.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

Reading read_interface(const std::string& text, std::string& interface) {
  Reading reading = check_interface(text);
  if (reading.ok()) interface = text;
  return reading;
}

// Kept also where it is refused, so that the shape still counts as inline.
Reading read_forward_to(const std::string& text, std::string& interface) {
  interface = text;
  return check_forward_to(text);
}

template <typename Choice>
Reading keep_said(Reading reading, const Choice& choice, std::optional<Choice>& said) {
  if (reading.ok()) said = choice;
  return reading;
}

void read_control_limit(const Said& said, ShapeDraft& shape) {
  if (!said.given()) return;
  ControlLimitReader limit;
  said.quantities(QuantityKind::rate, [&](const std::string& text) { return limit.add(text); });
  shape.control_limit = limit.limit();
}

constexpr auto kKeys = std::to_array<ShapeKey>({
    {.name = "interface",
     .example = R"("eth0")",
     .read =
         [](const Said& said, ShapeDraft& shape) {
           said.text([&](const std::string& text) { return read_interface(text, shape.interface); });
         },
     .option = {.value = "NAME",
                .example = "eth0",
                .help = "the interface, such as eth0; or a pattern, such as \"veth*\": each interface that "
                        "matches, now or later, by buckets and counters of its own"},
     .required = true},
    {.name = "direction",
     .example = R"("egress")",
     .read =
         [](const Said& said, ShapeDraft& shape) {
           said.text([&](const std::string& text) {
             return keep_said(read_direction(text, shape.direction), shape.direction, shape.said_direction);
           });
         },
     .option = {.value = "WHICH",
                .example = "ingress",
                .help = "egress: what leaves the interface (the default); ingress: what arrives, before the "
                        "host sees it"}},
    {.name = "forward_to",
     .example = R"("eth1")",
     .read =
         [](const Said& said, ShapeDraft& shape) {
           said.text([&](const std::string& text) { return read_forward_to(text, shape.forward_to); });
         },
     .write = [](const ShapeConfig& shape) { return text_or_null(shape.forward_to); },
     .fixed = fixed_at_start<&ShapeConfig::forward_to>,
     .option = {.value = "NAME",
                .example = "eth1",
                .help = "inline: what arrives on the interface leaves by this one instead of going to the "
                        "host, whatever its address"}},
    {.name = "qdisc_bypass",
     .read = [](const Said& said, ShapeDraft& shape) { said.flag(shape.qdisc_bypass); }},
    {.name = "segmentation",
     .example = R"("precise")",
     .read =
         [](const Said& said, ShapeDraft& shape) {
           said.text([&](const std::string& text) {
             return keep_said(read_segmentation(text, shape.segmentation), shape.segmentation,
                              shape.said_segmentation);
           });
         },
     .write = [](const ShapeConfig& shape) { return Json(to_text(shape.segmentation)); },
     .fixed = fixed_at_start<&ShapeConfig::segmentation>,
     .option = {.value = "HOW",
                .example = "whole",
                .help = "auto: super-packets are cut as far as the rate asks for (the default); precise: "
                        "into single packets (the default by ring and pcap); whole: they pass as they are"}},
    {.name = "capture",
     .example = R"("auto")",
     .read =
         [](const Said& said, ShapeDraft& shape) {
           said.text([&](const std::string& text) { return read_capture(text, shape.capture); });
         },
     .write = [](const ShapeConfig& shape) { return Json(to_text(shape.capture)); },
     .fixed = fixed_at_start<&ShapeConfig::capture>,
     .option = {.value = "METHOD",
                .example = "pcap",
                .help = "auto (the default: bpf where the kernel has it, else ring), bpf, ring, or pcap "
                        "where these cannot serve"}},
    {.name = "precision",
     .example = R"("normal")",
     .read =
         [](const Said& said, ShapeDraft& shape) {
           said.text([&](const std::string& text) { return read_precision(text, shape.precision); });
         },
     .write = [](const ShapeConfig& shape) { return Json(to_text(shape.precision)); },
     .option = {.value = "HOW",
                .example = "high",
                .help = "normal (the default), or high: departures exact to some us, for up to most of a "
                        "core while packets wait"}},
    {.name = "workers",
     .example = "2",
     .read =
         [](const Said& said, ShapeDraft& shape) {
           said.number([&](auto count) { return read_workers(count, shape.workers); });
         },
     .write = [](const ShapeConfig& shape) { return Json(shape.workers); },
     .fixed = fixed_at_start<&ShapeConfig::workers>,
     .option = {.value = "N", .example = "2", .help = "threads that share the flows, 1 to 64 (1)"}},
    {.name = "overhead",
     .example = "24",
     .read = [](const Said& said,
                ShapeDraft& shape) { said.number([&](auto bytes) { return read_overhead(bytes, shape); }); },
     .write = [](const ShapeConfig& shape) { return Json(shape.overhead); },
     .option = {.value = "BYTES",
                .example = "24",
                .help = "what each packet costs beyond its frame, -64 to 256 (0)"}},
    {.name = "mpu",
     .example = "84",
     .read = [](const Said& said,
                ShapeDraft& shape) { said.number([&](auto bytes) { return read_mpu(bytes, shape); }); },
     .write = [](const ShapeConfig& shape) { return Json(shape.mpu); },
     .option = {.value = "BYTES", .example = "84", .help = "what a packet costs at least, 0 to 256 (0)"}},
    {.name = "control_limit",
     .read = read_control_limit,
     .write = [](const ShapeConfig& shape) { return list_json(control_limit_text(shape.control_limit)); },
     .option = {.value = "R",
                .example = "1000pps",
                .help = "how much control traffic goes on unshaped, as for --rate: packets, bits, or both; "
                        "none: all (1000pps and 1mbit)",
                .repeats = true}},
    {.name = "rate",
     .read = [](const Said& said, ShapeDraft& shape) { read_bit_rate(said, shape.rate); },
     .write = [](const ShapeConfig& shape) { return rate_or_null(shape.rate); }},
    {.name = "budget",
     .example = R"("uplink")",
     .read =
         [](const Said& said, ShapeDraft& shape) {
           said.text([&](const std::string& text) { return read_budget_name(text, shape.budget); });
         },
     .write = [](const ShapeConfig& shape) { return text_or_null(shape.budget); }},
    {.name = "group"},
    {.name = "class"},
});

}  // namespace

std::span<const ShapeKey> shape_keys() {
  return kKeys;
}

}  // namespace headgate
