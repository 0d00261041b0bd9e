// The tables of metrics, by what they are about. The manual, headgate-exporter(8), lists them.
#pragma once

#include <span>
#include <string_view>

#include "metric_values.hpp"
#include "metrics_writer.hpp"

namespace headgate {

// A metric whose value is one member of the object that it is about.
struct MetricFamily {
  std::string_view name;  // of a counter without "_total"
  MetricType type;
  std::string_view help;
  const char* member;  // a JSON pointer, "" is the object itself; what is not there has no sample
  MetricJson (*value)(const MetricJson& member) = number_of;
};

std::span<const MetricFamily> daemon_metrics();     // of the reply
std::span<const MetricFamily> interface_metrics();  // of a shape or a pattern
std::span<const MetricFamily> group_metrics();      // of a group of a shape
std::span<const MetricFamily> budget_metrics();     // of a budget that this host shares
std::span<const MetricFamily> any_class_metrics();  // of a class, also of one that is not shaped
std::span<const MetricFamily> shaped_class_metrics();
std::span<const MetricFamily> plan_metrics();  // of a plan of a class

}  // namespace headgate
