#include "report_text.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "address_placeholders.hpp"
#include "config/config_texts.hpp"
#include "control_client.hpp"
#include "host_report.hpp"
#include "program_output.hpp"
#include "show_screen.hpp"
#include "visible_text.hpp"
#include "vocabulary/config.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr char kLogLines[] = "200";

// Null: it did not answer, and `why` says why.
Json reply_to(const char* command, const std::string& control, std::string& why) {
  try {
    return ask_daemon(control, {{"command", command}}, kReloadPatience);
  } catch (const ControlError& error) {
    why = error.code == kErrorBadRequest ? "this headgated knows no such command" : error.what();
    return {};
  }
}

// "" of a file that cannot be read, with `why`.
std::string content_of(const fs::path& path, std::string& why) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open()) why = "cannot be read: " + std::generic_category().message(errno);
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

std::set<fs::path> drop_ins_of(const fs::path& config) {
  std::error_code error;
  std::set<fs::path> found;
  for (const auto& entry : fs::directory_iterator(drop_in_directory(config), error))
    if (entry.path().extension() == ".toml") found.insert(entry.path());
  return found;
}

std::string log_text() {
  const auto output = program_output({"journalctl", "--unit=headgated", "--lines", kLogLines, "--no-pager",
                                      "--no-hostname", "--output=short-iso", "--quiet"});
  if (!output) return "not available: there is no journalctl here\n";
  return output->empty() ? "no line of the unit headgated, or none that this user may read\n" : *output;
}

std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC\n", &utc);
  return text;
}

class ReportWriter {
 public:
  ReportWriter(const std::string& control, bool addresses) : control_(control), addresses_(addresses) {}

  Report write() {
    std::string why;
    const Json version = reply_to("version", control_, why);
    report_.daemon_answered = !version.is_null();
    add("Made", time_now());
    add("Versions", std::string("headgatectl " HEADGATE_VERSION "\n") +
                        (version.is_null() ? hidden(why) : daemon_line(version)) + "\n");
    add("Kernel", kernel_text());
    add("Distribution", distribution_text());
    add("Interfaces", hidden(interfaces_text()));
    add_configuration(version);
    if (report_.daemon_answered) {
      add_show();
      add_diff();
    }
    add("Log", hidden(log_text()));
    report_.addresses_replaced = placeholders_.addresses();
    return std::move(report_);
  }

 private:
  void add(std::string title, std::string text) {
    report_.sections.push_back({std::move(title), std::move(text)});
  }

  std::string hidden(const std::string& text) { return addresses_ ? text : placeholders_.replace(text); }

  // Text by text, as an escape of JSON may stand before an address.
  void hide(Json& json) {
    if (json.is_string()) json = hidden(json.get<std::string>());
    if (json.is_structured())
      for (Json& part : json) hide(part);
  }

  void add_file(const fs::path& path) {
    std::string why;
    const std::string text = content_of(path, why);
    add("File " + hidden(path), why.empty() ? hidden(text) : why + "\n");
  }

  void add_configuration(const Json& version) {
    const Json config = version.is_null() ? Json(kDefaultConfigPath) : version.at("config");
    if (config.is_null()) return add("Configuration", "the command line of headgated\n");
    const fs::path path = config.get<std::string>();
    add_file(path);
    for (const fs::path& drop_in : drop_ins_of(path)) add_file(drop_in);
  }

  void add_show() {
    std::string why;
    Json reply = reply_to("show", control_, why);
    if (reply.is_null()) return add("Show", why + "\n");
    hide(reply);
    add("Show", show_screen(reply, {}, {.all = true}, {.colour = false, .utf8 = true}));
    add("Show as JSON", reply.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  }

  void add_diff() {
    std::string why;
    Json reply = reply_to("diff", control_, why);
    hide(reply);
    add("Diff",
        reply.is_null() ? why + "\n" : reply.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  }

  const std::string control_;
  const bool addresses_;
  AddressPlaceholders placeholders_;
  Report report_;
};

}  // namespace

std::string Report::text() const {
  std::string all = "headgate report\n";
  for (const ReportSection& section : sections)
    all += "\n== " + visible(section.title) + "\n" + visible_lines(section.text);
  return all;
}

Report make_report(const std::string& control, bool addresses) {
  return ReportWriter(control, addresses).write();
}

}  // namespace headgate
