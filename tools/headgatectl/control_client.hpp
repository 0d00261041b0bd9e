// headgatectl's end of the control socket.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "linux/file_descriptor.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {

// Why a command failed, and what to exit with.
struct ControlError : std::runtime_error {
  ControlError(ExitCode exit_code, std::string error_code, const std::string& message,
               std::vector<std::string> more = {})
      : std::runtime_error(message), exit(exit_code), code(std::move(error_code)), details(std::move(more)) {}

  ExitCode exit;
  std::string code;  // that of an error reply, or "not_running"
  std::vector<std::string> details;
};

inline constexpr char kErrorNotRunning[] = "not_running";

inline constexpr std::chrono::seconds kPatience(10);
// A reload of hundreds of shapes waits for the kernel for some tenths of a second each. The unit gives it as long.
inline constexpr std::chrono::seconds kReloadPatience(120);

// One connection, one request. Waits at most `patience` for the reply. Throws ControlError for whatever goes wrong,
// an error reply included.
nlohmann::ordered_json ask_daemon(const std::string& path, const nlohmann::ordered_json& request,
                                  std::chrono::seconds patience = kPatience);

// A connection on which bytes follow the reply.
struct DaemonStream {
  FileDescriptor socket;
  std::string received;  // the first of them, which came with the reply
};

// As ask_daemon(), for a request whose reply goes on.
DaemonStream open_stream(const std::string& path, const nlohmann::ordered_json& request);

}  // namespace headgate
