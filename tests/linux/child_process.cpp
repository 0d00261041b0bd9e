#include "linux/child_process.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <stdexcept>

#include "linux/file_descriptor.hpp"
#include "linux/system_call.hpp"

namespace headgate::test {

namespace {

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    check_system_call("pipe", pipe(ends.data()));
    read_end = FileDescriptor(ends[0]);
    write_end = FileDescriptor(ends[1]);
  }
  FileDescriptor read_end;
  FileDescriptor write_end;
};

std::string read_to_end(const FileDescriptor& descriptor) {
  std::string all;
  std::array<char, 512> some{};
  for (ssize_t count; (count = read(descriptor.get(), some.data(), some.size())) > 0;)
    all.append(some.data(), static_cast<std::size_t>(count));
  return all;
}

}  // namespace

ChildProcess::ChildProcess(const std::function<void()>& work) {
  Pipe done;
  process_ = check_system_call("fork", fork());
  if (process_ == 0) {
    try {
      work();
      [[maybe_unused]] const auto written = write(done.write_end.get(), "d", 1);
      for (;;) pause();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "in the child process: %s\n", error.what());
    }
    _exit(1);
  }
  done.write_end.close();
  char byte = 0;
  if (read(done.read_end.get(), &byte, 1) == 1) return;
  kill_now();
  throw std::runtime_error("the child process failed");
}

ChildProcess::~ChildProcess() {
  kill_now();
}

void ChildProcess::kill_now() {
  if (process_ <= 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = 0;
}

std::string result_in_child(const std::function<std::string()>& work) {
  Pipe results;
  const pid_t process = check_system_call("fork", fork());
  if (process == 0) {
    std::string result;
    try {
      result = work();
    } catch (const std::exception& error) {
      result = error.what();
    }
    [[maybe_unused]] const auto written = write(results.write_end.get(), result.data(), result.size());
    _exit(0);
  }
  results.write_end.close();
  std::string result = read_to_end(results.read_end);
  waitpid(process, nullptr, 0);
  return result;
}

}  // namespace headgate::test
