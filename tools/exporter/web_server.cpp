#include "web_server.hpp"

#include <fcntl.h>
#include <httplib.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "bounded_pool.hpp"
#include "output.hpp"
#include "patient_stream.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {
namespace {

constexpr std::string_view kBusy =
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 28\r\n\r\ntoo many "
    "connections, later\n";

// Nothing of it comes from elsewhere, nobody may frame it, and nothing is kept.
const httplib::Headers kHeaders = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri "
     "'none'; "
     "form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
};

// Ranges would multiply an answer; of the compressions that the library knows only gzip is cheap enough.
void simplify(httplib::Request& request) {
  request.ranges.clear();
  const bool gzip = request.get_header_value("Accept-Encoding").find("gzip") != std::string::npos;
  request.headers.erase("Accept-Encoding");
  if (gzip) request.set_header("Accept-Encoding", "gzip");
}

}  // namespace

class WebServer::Server : public httplib::Server {
 public:
  Server(const FileDescriptor& socket, WebServer::Handler handler, std::atomic<std::uint64_t>& refused)
      : handler_(std::move(handler)), refused_(refused) {
    new_task_queue = [] { return new BoundedPool(kWebThreads, kWaitingConnections); };
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      answer(request, response);
      return HandlerResponse::Handled;
    });
    // The library closes its own.
    svr_sock_ = fcntl(socket.get(), F_DUPFD_CLOEXEC, 0);
    if (svr_sock_ < 0) throw std::system_error(errno, std::generic_category(), "cannot keep the socket");
    thread_ = std::thread([this] {
      listen_after_bind();
      ended_ = true;
      if (!ending_) give_up();
    });
  }

  void end() {
    // Not before it runs: until then there is nothing that it could be told.
    ending_ = true;
    while (!is_running() && !ended_) std::this_thread::yield();
    if (!ended_) stop();
    thread_.join();
  }

 private:
  // The library accepts no more connections after an error. Whoever started the process does better.
  [[noreturn]] static void give_up() {
    print_error("headgate-exporter: cannot accept connections any more");
    std::_Exit(kExitRefused);
  }

  bool process_and_close_socket(socket_t socket) override {
    const FileDescriptor owner(socket);
    if (BoundedPool::being_refused()) {
      ++refused_;
      return send(socket, kBusy.data(), kBusy.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
    }
    PatientStream stream(socket, kRequestPatience);
    bool closed = false;
    const bool done = process_request(stream, true, closed, [&](httplib::Request& request) {
      simplify(request);
      stream.set_patience(kResponsePatience);
    });
    ::shutdown(socket, SHUT_RDWR);
    return done;
  }

  void answer(const httplib::Request& request, httplib::Response& response) {
    response.headers = kHeaders;
    if (request.method != "GET" && request.method != "HEAD") {
      response.status = 405;
      response.set_header("Allow", "GET, HEAD");
      response.set_content("only GET and HEAD\n", "text/plain");
      return;
    }
    WebResponse answer;
    try {
      answer = handler_({.path = request.path,
                         .parameters = request.params,
                         .accept = request.get_header_value("Accept"),
                         .host = request.get_header_value("Host")});
    } catch (const std::exception& error) {
      answer = {.status = 500, .body = std::string("it failed: ") + error.what() + "\n"};
    }
    response.status = answer.status;
    response.set_content(answer.body, answer.type);
  }

  const WebServer::Handler handler_;
  std::atomic<std::uint64_t>& refused_;
  std::atomic<bool> ending_{false};  // somebody wants it
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

std::string WebRequest::parameter(const std::string& name) const {
  const auto found = parameters.find(name);
  return found == parameters.end() ? "" : found->second;
}

WebServer::WebServer(const FileDescriptor& socket, Handler handler, std::atomic<std::uint64_t>& refused)
    : server_(std::make_unique<Server>(socket, std::move(handler), refused)) {}

WebServer::~WebServer() {
  server_->end();
}

}  // namespace headgate
