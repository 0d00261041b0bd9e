#include "metrics_text.hpp"

#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <vector>

#include "metric_families.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kUpHelp = "1 while a headgated answers.";

// An object of the reply that metrics are about.
struct Subject {
  const Json* json;
  MetricLabels labels;
};

struct Subjects {
  std::vector<Subject> interfaces;
  std::vector<Subject> groups;
  std::vector<Subject> classes;
  std::vector<Subject> shaped;  // classes
  std::vector<Subject> plans;
  std::size_t omitted = 0;  // classes
};

const Json& text_of(const Json& object, const char* member) {
  return object.at(member);
}

const Json& list_of(const Json& object, const char* member) {
  static const Json none = Json::array();
  const auto found = object.find(member);
  return found != object.end() && found->is_array() ? *found : none;
}

Subject labelled(const Json& object, const MetricLabels& labels, std::string_view label) {
  return {&object, with_label(labels, label, text_of(object, "name").get_ref<const std::string&>())};
}

void add_class(Subjects& subjects, const Json& object, const MetricLabels& labels) {
  if (subjects.classes.size() >= kMostMeasuredClasses) {
    ++subjects.omitted;
    return;
  }
  const Subject subject = labelled(object, labels, "class");
  subjects.classes.push_back(subject);
  if (!object.value("bypass", false)) subjects.shaped.push_back(subject);
  for (const Json& plan : list_of(object, "plans"))
    subjects.plans.push_back(labelled(plan, subject.labels, "plan"));
}

// Names that the daemon could not put into JSON byte by byte may have become the same: only the first of them counts.
void add_interfaces(Subjects& subjects, const Json& shapes, std::set<MetricLabels>& seen) {
  for (const Json& shape : shapes) {
    const MetricLabels labels =
        metric_labels({{"interface", text_of(shape, "interface").get_ref<const std::string&>()},
                       {"direction", text_of(shape, "direction").get_ref<const std::string&>()}});
    if (!seen.insert(labels).second) continue;
    subjects.interfaces.push_back({&shape, labels});
    for (const Json& group : list_of(shape, "groups"))
      subjects.groups.push_back(labelled(group, labels, "group"));
    for (const Json& one : list_of(shape, "classes")) add_class(subjects, one, labels);
  }
}

// Those of a pattern are in its sum.
Json without_instances(const Json& shapes) {
  Json single = Json::array();
  for (const Json& shape : shapes)
    if (!shape.contains("pattern") || shape["pattern"].is_null()) single.push_back(shape);
  return single;
}

std::vector<Subject> budgets_of(const Json& show) {
  std::vector<Subject> budgets;
  for (const Json& budget : list_of(show, "budgets")) {
    const auto text = [&budget](const char* member) -> const std::string& {
      return text_of(budget, member).get_ref<const std::string&>();
    };
    budgets.push_back({&budget, metric_labels({{"interface", text("interface")},
                                               {"direction", text("direction")},
                                               {"budget", text("name")}})});
  }
  return budgets;
}

void write(MetricsWriter& writer, std::span<const MetricFamily> families, std::span<const Subject> subjects) {
  for (const MetricFamily& family : families) {
    writer.begin(family.name, family.type, family.help);
    const Json::json_pointer member(family.member);
    for (const Subject& subject : subjects) {
      if (!subject.json->contains(member)) continue;
      const Json value = family.value(subject.json->at(member));
      if (!value.is_null()) writer.sample(subject.labels, value.dump());
    }
  }
}

// One count, told apart by a label: by reason, or by place.
void write_parts(MetricsWriter& writer, std::string_view name, std::string_view help, const char* parts,
                 std::string_view label, std::span<const Subject> subjects) {
  writer.begin(name, MetricType::counter, help);
  const Json::json_pointer member(parts);
  for (const Subject& subject : subjects) {
    if (!subject.json->contains(member)) continue;
    for (const auto& [part, count] : subject.json->at(member).items())
      writer.sample(with_label(subject.labels, label, part), count.at("packets").dump());
  }
}

void write_delay(MetricsWriter& writer, const std::vector<std::string>& bounds, const Subject& subject) {
  const Json& delays = subject.json->at("delays");
  const Json& packets = delays.at("packets");
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < packets.size(); ++i) {
    all += packets[i].get<std::uint64_t>();
    const std::string_view bound = i < bounds.size() ? std::string_view(bounds[i]) : "+Inf";
    writer.sample(with_label(subject.labels, "le", bound), std::to_string(all), "_bucket");
  }
  writer.sample(subject.labels, delays.at("seconds").dump(), "_sum");
  writer.sample(subject.labels, std::to_string(all), "_count");
}

void write_delays(MetricsWriter& writer, const Json& show, std::span<const Subject> classes) {
  std::vector<std::string> bounds;
  for (const Json& bound : list_of(show, "delay_bounds_us"))
    bounds.push_back(Json(bound.get<double>() / 1e6).dump());
  if (bounds.empty()) return;
  writer.begin("headgate_delay_seconds", MetricType::histogram,
               "Time that packets of the class that were sent spent in headgated, since its start.");
  for (const Subject& subject : classes)
    if (list_of(subject.json->value("delays", Json::object()), "packets").size() == bounds.size() + 1)
      write_delay(writer, bounds, subject);
}

// What a class is, to be joined with other metrics.
void write_class_info(MetricsWriter& writer, std::span<const Subject> classes) {
  writer.begin("headgate_class_info", MetricType::gauge, "What is configured for the class: always 1.");
  const auto text_or_nothing = [](const Json& object, const char* member) {
    const auto found = object.find(member);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  for (const Subject& subject : classes) {
    MetricLabels labels = subject.labels;
    const std::string action = text_or_nothing(*subject.json, "action");
    labels = with_label(labels, "action", action.empty() ? "bypass" : action);
    labels = with_label(labels, "group", text_or_nothing(*subject.json, "group"));
    writer.sample(labels, "1");
  }
}

void write_daemon(MetricsWriter& writer, const Json& show) {
  writer.begin("headgate_up", MetricType::gauge, kUpHelp);
  writer.sample({}, "1");
  writer.begin("headgate_build_info", MetricType::gauge, "The version of the headgated that runs: always 1.");
  writer.sample(metric_labels({{"version", text_of(show, "version").get_ref<const std::string&>()}}), "1");
  const Subject daemon{&show, {}};
  write(writer, daemon_metrics(), {&daemon, 1});
}

void write_interfaces(MetricsWriter& writer, const Subjects& subjects) {
  write(writer, interface_metrics(), subjects.interfaces);
  write_parts(writer, "headgate_interface_dropped_packets",
              "Packets that headgated dropped, of all classes and of none.", "/dropped/reasons", "reason",
              subjects.interfaces);
  write_parts(writer, "headgate_lost_packets",
              "Packets that were lost before headgated received them; in no other count.", "/lost", "place",
              subjects.interfaces);
  write(writer, group_metrics(), subjects.groups);
}

void write_classes(MetricsWriter& writer, const Json& show, const Subjects& subjects) {
  write(writer, any_class_metrics(), subjects.classes);
  write(writer, shaped_class_metrics(), subjects.shaped);
  write_parts(writer, "headgate_dropped_packets", "Packets of the class that were dropped.",
              "/dropped/reasons", "reason", subjects.shaped);
  write_delays(writer, show, subjects.shaped);
  write_class_info(writer, subjects.classes);
  write(writer, plan_metrics(), subjects.plans);
}

}  // namespace

Json metrics_request() {
  return {{"command", "show"}, {"instances", false}};
}

void write_metrics(MetricsWriter& writer, const Json& show) {
  const Json single = without_instances(show.at("shapes"));
  Subjects subjects;
  std::set<MetricLabels> seen;
  add_interfaces(subjects, single, seen);
  add_interfaces(subjects, list_of(show, "patterns"), seen);
  write_daemon(writer, show);
  writer.begin("headgate_omitted_classes", MetricType::gauge,
               "Classes that are too many to be measured here.");
  writer.sample({}, std::to_string(subjects.omitted));
  write_interfaces(writer, subjects);
  write(writer, budget_metrics(), budgets_of(show));
  write_classes(writer, show, subjects);
}

void write_metrics_without_daemon(MetricsWriter& writer) {
  writer.begin("headgate_up", MetricType::gauge, kUpHelp);
  writer.sample({}, "0");
}

std::string metrics_text(const Json& show, MetricsFormat format) {
  MetricsWriter writer(format);
  write_metrics(writer, show);
  return writer.finish();
}

std::string metrics_text_without_daemon(MetricsFormat format) {
  MetricsWriter writer(format);
  write_metrics_without_daemon(writer);
  return writer.finish();
}

}  // namespace headgate
