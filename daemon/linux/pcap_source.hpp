// Capture of what is sent on a device by live libpcap, for where the packet ring cannot serve.
//
// libpcap lends a frame only until the next one is read, so each is copied to a slot of our own. A slot holds one
// frame of the device's MTU with room for two VLAN tags; a longer frame arrives clipped. libpcap puts a tag
// that the kernel stripped back into the frame: vlan_tpid is always 0. When all slots are taken nothing is read, and
// the kernel drops what finds libpcap's buffer full and counts it. The source survives its device being
// down; when the device is deleted, wait() throws.
#pragma once

#include <cstdint>
#include <memory>

#include "linux/capture_source.hpp"

namespace headgate {

struct PcapSourceOptions {
  int device_index = 0;
  unsigned mtu = 1500;      // bytes after the Ethernet header
  unsigned slots = 16'384;  // fewer where they would need over kMaxPcapSlotBytes
};

// Together as much as the packet ring may have.
inline constexpr std::size_t kMaxPcapSlotBytes = 32 * 1024 * 1024;
inline constexpr std::size_t kPcapBufferBytes = 32 * 1024 * 1024;  // libpcap's

class PcapSource : public CaptureSource {
 public:
  explicit PcapSource(const PcapSourceOptions& options);  // throws std::system_error, std::runtime_error
  ~PcapSource() override;

  std::size_t receive(std::span<CapturedFrame> out) override;
  Duration waited() const override;
  void give_back(std::span<const std::uint32_t> slots) override;
  bool waiting() const override;
  int descriptor() const override;
  void note_error() override;
  std::size_t slots() const override;
  CaptureCounts counts() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headgate
