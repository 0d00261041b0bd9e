// A divert device (linux/divert_device.hpp) with the programs on both its ends. What is redirected to hgN is captured or copied
// there and ends; what is sent on hgNp comes back to the shaped interface; what others send on either is dropped and counted.
//
// Main thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "linux/bpf_attachment.hpp"
#include "linux/divert_device.hpp"
#include "linux/divert_programs.hpp"
#include "linux/file_descriptor.hpp"
#include "linux/netlink.hpp"
#include "vocabulary/config.hpp"
#include "vocabulary/statistics.hpp"

namespace headgate {

struct DivertPairOptions {
  std::string alias;
  unsigned mtu = 1500;
  DivertMethod method = DivertMethod::tcx;  // never automatic
  DivertDevice::Offload device = DivertDevice::Offload::none;
  DivertDevice::Offload peer = DivertDevice::Offload::none;
  bool copies =
      false;  // what comes to hgN has been copied into a ring buffer, or is when the kernel has cut it
};

class DivertPair {
 public:
  // `netlink` and `programs` must outlive it.
  DivertPair(Netlink& netlink, DivertPrograms& programs, const DivertPairOptions& options);
  DivertPair(const DivertPair&) = delete;
  DivertPair& operator=(const DivertPair&) = delete;

  const Link& device() const { return device_.device(); }  // hgN, as it was when made
  const Link& peer() const { return device_.peer(); }      // hgNp, likewise
  std::uint64_t packets() { return device_.packets(); }    // that came to hgN

  void require_up();  // throws a sentence: an end is down or gone

  // What has become of it, each a sentence or empty.
  struct Look {
    std::string missing;      // it is not as it was made
    std::string obstruction;  // others run ahead there, where packets would be lost
  };
  Look look();
  // As when it was looked at last, since forget_look(): many shapes may ask.
  const Look& last_look();
  void forget_look() { last_look_.reset(); }

  // What others have sent on its ends since this was asked last.
  Count take_foreign();

 private:
  Netlink& netlink_;
  ShapePlace place_;  // where foreign packets are counted
  DivertDevice device_;
  BpfAttachment drop_;
  BpfAttachment give_back_;
  BpfAttachment refuse_;
  BpfAttachment refuse_to_give_back_;
  FileDescriptor copies_cut_;  // none: no ring buffers
  Count foreign_taken_;
  std::optional<Look> last_look_;
};

// What stands ahead of a program, and what follows from that; notes in `missing` that the program is gone.
std::string judge_place(const BpfAttachment& attachment, const std::string& hook,
                        const std::string& consequence, std::string& missing);

}  // namespace headgate
