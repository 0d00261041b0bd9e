#include "metrics_writer.hpp"

#include <gtest/gtest.h>

namespace headgate {
namespace {

std::string two_families(MetricsFormat format) {
  MetricsWriter writer(format);
  writer.begin("seen", MetricType::counter, "What was seen.");
  writer.sample({}, "3");
  writer.begin("empty", MetricType::gauge, "Nothing.");
  writer.begin("wait_seconds", MetricType::histogram, "Waits.");
  writer.sample(metric_labels({{"le", "+Inf"}}), "2", "_bucket");
  return writer.finish();
}

TEST(MetricsWriter, NamesCountersForPrometheusWithTheirTotal) {
  EXPECT_EQ(
      two_families(MetricsFormat::prometheus),
      "# HELP seen_total What was seen.\n# TYPE seen_total counter\nseen_total 3\n"
      "# HELP wait_seconds Waits.\n# TYPE wait_seconds histogram\nwait_seconds_bucket{le=\"+Inf\"} 2\n");
}

TEST(MetricsWriter, NamesFamiliesOfCountersForOpenMetricsWithoutIt) {
  EXPECT_EQ(two_families(MetricsFormat::openmetrics),
            "# HELP seen What was seen.\n# TYPE seen counter\nseen_total 3\n"
            "# HELP wait_seconds Waits.\n# TYPE wait_seconds histogram\nwait_seconds_bucket{le=\"+Inf\"} "
            "2\n# EOF\n");
}

TEST(MetricsWriter, EscapesValuesOfLabels) {
  EXPECT_EQ(metric_labels({{"a", "x\"y\\z\nw"}, {"b", "ü{}=,"}}), R"(a="x\"y\\z\nw",b="ü{}=,")");
  EXPECT_EQ(with_label("a=\"1\"", "b", ""), R"(a="1",b="")");
}

}  // namespace
}  // namespace headgate
