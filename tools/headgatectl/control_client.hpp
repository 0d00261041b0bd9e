// headgatectl's end of the control socket.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
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

// One connection, one request. Waits at most `patience` to connect, and as long for the reply. Throws ControlError for whatever goes wrong,
// an error reply included.
nlohmann::ordered_json ask_daemon(const std::string& path, const nlohmann::ordered_json& request,
                                  std::chrono::seconds patience = kPatience);

// As that, for a request that `body` comes behind.
nlohmann::ordered_json ask_daemon(const std::string& path, const nlohmann::ordered_json& request,
                                  const std::string& body);

// The parts, for request_pipeline.hpp and pending_reply.hpp.
FileDescriptor connect_to(const std::string& path,
                          std::chrono::seconds patience = kPatience);  // throws ControlError
FileDescriptor connect_at_once(
    const std::string& path);  // never waits, nor does the socket; throws ControlError
// Should the daemon have closed already, its reason is still there to be read.
void send_all(const FileDescriptor& socket, std::string_view bytes);
std::string request_line(const nlohmann::ordered_json& request);
// Error replies, too. Throws ControlError for what is no reply, or one of another schema.
nlohmann::ordered_json parse_reply(std::string_view line, const std::string& path);
void check_length(const std::string& reply);  // throws ControlError for one that does not end
ControlError error_of(const nlohmann::ordered_json& reply, const std::string& path);  // of an error reply
ControlError not_running(const std::string& path, const std::string& why);
ControlError no_reply(const std::string& path, std::chrono::seconds waited);

// A connection on which bytes follow the reply.
struct DaemonStream {
  FileDescriptor socket;
  std::string received;  // the first of them, which came with the reply
};

// As ask_daemon(), for a request whose reply goes on.
DaemonStream open_stream(const std::string& path, const nlohmann::ordered_json& request);

}  // namespace headgate
