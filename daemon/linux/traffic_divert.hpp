// Takes an interface's packets out of the kernel, and gives them back whatever happens.
//
// Construction makes what it needs, but diverts nothing yet; attach() starts the divert; detach() ends it; destruction undoes
// everything in reverse order. Filters and wires that a dead daemon left are swept by the constructor for its own interface and
// direction, its devices by SharedDivert, and all of it by sweep().
//
// With ring buffers (DivertOptions::copies) a packet is copied on the interface's own hook, and ends there. Only what the
// kernel must cut or complete comes to hgN first, and is copied there. All such diverts have one hgN / hgNp
// (SharedDivert::pair()). Otherwise a packet is captured on an hgN of its own.
//
// What arrives (ingress) goes the same way and comes back by the other end: sent on hgNp it arrives at hgN, from where a
// program hands it to the interface's ingress again, past the divert. Inline it is sent on the other interface instead.
// The wire of an inline divert is laid by construction, taken over if there is one, and lasts until the divert's
// destruction after an attach(), unless it is to be kept: it survives the death of this process.
//
// An interface without an Ethernet header needs ring buffers.
//
// What others send on the two ends is dropped and counted, neither captured nor given back.
//
// Main thread, except reset(), unread_for() and has_let_pass() (the shape's workers), unshaped() and copy_counts() (any thread).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "linux/capture_source.hpp"
#include "linux/hook_matches.hpp"
#include "linux/netlink.hpp"
#include "linux/shared_divert.hpp"
#include "pipeline/link_header.hpp"
#include "pipeline/packet_io.hpp"
#include "vocabulary/config.hpp"
#include "vocabulary/statistics.hpp"

namespace headgate {

struct DivertOptions {
  std::string interface;
  Direction direction = Direction::egress;
  bool divert_control = false;  // some class has control = true
  Rate control_limit = kDefaultControlLimit;

  // Inline, with direction ingress: where shaped packets leave, and everything that is not diverted, by a wire in the
  // kernel. Empty: not inline.
  std::string forward_to;

  // TCP super-packets and checksums still to be made come as they are; the ring and the transmitter must carry virtio
  // headers then.
  bool whole_super_packets = false;

  // Packets are copied into ring buffers, one for each of `workers`: copy_to(). They come as they are, with the whole
  // prefix. `shared`: who sends on hgNp can tell the shape in a mark (NotesTable), so it needs no hgN of its own.
  bool copies = false;
  std::size_t workers = 1;
  bool shared = true;
};

class TrafficDivert : public DeadManSwitch {
 public:
  // Throws std::runtime_error with a sentence an administrator understands: no such interface, of a kind that cannot be
  // shaped, one of our own devices, already shaped (by which process), no permission, TCX asked for but unknown to
  // this kernel. `common` must outlive it.
  TrafficDivert(SharedDivert& common, const DivertOptions& options);
  ~TrafficDivert() override;

  // With ring buffers, for each worker before attach().
  void copy_to(std::size_t worker, const WorkerRing& ring, const BpfRing::Channel& channel);
  // By which the programs know this shape, where the divert device is shared; else 0.
  std::uint32_t place() const;
  CaptureCounts copy_counts() const;
  // Which places of SharedDivert::cgroups() packets are told of, a bit for each; initially none.
  void ask_cgroups(std::uint32_t places);

  // With ring buffers: packets that no class shapes may go on from the hook. Throws a sentence when that is not possible.
  void let_go_by(std::span<const HookClass> classes);
  // All packets are taken out from here on; take_all_out() returns when what went on before has gone. Of many diverts, the
  // first that is waited for waits for all that have begun.
  void begin_take_all_out();
  void take_all_out();
  bool lets_go() const;
  std::vector<Count> take_let_go();  // DivertPlace

  // What the program on the hook would do with a packet (HookTrial). `classes` as of let_go_by().
  HookTrialResult try_hook(std::span<const HookClass> classes, std::span<const std::byte> frame,
                           std::uint32_t mark) const;

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

  DivertMethod method() const;  // tcx or clsact
  int interface_index() const;
  const Link& interface() const;  // at construction
  LinkHeader link_header() const;
  int transmit_index() const;     // where shaped packets are sent: the interface, hgNp, forward_to
  unsigned transmit_mtu() const;  // of that one, at construction
  LinkHeader transmit_header() const;
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
