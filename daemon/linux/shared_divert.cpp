#include "linux/shared_divert.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

#include "linux/capabilities.hpp"
#include "linux/capture_source.hpp"
#include "linux/leftovers.hpp"

namespace headgate {

namespace {

// Of any interface, so that each has room, and none needs another device when its own MTU changes.
constexpr unsigned kLargestMtu = 65'535;

DivertMethod choose_method(DivertMethod wanted, int program) {
  if (wanted == DivertMethod::clsact) return wanted;
  if (BpfAttachment::kernel_has_tcx(program)) return DivertMethod::tcx;
  if (wanted == DivertMethod::automatic) return DivertMethod::clsact;
  utsname system{};
  uname(&system);
  throw std::runtime_error(std::string("this kernel (") + system.release +
                           ") has no TCX, which came with Linux 6.6: set divert to \"auto\" or \"clsact\"");
}

}  // namespace

SharedDivert::SharedDivert(DivertMethod method, std::uint32_t mark, std::size_t workers,
                           std::function<void()> meanwhile)
    : wanted_(method), mark_(mark), workers_(workers), networks_(std::move(meanwhile)) {
  if (mark == 0) throw std::runtime_error("the mark must not be 0, which every other packet has too");
}

SharedDivert::~SharedDivert() = default;

DivertPrograms& SharedDivert::programs() {
  if (!programs_) {
    require_capabilities({Capability::net_admin, Capability::net_raw, Capability::bpf});
    programs_.emplace(program_options());
    remove_left_devices(netlink_, swept_);
  }
  return *programs_;
}

DivertMethod SharedDivert::method() {
  if (!method_) method_ = choose_method(wanted_, programs().divert(Direction::egress));
  return *method_;
}

std::vector<std::string> SharedDivert::kernel_lacks() const {
  std::vector<std::string> lacks;
  if (choose_capture(CaptureMethod::automatic) != CaptureMethod::bpf)
    lacks.emplace_back("BPF ring buffers (Linux 5.8): capture = \"auto\" is \"ring\"");
  if (wanted_ == DivertMethod::automatic && method_ == DivertMethod::clsact)
    lacks.emplace_back("TCX (Linux 6.6): divert = \"auto\" is \"clsact\"");
  if (cgroups_.map() < 0) lacks.emplace_back("control groups: no class can select by cgroup");
  return lacks;
}

HookTrial& SharedDivert::hook_trial() {
  if (!hook_trial_) hook_trial_.emplace(program_options());
  return *hook_trial_;
}

std::shared_ptr<DivertPair> SharedDivert::pair() {
  if (auto present = pair_.lock(); present && present->last_look().missing.empty()) return present;
  auto made = std::make_shared<DivertPair>(netlink_, programs(),
                                           DivertPairOptions{.alias = DivertDevice::kSharedAlias,
                                                             .mtu = kLargestMtu,
                                                             .method = method(),
                                                             .device = DivertDevice::Offload::none,
                                                             .peer = DivertDevice::Offload::virtio,
                                                             .copies = true});
  pair_ = made;
  return made;
}

void SharedDivert::forget_look() {
  if (const auto present = pair_.lock()) present->forget_look();
}

void SharedDivert::wait_for_programs(std::uint64_t change) {
  if (change <= waited_for_) return;
  const std::uint64_t all = changes_;
  syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
  waited_for_ = all;
}

}  // namespace headgate
