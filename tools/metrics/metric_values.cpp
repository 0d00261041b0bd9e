#include "metric_values.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "config/quantity.hpp"

namespace headgate {
namespace {

// What is no rate of this grammar, as of another version's, is not there.
Rate read_rates(const MetricJson& member) {
  Rate rate;
  if (member.is_string()) read_rate(member.get_ref<const std::string&>(), rate);
  if (member.is_array()) {
    for (const MetricJson& element : member)
      if (element.is_string()) read_rate(element.get_ref<const std::string&>(), rate);
  }
  return rate;
}

}  // namespace

MetricJson number_of(const MetricJson& member) {
  return member.is_number() ? member : MetricJson();
}

MetricJson size_of(const MetricJson& member) {
  return member.is_array() ? MetricJson(member.size()) : MetricJson();
}

MetricJson one_if_true(const MetricJson& member) {
  return member.is_boolean() ? MetricJson(member.get<bool>() ? 1 : 0) : MetricJson();
}

MetricJson one_if_false(const MetricJson& member) {
  return member.is_boolean() ? MetricJson(member.get<bool>() ? 0 : 1) : MetricJson();
}

MetricJson one_if_null(const MetricJson& member) {
  return member.is_null() ? 1 : 0;
}

MetricJson one_if_open(const MetricJson& shape) {
  if (const auto interfaces = shape.find("interfaces"); interfaces != shape.end())
    return shape.at("diverting_interfaces").get<std::size_t>() < interfaces->size() ? 1 : 0;
  return shape.at("diverting").get<bool>() ? 0 : 1;
}

MetricJson one_if_said(const MetricJson& member) {
  return member.is_string() && !member.get_ref<const std::string&>().empty() ? 1 : 0;
}

MetricJson bytes_per_second(const MetricJson& member) {
  const Rate rate = read_rates(member);
  return rate.bits ? MetricJson(static_cast<double>(rate.bits->bits_per_second) / 8) : MetricJson();
}

MetricJson bytes_of_bits(const MetricJson& member) {
  return member.is_number() ? MetricJson(member.get<double>() / 8) : MetricJson();
}

MetricJson packets_per_second(const MetricJson& member) {
  const Rate rate = read_rates(member);
  if (!rate.packets) return {};
  return static_cast<double>(rate.packets->packets) / static_cast<double>(rate.packets->seconds);
}

}  // namespace headgate
