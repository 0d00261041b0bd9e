// Takes an interface's packets out of the kernel, and gives them back whatever happens.
//
// Construction makes the veth pair hgN / hgNp with a drop program at the end of it, but diverts nothing yet; attach()
// starts the divert; detach() ends it; destruction undoes everything in reverse order.
// Leftovers of a dead daemon are swept by sweep() and by the constructor for its own interface and direction.
//
// What arrives (ingress) goes the same way and comes back by the other end: sent on hgNp it arrives at hgN, from where a
// program hands it to the interface's ingress again, past the divert. Inline it is sent on the other interface instead.
// The wire of an inline divert is laid by construction, taken over if there is one, and lasts until the divert's
// destruction after an attach(), unless it is to be kept: it survives the death of this process.
//
// What others send on the two ends is dropped and counted, neither captured nor given back.
//
// Main thread, except reset(), unread_for() and has_let_pass() (the shape's workers), unshaped() and counts() (any).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headgate/config.hpp"
#include "headgate/statistics.hpp"
#include "pipeline/packet_io.hpp"

namespace headgate {

struct DivertOptions {
  std::string interface;
  Direction direction = Direction::egress;
  DivertMethod method = DivertMethod::automatic;
  std::uint32_t mark = 0;
  bool divert_control = false;  // some class has control = true
  Rate control_limit = kDefaultControlLimit;

  // Inline, with direction ingress: where shaped packets leave, and everything that is not diverted, by a wire in the
  // kernel. Empty: not inline.
  std::string forward_to;

  // TCP super-packets and checksums still to be made come as they are; the ring and the transmitter must carry virtio
  // headers then.
  bool whole_super_packets = false;
};

class TrafficDivert : public DeadManSwitch {
 public:
  // Throws std::runtime_error with a sentence an administrator understands: no such interface, not Ethernet,
  // one of our own devices, already shaped (by which process), no permission, TCX asked for but unknown to
  // this kernel.
  explicit TrafficDivert(const DivertOptions& options);
  ~TrafficDivert() override;

  void attach();  // throws when a divert device is down or gone: what is redirected there vanishes
  void detach();  // never fails: whatever the kernel says, the program lets every packet go on from here on
  bool attached() const;

  // What has become of our programs on their hooks, of the divert device and of the wire: asked of the kernel, each a
  // sentence or empty.
  struct Hooks {
    std::string missing;  // one of ours is gone, or the device is not as it was made: to be attached anew
    // Others run ahead on a divert device, where packets would be lost: to be detached.
    std::string obstruction;
    // Others run ahead on the interface: what they let pass is not shaped, inline it is not forwarded.
    std::string bypass;
  };
  Hooks hooks() const;
  bool in_place() const;  // attached, and nothing of ours is missing
  void keep_wire();       // destruction leaves it, for somebody will attach again

  DivertMethod method() const;  // tcx or clsact, never automatic
  int interface_index() const;
  int transmit_index() const;       // where shaped packets are sent: the interface, hgNp, forward_to
  unsigned transmit_mtu() const;    // of that one, at construction
  std::string device_name() const;  // hgN, the redirect's target: what is sent on it is to be captured
  int device_index() const;
  std::string peer_name() const;  // hgNp: what is sent on it goes back to the interface, past the divert
  int peer_index() const;
  unsigned mtu() const;                           // of the shaped interface at construction
  const std::vector<std::string>& swept() const;  // leftovers that construction removed, one sentence each

  void set_divert_control(bool on);  // at a reload
  void set_control_limit(const Rate& limit);
  void reset(Instant now) override;  // the dead-man switch: packets are being read
  // A packet that was diverted but lost before the ring leaves this running with nothing to read: Port::look_at_switch()
  // resets it then.
  Duration unread_for(Instant now) const override;
  bool has_let_pass() const override;

  UnshapedStatistics unshaped() const;  // what the switch let pass, up to the last reset()
  HookCounts counts() const;            // since construction
  std::uint64_t packets() const;        // that came to hgN; cut by the kernel to the MTU where they are to be

  // Removes what dead daemons left in this network namespace, and says what it did, one sentence each. Throws
  // when a live daemon shapes any interface here. `keep_wires`: a daemon will be back soon.
  static std::vector<std::string> sweep(bool keep_wires = false);

  // Removes the wire from `interface` that a divert had to keep, or a dead daemon left. None there: not an error.
  static std::vector<std::string> remove_wire(const std::string& interface);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headgate
