#include "config/shape_rules.hpp"

#include <algorithm>
#include <string>

#include "config/interface_pattern.hpp"
#include "config/quantity_text.hpp"

namespace headgate {
namespace {

bool counts_bytes(const PlanConfig& plan) {
  return plan.rate.bits || plan.queue.bytes;
}

bool counts_bytes(const ClassConfig& config) {
  return config.rate.bits || config.queue.bytes || config.police.window.bytes || config.guarantee ||
         config.place.ceiling ||
         std::any_of(config.plans.begin(), config.plans.end(),
                     [](const PlanConfig& plan) { return counts_bytes(plan); });
}

// Where nothing is said: as it was before there was another, by the back ends that there were then.
Segmentation default_segmentation(CaptureMethod capture) {
  const bool cuts_before = capture == CaptureMethod::ring || capture == CaptureMethod::pcap;
  return cuts_before ? Segmentation::precise : Segmentation::automatic;
}

}  // namespace

std::vector<ShapeFinding> settle_shape(ShapeDraft& shape) {
  std::vector<ShapeFinding> findings;
  shape.segmentation = shape.said_segmentation.value_or(default_segmentation(shape.capture));
  const bool is_inline = !shape.forward_to.empty();
  if (is_inline) {
    shape.direction = Direction::ingress;
    if (shape.said_direction == Direction::egress) {
      findings.push_back(
          {"direction", refuse("\"egress\" does not go with forward_to, which takes what arrives "
                               "on the interface: expected \"ingress\", or leave direction out")});
    }
    if (shape.forward_to == shape.interface) {
      findings.push_back(
          {"forward_to", refuse(quoted(shape.forward_to) +
                                " is the interface itself, expected the other end of the wire")});
    } else if (is_interface_pattern(shape.interface) && !is_interface_pattern(shape.forward_to)) {
      findings.push_back(
          {"forward_to", refuse(quoted(shape.forward_to) + " does not go with " + quoted(shape.interface) +
                                ", a pattern: a wire has two ends, expected the name of one "
                                "interface in place of the pattern, or leave forward_to out")});
    }
  }
  if (shape.qdisc_bypass && shape.direction == Direction::ingress && !is_inline) {
    findings.push_back({"qdisc_bypass", refuse("packets that arrive go on to the host and meet no queueing "
                                               "discipline that could be skipped, expected false, or leave "
                                               "qdisc_bypass out")});
  }
  if (shape.segmentation != Segmentation::precise && shape.capture == CaptureMethod::pcap) {
    findings.push_back(
        {"segmentation", refuse("\"" + std::string(to_text(shape.segmentation)) +
                                "\" does not go with capture = \"pcap\", which carries no "
                                "virtio header: expected \"precise\", or capture = \"auto\"")});
  }
  if (shape.workers > 1 && shape.capture == CaptureMethod::pcap) {
    findings.push_back({"workers", refuse(std::to_string(shape.workers) +
                                          " do not go with capture = \"pcap\", which has one reader: "
                                          "expected 1, or capture = \"auto\"")});
  }
  return findings;
}

std::vector<ShapeFinding> check_accounting(const ShapeConfig& shape) {
  std::vector<ShapeFinding> findings;
  const bool link_counts_bytes = shape.rate || !shape.groups.empty();
  if (link_counts_bytes || std::any_of(shape.classes.begin(), shape.classes.end(),
                                       [](const ClassConfig& config) { return counts_bytes(config); }))
    return findings;
  const auto warn_of = [&findings](std::string_view key) {
    findings.push_back(
        {key, {{}, "no class of the shape has a bit rate or a queue in bytes, so it changes nothing"}});
  };
  if (shape.overhead != 0) warn_of("overhead");
  if (shape.mpu != 0) warn_of("mpu");
  return findings;
}

}  // namespace headgate
