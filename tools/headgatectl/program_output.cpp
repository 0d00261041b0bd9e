#include "program_output.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "linux/file_descriptor.hpp"

namespace headgate {
namespace {

class SpawnActions {
 public:
  explicit SpawnActions(int output) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
  }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;

  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

std::string all_of(int descriptor) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t received = read(descriptor, buffer.data(), buffer.size());
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(received));
  }
}

}  // namespace

std::optional<std::string> program_output(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) < 0) throw std::system_error(errno, std::generic_category(), "pipe");
  const FileDescriptor output(ends[0]);
  FileDescriptor input(ends[1]);
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t process = 0;
  const int error = posix_spawnp(&process, arguments[0], SpawnActions(input.get()).get(), nullptr,
                                 arguments.data(), environ);
  input = {};
  if (error == ENOENT) return std::nullopt;
  if (error != 0) throw std::system_error(error, std::generic_category(), "cannot start " + command.front());
  std::string text = all_of(output.get());
  while (waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
  }
  return text;
}

}  // namespace headgate
