// A connection whose bytes have to come and go before a deadline, each and all of them, and of which not many come.
#pragma once

#include <httplib.h>

#include <array>
#include <chrono>

namespace headgate {

class PatientStream : public httplib::Stream {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostReceived = 64 * 1024;  // bytes; beyond, reading fails

  PatientStream(int socket, Clock::duration patience) : socket_(socket) { set_patience(patience); }

  // From now on.
  void set_patience(Clock::duration patience) { deadline_ = Clock::now() + patience; }

  bool is_readable() const override;
  bool is_writable() const override;
  ssize_t read(char* out, std::size_t size) override;
  ssize_t write(const char* bytes, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  int socket() const override { return socket_; }

 private:
  bool wait_for(short events) const;

  int socket_;
  Clock::time_point deadline_;
  std::array<char, 4096> buffer_{};  // what was received and not read yet
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t received_ = 0;  // in all
};

}  // namespace headgate
