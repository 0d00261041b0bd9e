// Writes metrics as text, by Prometheus's format 0.0.4 or by OpenMetrics 1.0, family by family.
//
// Values of labels may hold any UTF-8; they are escaped. A family without samples leaves no trace.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace headgate {

enum class MetricsFormat { prometheus, openmetrics };

enum class MetricType { counter, gauge, histogram };

// `{interface="eth0",direction="egress"}` without its braces.
using MetricLabels = std::string;
MetricLabels metric_labels(std::initializer_list<std::pair<std::string_view, std::string_view>> labels);
MetricLabels with_label(const MetricLabels& labels, std::string_view name, std::string_view value);

class MetricsWriter {
 public:
  explicit MetricsWriter(MetricsFormat format) : format_(format) {}

  // `name` is that of the family: of a counter without "_total". What follows belongs to it.
  void begin(std::string_view name, MetricType type, std::string_view help);

  // `value` is a number as text. A counter's name gets its "_total"; a histogram's its `suffix`.
  void sample(const MetricLabels& labels, std::string_view value, std::string_view suffix = {});

  std::string finish();

 private:
  void write_heading();

  MetricsFormat format_;
  std::string text_;
  std::string name_;
  std::string_view help_;
  MetricType type_ = MetricType::gauge;
  bool has_heading_ = false;
};

}  // namespace headgate
