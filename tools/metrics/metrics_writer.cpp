#include "metrics_writer.hpp"

#include <array>

namespace headgate {
namespace {

constexpr std::array<std::string_view, 3> kTypeNames = {"counter", "gauge", "histogram"};

void append_escaped(std::string& text, std::string_view value) {
  for (const char character : value) {
    if (character == '\\' || character == '"') text += '\\';
    if (character == '\n') {
      text += "\\n";
    } else {
      text += character;
    }
  }
}

}  // namespace

MetricLabels with_label(const MetricLabels& labels, std::string_view name, std::string_view value) {
  MetricLabels all = labels;
  if (!all.empty()) all += ',';
  all.append(name).append("=\"");
  append_escaped(all, value);
  return all += '"';
}

MetricLabels metric_labels(std::initializer_list<std::pair<std::string_view, std::string_view>> labels) {
  MetricLabels all;
  for (const auto& [name, value] : labels) all = with_label(all, name, value);
  return all;
}

void MetricsWriter::begin(std::string_view name, MetricType type, std::string_view help) {
  name_ = name;
  type_ = type;
  help_ = help;
  has_heading_ = false;
}

// OpenMetrics names a family of counters without the "_total" of its samples, Prometheus with it.
void MetricsWriter::write_heading() {
  const bool with_total = type_ == MetricType::counter && format_ == MetricsFormat::prometheus;
  const std::string name = name_ + (with_total ? "_total" : "");
  text_.append("# HELP ").append(name).append(" ").append(help_).append("\n");
  text_.append("# TYPE ").append(name).append(" ");
  text_.append(kTypeNames[static_cast<std::size_t>(type_)]).append("\n");
  has_heading_ = true;
}

void MetricsWriter::sample(const MetricLabels& labels, std::string_view value, std::string_view suffix) {
  if (!has_heading_) write_heading();
  text_.append(name_).append(type_ == MetricType::counter ? "_total" : suffix);
  if (!labels.empty()) text_.append("{").append(labels).append("}");
  text_.append(" ").append(value).append("\n");
}

std::string MetricsWriter::finish() {
  if (format_ == MetricsFormat::openmetrics) text_ += "# EOF\n";
  return std::move(text_);
}

}  // namespace headgate
