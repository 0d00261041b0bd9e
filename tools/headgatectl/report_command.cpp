// headgatectl report: one file for a bug report.
#include <nlohmann/json.hpp>
#include <optional>

#include "commands.hpp"
#include "control_client.hpp"
#include "invocation.hpp"
#include "json_output.hpp"
#include "output.hpp"
#include "replaced_file.hpp"
#include "report_text.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kReportPath[] = "headgate-report.txt";
constexpr mode_t kOnlyForItsOwner = 0600;

void write_report(const std::string& text, const std::optional<std::string>& path) {
  if (path) {
    replace_file(*path, text, kOnlyForItsOwner);
  } else if (!create_file(kReportPath, text, kOnlyForItsOwner)) {
    throw ControlError(kExitRefused, "system",
                       std::string(kReportPath) + " is there already: another name with -o FILE, or -o " +
                           kReportPath + " to replace it");
  }
}

std::string addresses_line(const Report& report, bool addresses) {
  if (addresses) return "Addresses stand in it as they are.";
  return std::to_string(report.addresses_replaced) +
         " addresses are replaced by placeholders such as ipv4-1; --addresses leaves them in.";
}

std::string summary(const Report& report, const std::string& path, bool addresses) {
  std::string text = path + " has:\n";
  for (const ReportSection& section : report.sections) text += "  " + section.title + "\n";
  if (!report.daemon_answered) text += "No headgated answered, so nothing of a running one.\n";
  return text + addresses_line(report, addresses) +
         "\nNames and comments stand in it as they are. Look through it before you send it.";
}

Json titles_of(const Report& report) {
  Json titles = Json::array();
  for (const ReportSection& section : report.sections) titles.push_back(section.title);
  return titles;
}

int report(const Invocation& invocation) {
  const auto path = invocation.value("output");
  const bool addresses = invocation.has("addresses");
  if (path == "-" && invocation.json)
    throw UsageError("--json and the report cannot both go to standard output");
  const Report made = make_report(invocation.control, addresses);
  if (path == "-") {
    print(made.text());
    return kExitOk;
  }
  write_report(made.text(), path);
  const std::string written = path.value_or(kReportPath);
  print_error(summary(made, written, addresses));
  if (invocation.json)
    print_json({{"schema", kSchema},
                {"file", written},
                {"sections", titles_of(made)},
                {"addresses_replaced", made.addresses_replaced},
                {"running", made.daemon_answered}});
  return kExitOk;
}

}  // namespace

Command report_command() {
  return {
      .name = "report",
      .options = {{.letter = 'o',
                   .name = "output",
                   .value = "FILE",
                   .help = "create or replace FILE; - is standard output",
                   .completes = Completes::file},
                  {.name = "addresses", .help = "with addresses as they are, no placeholders"}},
      .summary = "one file for a bug report, without addresses",
      .details =
          "Versions, kernel, interfaces, configuration, counters and log in one text file,\n"
          "headgate-report.txt here unless -o says another. IPv4, IPv6 and MAC addresses are replaced by\n"
          "placeholders, the same address by the same one. Works without a running headgated, too.",
      .examples = {"headgatectl report", "headgatectl report -o - | less"},
      .run = report,
  };
}

}  // namespace headgate
