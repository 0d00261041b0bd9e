// The control socket: a UNIX stream socket, one JSON object a line. Served by the main loop (epoll).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace headgate {

class ControlSocket {
 public:
  using Handler = std::function<std::string(std::string_view line)>;

  // Binds at `path` with its final mode 0660 and group headgate (where that group exists) from the first instant. A socket
  // file that nobody answers on is replaced; a live one is refused with std::runtime_error ("already running").
  ControlSocket(const std::string& path, Handler handler);
  ~ControlSocket();  // unlinks the path if it is still ours

  int descriptor() const;  // readable when dispatch() has work: an epoll instance of its own
  void dispatch();         // never blocks; slow or silent clients hurt only themselves

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headgate
