// Many requests over one connection: replies are read while requests are written, as the daemon reads no further request
// of a client that has not taken its reply.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "linux/file_descriptor.hpp"

namespace headgate {

// Connects when there is a request. What is sent once may be lost with the connection: a request must be one that does no
// harm a second time.
class RequestPipeline {
 public:
  explicit RequestPipeline(std::string path) : path_(std::move(path)) {}

  void put(const nlohmann::ordered_json& request);
  std::size_t unanswered() const { return unanswered_; }
  bool full() const { return unanswered_ >= kMostUnanswered; }  // put() no more until replies have come

  pollfd interest() const;            // without a connection of no descriptor, which poll() ignores
  std::chrono::seconds wait() const;  // at most; then idle()

  // Sends and receives what goes at once. The replies, error replies among them, in order of their requests. Throws
  // ControlError when requests are left without a reply.
  std::vector<nlohmann::ordered_json> progress();

  // For wait() nothing has happened: closes the connection before the daemon does. Throws ControlError if a reply is due.
  void idle();

 private:
  static constexpr std::size_t kMostUnanswered = 1024;

  void send_requests();
  bool receive();  // false: the daemon has closed the connection
  std::vector<nlohmann::ordered_json> take_replies();
  void disconnect();

  const std::string path_;
  FileDescriptor socket_;
  std::string requests_;  // to be sent
  std::string received_;  // from the beginning of a reply
  std::size_t unanswered_ = 0;
};

}  // namespace headgate
