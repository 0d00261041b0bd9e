#include "linux/shape_lock.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>
#include <system_error>

#include "linux/system_call.hpp"
#include "linux/traffic_hook.hpp"

namespace headgate {

namespace {

LiveMark::Meaning meaning_of(Direction direction) {
  return direction == Direction::egress ? LiveMark::Meaning::shapes_egress
                                        : LiveMark::Meaning::shapes_ingress;
}

std::string file_name(int interface_index, Direction direction) {
  struct stat network_namespace {};
  check_system_call("look at the network namespace", stat("/proc/thread-self/ns/net", &network_namespace));
  return "net" + std::to_string(network_namespace.st_ino) + "-if" + std::to_string(interface_index) + "-" +
         name_of(direction) + InstanceLock::kSuffix;
}

std::string process_text(pid_t process) {
  return process > 0 ? "process " + std::to_string(process) : "another process";
}

[[noreturn]] void refuse(const Link& interface, Direction direction, pid_t holder) {
  const std::string title = interface.name + " " + name_of(direction);
  if (holder != getpid()) throw std::runtime_error(title + " is already shaped by " + process_text(holder));
  const std::string names =
      interface.alternative_names.empty()
          ? ""
          : ", that may call it by another of its names (" + interface.all_names() + ")";
  throw ShapedHere(title + " is already shaped by another [[shape]]" + names +
                   ": expected its classes in one [[shape]]");
}

// Where this user may not write, the mark alone must do.
bool means_no_file(const std::error_code& code) {
  return code == std::errc::permission_denied || code == std::errc::operation_not_permitted ||
         code == std::errc::read_only_file_system || code == std::errc::no_such_file_or_directory;
}

std::optional<InstanceLock> acquire_file(const Link& interface, Direction direction) {
  const std::string name = file_name(interface.index, direction);
  try {
    auto lock = InstanceLock::acquire(name);
    if (!lock) refuse(interface, direction, InstanceLock::find_holder(name).value_or(0));
    return lock;
  } catch (const std::system_error& error) {
    if (!means_no_file(error.code())) throw;
    return std::nullopt;
  }
}

}  // namespace

ShapeLock::ShapeLock(const Link& interface, Direction direction)
    : file_(acquire_file(interface, direction)), mark_(interface.index, meaning_of(direction)) {
  if (const auto other = mark_.find_other_owner()) refuse(interface, direction, *other);
}

std::optional<std::string> ShapeLock::find_holder(int interface_index, Direction direction) {
  if (const auto process = InstanceLock::find_holder(file_name(interface_index, direction)))
    return process_text(*process);
  if (const auto process = LiveMark::find_owner(interface_index, meaning_of(direction)))
    return process_text(*process);
  return std::nullopt;
}

}  // namespace headgate
