#include "service/published_socket.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace headgate {
namespace {

constexpr mode_t kMode = 0660;
constexpr int kBacklog = 64;
constexpr auto kStartingTime = std::chrono::seconds(10);  // from bind() to the rename; generous

[[noreturn]] void fail(const std::string& path, const std::string& attempt) {
  throw std::system_error(errno, std::generic_category(), "control socket " + path + ": " + attempt);
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    throw std::runtime_error("control socket " + path +
                             ": the path is too long, a socket's path and a few letters " +
                             "more must fit in " + std::to_string(sizeof address.sun_path - 1) + " bytes");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

enum class Occupant { none, not_a_socket, dead, live };

struct Probe {
  Occupant occupant = Occupant::none;
  pid_t process = 0;  // of a live one
};

// Looks at what is at `name` by trying to connect.
Probe probe(const std::string& name) {
  struct stat status {};
  if (lstat(name.c_str(), &status) < 0) return {};
  if (!S_ISSOCK(status.st_mode)) return {Occupant::not_a_socket};
  const FileDescriptor client(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!client) fail(name, "cannot create a socket to probe it");
  const sockaddr_un address = address_of(name);
  const int result = connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (result < 0 && errno == ENOENT) return {};
  if (result < 0 && errno == ECONNREFUSED) return {Occupant::dead};
  // Connected, or an error only a listening socket gives (EAGAIN: its backlog is full), or one that proves
  // nothing (EACCES): leave it alone.
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (result < 0 || getsockopt(client.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0) {
    return {Occupant::live};
  }
  return {Occupant::live, credentials.pid};
}

void refuse_unless_dead(const Probe& found, const std::string& path) {
  if (found.occupant == Occupant::not_a_socket) {
    throw std::runtime_error("control socket " + path +
                             ": there is a file of that name that is not a socket");
  }
  if (found.occupant == Occupant::live) {
    const std::string process = found.process > 0 ? " (process " + std::to_string(found.process) + ")" : "";
    throw std::runtime_error("another headgated answers on " + path + process);
  }
}

int rename_with(const std::string& from, const std::string& to, unsigned flags) {
  return renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags);
}

std::string temporary_name(const std::string& path, pid_t process) {
  return path + "." + std::to_string(process);
}

// Whose temporary name this is: the number that stands behind `path`.
std::optional<pid_t> owner_of(const std::string& name, const std::string& path) {
  if (!name.starts_with(path + ".")) return std::nullopt;
  pid_t process = 0;
  const char* const begin = name.data() + path.size() + 1;
  const char* const end = name.data() + name.size();
  const auto [parsed_to, error] = std::from_chars(begin, end, process);
  const bool whole = error == std::errc() && parsed_to == end && process > 0;
  if (!whole || temporary_name(path, process) != name) return std::nullopt;
  return process;
}

// Nobody answers behind it, and it is not one that is just being made: bound, and not yet listening.
bool is_abandoned(const std::string& name, pid_t owner) {
  struct stat status {};
  const bool ours = lstat(name.c_str(), &status) == 0 && status.st_uid == geteuid();
  if (!ours || name.size() >= sizeof sockaddr_un::sun_path) return false;
  if (probe(name).occupant != Occupant::dead) return false;
  const bool owner_is_gone = kill(owner, 0) < 0 && errno == ESRCH;
  const auto changed = std::chrono::system_clock::from_time_t(status.st_ctim.tv_sec);
  return owner_is_gone || std::chrono::system_clock::now() - changed > kStartingTime;
}

// What daemons that were killed between bind() and the rename left beside `path`. No reason to fail.
void sweep_temporary_names(const std::string& path) {
  std::error_code error;
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  std::filesystem::directory_iterator entry(directory.empty() ? "." : directory, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const std::string name = directory.empty() ? entry->path().filename() : entry->path();
    const std::optional<pid_t> owner = owner_of(name, path);
    if (owner && is_abandoned(name, *owner)) unlink(name.c_str());
  }
}

}  // namespace

PublishedSocket::PublishedSocket(const std::string& path, std::optional<gid_t> group) : path_(path) {
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  if (!directory.empty() && !std::filesystem::is_directory(directory, ignored)) {
    throw std::runtime_error("control socket " + path + ": the directory " + directory.string() +
                             " does not exist; create it, or choose another path with --control");
  }
  sweep_temporary_names(path);
  const std::string name = temporary_name(path, getpid());
  try {
    bind_and_listen(name, group);
    publish(name);
  } catch (...) {
    unlink(name.c_str());
    throw;
  }
}

PublishedSocket::~PublishedSocket() {
  struct stat now {};
  const bool ours =
      lstat(path_.c_str(), &now) == 0 && now.st_dev == identity_.st_dev && now.st_ino == identity_.st_ino;
  if (ours) unlink(path_.c_str());
}

void PublishedSocket::bind_and_listen(const std::string& name, std::optional<gid_t> group) {
  const sockaddr_un address = address_of(name);
  listener_ = FileDescriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener_) fail(path_, "cannot create a socket");
  unlink(name.c_str());  // of a process that had our number and died here
  // The mode of the socket's inode is what bind() creates the file with, less the umask.
  if (fchmod(listener_.get(), kMode) < 0) fail(path_, "cannot set the mode of the socket");
  if (bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0) {
    fail(path_, "cannot bind");
  }
  if (lstat(name.c_str(), &identity_) < 0) fail(path_, "cannot look at it");
  // Without the right to give the group away the socket keeps ours. Who may talk is checked for each client
  // anyway.
  const bool other_group = group && identity_.st_gid != *group;
  if (other_group && lchown(name.c_str(), static_cast<uid_t>(-1), *group) < 0 && errno != EPERM) {
    fail(path_, "cannot set its group");
  }
  if (chmod(name.c_str(), kMode) < 0) fail(path_, "cannot set its mode");
  if (listen(listener_.get(), kBacklog) < 0) fail(path_, "cannot listen");
}

void PublishedSocket::publish(const std::string& name) {
  constexpr int kAttempts = 10;  // each loss means that another process took or freed the path meanwhile
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (rename_with(name, path_, RENAME_NOREPLACE) == 0) return;
    if (errno != EEXIST) fail(path_, "cannot put it in place");
    refuse_unless_dead(probe(path_), path_);
    if (rename_with(name, path_, RENAME_EXCHANGE) < 0) {
      if (errno == ENOENT) continue;
      fail(path_, "cannot replace the one a dead daemon left");
    }
    // What we replaced is at `name` now. Alive after all: it came between the probe and the exchange.
    const Probe replaced = probe(name);
    if (replaced.occupant == Occupant::live) {
      rename_with(name, path_, RENAME_EXCHANGE);
      refuse_unless_dead(replaced, path_);
    }
    unlink(name.c_str());
    return;
  }
  throw std::runtime_error("control socket " + path_ + ": other processes keep taking and freeing the path");
}

}  // namespace headgate
