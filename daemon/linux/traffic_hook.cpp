#include "linux/traffic_hook.hpp"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "linux/file_descriptor.hpp"
#include "linux/system_call.hpp"

namespace headgate {

namespace {

// BPF_PROG_QUERY as of Linux 6.6, which is newer than the headers.
struct ProgramQuery {
  std::uint32_t interface_index = 0;
  std::uint32_t attach_type = 0;
  std::uint32_t query_flags = 0;
  std::uint32_t attach_flags = 0;
  std::uint64_t program_ids = 0;  // address of an array
  std::uint32_t count = 0;        // its room; then how many there are
  std::uint32_t padding = 0;
  std::uint64_t program_attach_flags = 0;
  std::uint64_t link_ids = 0;
  std::uint64_t link_attach_flags = 0;
  std::uint64_t revision = 0;
};

constexpr std::uint32_t kTcxIngress = 46;
constexpr std::uint32_t kTcxEgress = 47;
constexpr std::size_t kProgramsMax = 64;  // BPF_MPROG_MAX

}  // namespace

TrafficHook hook_of(Direction direction) {
  return direction == Direction::egress ? TrafficHook::egress : TrafficHook::ingress;
}

const char* name_of(Direction direction) {
  return direction == Direction::egress ? "egress" : "ingress";
}

std::optional<std::vector<std::uint32_t>> tcx_programs(int interface_index, TrafficHook hook) {
  std::array<std::uint32_t, kProgramsMax> ids{};
  ProgramQuery query;
  query.interface_index = static_cast<std::uint32_t>(interface_index);
  query.attach_type = hook == TrafficHook::ingress ? kTcxIngress : kTcxEgress;
  query.program_ids = reinterpret_cast<std::uintptr_t>(ids.data());
  query.count = ids.size();
  if (syscall(SYS_bpf, BPF_PROG_QUERY, &query, sizeof query) < 0) return std::nullopt;
  return std::vector<std::uint32_t>(ids.begin(), ids.begin() + query.count);
}

std::uint32_t program_id(int program) {
  bpf_prog_info info{};
  std::uint32_t length = sizeof info;
  check_system_call("ask for a BPF program's id", bpf_obj_get_info_by_fd(program, &info, &length));
  return info.id;
}

std::string program_text(std::uint32_t id) {
  const std::string text = "id " + std::to_string(id);
  const FileDescriptor program(bpf_prog_get_fd_by_id(id));
  bpf_prog_info info{};
  std::uint32_t length = sizeof info;
  if (!program || bpf_obj_get_info_by_fd(program.get(), &info, &length) < 0 || info.name[0] == '\0')
    return text;
  return std::string(info.name) + ", " + text;
}

}  // namespace headgate
