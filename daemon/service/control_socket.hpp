// The control socket: a UNIX stream socket, one JSON object a line each way. Served by the main loop (epoll).
//
// Role     accepts clients, checks who they are, cuts their input into lines and sends back what the handler
// replies. Thread   the main thread alone. Nothing here ever blocks. Limits   at most kMaxControlClients at
// once; one more is told "busy" and closed. A line of more than
//          kMaxRequestBytes is answered with an error and the client is closed. While a reply has not been
//          taken no further request of that client is read, so a client holds at most one reply and one
//          read's worth of input. A client has `client_timeout` for each line and as long again to take the
//          reply, then it is closed.
// Access   root, the user of this process, members of the group (also as a supplementary group). Everybody
// else is told
//          "not permitted" and closed before anything of theirs is read, whatever the mode of the file.
// Idle     without clients no timer runs: no wake-ups.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "headgate/clock.hpp"
#include "headgate/control_message.hpp"

namespace headgate {

struct ControlSocketLimits {
  std::size_t clients = kMaxControlClients;
  Duration client_timeout = std::chrono::seconds(10);
};

class ControlSocket {
 public:
  // Gets a line without its end, returns the reply with its end. Should not throw; if it does, the client is
  // told so.
  using Handler = std::function<std::string(std::string_view line)>;

  // Binds at `path` with its final mode 0660 and group headgate (where that group exists) from the first
  // instant. A socket file that nobody answers on is replaced; a live one is refused with std::runtime_error
  // ("another headgated answers"). Throws std::runtime_error or std::system_error naming the path for
  // everything else.
  ControlSocket(const std::string& path, Handler handler, ControlSocketLimits limits = {});
  ~ControlSocket();  // unlinks the path if it is still ours
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  int descriptor() const;  // readable when dispatch() has work: an epoll instance of its own
  void dispatch();         // at most one request of each client

 private:
  struct State;
  std::unique_ptr<State> state_;
};

inline constexpr char kControlGroup[] = "headgate";

}  // namespace headgate
