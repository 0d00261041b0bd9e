#include "config/shape_rules.hpp"

#include <algorithm>
#include <string>

#include "config/quantity_text.hpp"

namespace headgate {
namespace {

bool counts_bytes(const ClassConfig& config) {
  return config.rate.bits.has_value() || config.queue.bytes.has_value();
}

}  // namespace

std::vector<ShapeFinding> settle_shape(ShapeConfig& shape, std::optional<Direction> direction) {
  std::vector<ShapeFinding> findings;
  const bool is_inline = !shape.forward_to.empty();
  if (is_inline) {
    shape.direction = Direction::ingress;
    if (direction == Direction::egress) {
      findings.push_back(
          {"direction", refuse("\"egress\" does not go with forward_to, which takes what arrives "
                               "on the interface: expected \"ingress\", or leave direction out")});
    }
    if (shape.forward_to == shape.interface) {
      findings.push_back(
          {"forward_to", refuse(quoted(shape.forward_to) +
                                " is the interface itself, expected the other end of the wire")});
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
                                "virtio header: expected \"precise\", or capture = \"ring\"")});
  }
  if (shape.workers > 1 && shape.capture == CaptureMethod::pcap) {
    findings.push_back({"workers", refuse(std::to_string(shape.workers) +
                                          " do not go with capture = \"pcap\", which has one reader: "
                                          "expected 1, or capture = \"ring\"")});
  }
  return findings;
}

std::vector<ShapeFinding> check_accounting(const ShapeConfig& shape) {
  std::vector<ShapeFinding> findings;
  if (std::any_of(shape.classes.begin(), shape.classes.end(), counts_bytes)) return findings;
  const auto warn_of = [&findings](std::string_view key) {
    findings.push_back(
        {key, {{}, "no class of the shape has a bit rate or a queue in bytes, so it changes nothing"}});
  };
  if (shape.overhead != 0) warn_of("overhead");
  if (shape.mpu != 0) warn_of("mpu");
  return findings;
}

}  // namespace headgate
