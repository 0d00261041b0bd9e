// The control socket: a UNIX stream socket, one JSON object a line each way. Served by the main loop (epoll).
//
// It accepts clients, checks who they are, cuts their input into lines and sends back what the handler replies. Main
// thread alone; nothing here ever blocks.
//
// Served are root, the user of this process and members of the group, also as a supplementary group. Everybody else is
// told "not permitted" and closed before anything of theirs is read, whatever the mode of the file.
//
// Limits:
// - At most kMaxControlClients at once; one more is told "busy" and closed.
// - A line of more than kMaxRequestBytes is answered with an error, and the client is closed. Bytes may follow a request
//   where the handler asks for them: at most kMaxBodyBytes.
// - Requests that a client sends ahead are answered in a row of up to 1 ms or 16 KiB, whose replies are sent at once. While
//   it has not taken them, no further request of it is read. So it holds at most 16 KiB, one reply and one read's worth of
//   input, or a body.
// - A client has `client_timeout` for each line and as long again to take the replies; then it is closed.
//
// A reply may be followed by bytes without end (ControlReply::stream), for as many clients as the handler allows. A client
// that takes none of what waits for it for `client_timeout` is closed.
//
// Without clients no timer runs.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "headgate/clock.hpp"
#include "service/peer_credentials.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {

struct ControlSocketLimits {
  std::size_t clients = kMaxControlClients;
  Duration client_timeout = std::chrono::seconds(10);
};

struct ControlReply {
  ControlReply(std::string reply_line) : line(std::move(reply_line)) {}  // a reply is mostly just that

  std::string line;  // with its end
  // Where set: gives the bytes that follow the line, by appending them; nothing: there are none at the moment. It is
  // asked every kStreamInterval, or sooner, until the client closes or it returns false, which was the end. Only as
  // long as the client takes what it is given: whoever reads slowly gets nothing more meanwhile. No further request of
  // this client is read.
  std::function<bool(std::string& out)> stream;

  // So many bytes come behind the request, and with_body() gives the reply to them; 0: none do. At most kMaxBodyBytes.
  std::size_t body = 0;
  std::function<ControlReply(std::string body)> with_body;

  bool close = false;  // when the line is out
};

class ControlSocket {
 public:
  // Gets a line without its end, and who sent it. Should not throw; if it does, the client is told so.
  using Handler = std::function<ControlReply(std::string_view line, const PeerCredentials& peer)>;

  static constexpr std::size_t kMaxBodyBytes = 1024 * 1024;

  static constexpr Duration kStreamInterval = std::chrono::milliseconds(10);

  // Binds at `path` with its final mode 0660 and group headgate (where that group exists) from the first
  // instant. A socket file that nobody answers on is replaced; a live one is refused with std::runtime_error
  // ("another headgated answers"). Throws std::runtime_error or std::system_error naming the path for
  // everything else.
  ControlSocket(const std::string& path, Handler handler, ControlSocketLimits limits = {});
  ~ControlSocket();  // unlinks the path if it is still ours
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  int descriptor() const;  // readable when dispatch() has work: an epoll instance of its own
  void dispatch();         // at most one row of requests of each client

 private:
  struct State;
  std::unique_ptr<State> state_;
};

inline constexpr char kControlGroup[] = "headgate";

}  // namespace headgate
