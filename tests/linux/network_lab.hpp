// Two hosts in network namespaces of their own, joined by a wire: eth0 of the near host and far0 of the far
// one. The thread that makes a lab is on the near host from then on; nothing outlives the thread.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headgate/clock.hpp"
#include "linux/file_descriptor.hpp"

namespace headgate::test {

inline constexpr char kNear4[] = "10.77.0.1";
inline constexpr char kFar4[] = "10.77.0.2";
inline constexpr char kNear6[] = "fd77::1";
inline constexpr char kFar6[] = "fd77::2";
inline constexpr char kOpposite4[] = "10.77.0.3";
inline constexpr char kOpposite6[] = "fd77::3";

class NetworkLab {
 public:
  static bool permitted();  // root in the host's user namespace

  NetworkLab();

  // Runs a command on the near host and fails the test when it fails.
  void run(const std::string& command) const;
  // Calls `work` on the far host. What it opens there stays there.
  void on_far_host(const std::function<void()>& work) const;

  // A third host, joined by a wire from eth1 of the near host to its opposite0. The near host has no addresses any more:
  // it stands in the wire between the two others.
  void put_near_host_in_between();
  void on_opposite_host(const std::function<void()>& work) const;

 private:
  void on_host(const FileDescriptor& host, const std::function<void()>& work) const;

  FileDescriptor near_;
  FileDescriptor far_;
  FileDescriptor opposite_;
};

// A fixture for tests that need a lab; they are skipped without root.
class NetworkLabTest : public testing::Test {
 protected:
  void SetUp() override;
  NetworkLab& lab() { return *lab_; }

 private:
  std::optional<NetworkLab> lab_;
};

using Frame = std::vector<std::byte>;

// A raw packet socket on one interface of the host that it is made on: sends frames as the host's own, sees
// what comes in. VLAN tags that the kernel has stripped are put back.
class RawPort {
 public:
  explicit RawPort(const std::string& interface);

  void send(const Frame& frame);
  std::optional<Frame> receive(Duration patience);  // the next incoming frame
  // Waits for a frame that satisfies the condition; those before it are passed over.
  std::optional<Frame> receive_first(const std::function<bool(const Frame&)>& condition,
                                     Duration patience = std::chrono::seconds(5));

 private:
  FileDescriptor socket_;
};

// UDP between the hosts, from near to far.
class UdpProbe {
 public:
  explicit UdpProbe(const NetworkLab& lab, const std::string& far_address = kFar4);

  void send(const std::string& payload);
  void send_segmented(const std::string& payload, int segment_bytes);  // as one super-packet (UDP_SEGMENT)
  // The next payload that arrived at the far host.
  std::optional<std::string> receive(Duration patience);

 private:
  FileDescriptor near_;
  FileDescriptor far_;
};

int interface_index(const std::string& name);

// An interface that has just come up drops what it is to send until the kernel has noticed its carrier.
void wait_until_running(const std::string& interface);

}  // namespace headgate::test
