#include "linux/capabilities.hpp"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <string>

#include "linux/system_call.hpp"

namespace headgate {

namespace {

bool effective(unsigned capability) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  check_system_call("capget", static_cast<int>(syscall(SYS_capget, &header, sets.data())));
  return (sets[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability)) != 0;
}

const char* name_of(Capability capability) {
  switch (capability) {
    case Capability::net_admin:
      return "CAP_NET_ADMIN";
    case Capability::net_raw:
      return "CAP_NET_RAW";
    case Capability::bpf:
      return "CAP_BPF";
    case Capability::lock_memory:
      return "CAP_IPC_LOCK";
  }
  return "";
}

}  // namespace

bool have_capability(Capability capability) {
  switch (capability) {
    case Capability::net_admin:
      return effective(CAP_NET_ADMIN);
    case Capability::net_raw:
      return effective(CAP_NET_RAW);
    case Capability::bpf:
      return effective(CAP_BPF) || effective(CAP_SYS_ADMIN);
    case Capability::lock_memory:
      return effective(CAP_IPC_LOCK);
  }
  return false;
}

void require_capabilities(std::initializer_list<Capability> needed) {
  std::string missing;
  for (const Capability capability : needed) {
    if (have_capability(capability)) continue;
    if (!missing.empty()) missing += ", ";
    missing += name_of(capability);
  }
  if (missing.empty()) return;
  throw std::system_error(
      EPERM, std::system_category(),
      "missing " + missing + "; run as root, or with CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF");
}

}  // namespace headgate
