// Members of the daemon's reply as values of metrics.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace headgate {

using MetricJson = nlohmann::ordered_json;

// Each gives a number, or null: there is none.
MetricJson number_of(const MetricJson& member);
MetricJson size_of(const MetricJson& member);      // of an array
MetricJson one_if_true(const MetricJson& member);  // 0 or 1
MetricJson one_if_false(const MetricJson& member);
MetricJson one_if_null(const MetricJson& member);
MetricJson one_if_open(const MetricJson& shape);          // of a pattern: an interface of it
MetricJson one_if_said(const MetricJson& member);         // a text that is not empty
MetricJson bytes_per_second(const MetricJson& member);    // a bit rate as text, or of a list the one that is
MetricJson bytes_of_bits(const MetricJson& member);       // a bit rate as a number
MetricJson packets_per_second(const MetricJson& member);  // likewise

}  // namespace headgate
