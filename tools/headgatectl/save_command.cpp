// headgatectl save: what was set at run time becomes a drop-in. headgated may read its files and not write them.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "commands.hpp"
#include "control_client.hpp"
#include "invocation.hpp"
#include "json_output.hpp"
#include "output.hpp"
#include "replaced_file.hpp"
#include "visible_text.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& path, const std::error_code& error) {
  const bool denied = error == std::errc::permission_denied || error == std::errc::operation_not_permitted ||
                      error == std::errc::read_only_file_system;
  throw ControlError(denied ? kExitNotPermitted : kExitRefused, "system",
                     "cannot write " + path + ": " + error.message() +
                         (denied ? "\nRun as root, or write it yourself: headgatectl save -" : ""));
}

// headgated, which runs as another user, must read the directory, whatever the mask of who makes it.
void make_directory(const std::filesystem::path& directory, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const bool is_new = fs::create_directory(directory, error);
  if (is_new) fs::permissions(directory, fs::perms(0755), error);
  if (error) refuse(path, error);
}

void write_file(const std::string& path, const std::string& text) {
  make_directory(std::filesystem::path(path).parent_path(), path);
  try {
    replace_file(path, text);
  } catch (const std::system_error& failure) {
    refuse(path, failure.code());
  }
}

int save(const Invocation& invocation) {
  const Json reply = ask_daemon(invocation.control, {{"command", "save"}});
  const std::string path = reply.at("path"), text = reply.at("text");
  for (const Json& name : reply.at("left_out"))
    print_error("headgatectl: not saved: " + visible(name.get<std::string>()));
  if (invocation.operand("-") == "-") {
    print(text);
    return kExitOk;
  }
  if (!text.empty()) write_file(path, text);
  if (invocation.json) {
    print_json(reply);
  } else {
    print(text.empty() ? "nothing to save: nothing was set at run time\n"
                       : "saved in " + visible(path) + "\n");
  }
  return kExitOk;
}

}  // namespace

Command save_command() {
  return {
      .name = "save",
      .operands = {{.name = "-", .occurs = Occurs::at_most_once}},
      .summary = "write what was set at run time as a drop-in",
      .details =
          "Writes what set and limit have put in force for good as the drop-in 90-saved.toml beside the\n"
          "configuration file, on top of what it said before, so that it survives a restart. Needs the "
          "right\n"
          "to write there; with - it prints the drop-in instead. Members of plans are not in it.",
      .examples = {"headgatectl save", "headgatectl save - | less"},
      .run = save,
  };
}

}  // namespace headgate
