// An HTTP server for few clients that nobody can exhaust.
//
// Bounds:
// - kWebThreads requests are served at once, kWaitingConnections wait; more are told 503 and closed at once.
// - A connection carries one request. It has kRequestPatience to come and kResponsePatience for the answer to be taken,
//   however slowly its bytes come and go.
// - Only GET and HEAD; bodies of requests and ranges are of no interest.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "linux/file_descriptor.hpp"

namespace headgate {

inline constexpr std::size_t kWebThreads = 32;
inline constexpr std::size_t kWaitingConnections = 64;
inline constexpr std::chrono::seconds kRequestPatience(5);
inline constexpr std::chrono::seconds kResponsePatience(20);

struct WebRequest {
  std::string path;
  std::multimap<std::string, std::string> parameters;
  std::string accept;
  std::string host;

  std::string parameter(const std::string& name) const;
};

struct WebResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

class WebServer {
 public:
  // Called by several threads at once.
  using Handler = std::function<WebResponse(const WebRequest&)>;

  // Keeps a descriptor of its own of `socket`, which listens. Counts in `refused` the connections that it refuses.
  WebServer(const FileDescriptor& socket, Handler handler, std::atomic<std::uint64_t>& refused);
  ~WebServer();  // ends what is being served
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

 private:
  class Server;
  std::unique_ptr<Server> server_;
};

}  // namespace headgate
