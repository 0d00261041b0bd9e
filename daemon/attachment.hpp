// What ties the shapers of a shape to its interface: the divert, and for each of the shape's workers a capture ring, a
// transmitter and the port that the worker reads the one and sends by the other with. Of several each hands over to any,
// by the flow. The shapers outlive it, with their queues and counters, so an attachment can be replaced when the interface
// changes.
//
// Main thread. Construction makes everything but diverts no packet.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/classifier.hpp"
#include "core/shaper.hpp"
#include "linux/capture_source.hpp"
#include "linux/packet_transmitter.hpp"
#include "linux/timer_waiter.hpp"
#include "linux/traffic_divert.hpp"
#include "pipeline/port.hpp"
#include "pipeline/reconfiguration.hpp"
#include "pipeline/shape_watch.hpp"
#include "vocabulary/config.hpp"
#include "worker_set.hpp"

namespace headgate {

// A shape at one of its workers: what outlives an attachment. The worker's thread owns shaper and taps; while there is no
// attachment the shaper is suspended. Not to be moved.
struct ShapePart {
  ShapePart(WorkerThread& own_thread, Precision own_precision, const ShaperLimits& limits,
            std::vector<ClassConfig> classes, const TreeConfig& tree, MemorySource& memory);
  ~ShapePart();  // what is queued is dropped (stop)
  ShapePart(const ShapePart&) = delete;
  ShapePart& operator=(const ShapePart&) = delete;

  Worker& worker() { return thread.worker(); }
  void set_precision(Precision next);

  WorkerThread& thread;
  Precision precision;
  PacketTaps taps;
  Shaper shaper;
};
using ShapeParts = std::vector<std::unique_ptr<ShapePart>>;

class Attachment {
 public:
  using Log = std::function<void(const std::string& line)>;

  // Throws a sentence for the administrator. `common` must outlive it.
  Attachment(SharedDivert& common, const ShapeConfig& shape, std::shared_ptr<const Classifier> classifier,
             const ShapeParts& parts, const CaptureShare& share, Log log);
  ~Attachment();  // as an end with Queued::keep
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  void start();

  // Opens the host; the workers go on with what they have, until resume().
  void detach() { divert_.detach(); }
  void resume() { divert_.attach(); }

  // Inline: the end leaves the wire between the two interfaces, for another attachment will follow.
  void keep_wire() { divert_.keep_wire(); }

  // The end, in two halves, so that many can end at the same time. Opens the host and takes over what was diverted
  // already; then `send`: what is queued is sent, unpaced, until `give_up`, and the rest dropped (stop); `keep`: it stays.
  enum class Queued { send, keep };
  void begin_end();
  void end(Queued queued, Instant give_up);

  // Hands new classes to the workers: from here on they are in force, however late. `reconfiguration` must live until its
  // promise is kept.
  void reconfigure(const ShapeConfig& shape, Reconfiguration& reconfiguration);

  // Which places of the cgroups packets are told of; initially none.
  void ask_cgroups(std::uint32_t places) { divert_.ask_cgroups(places); }

  // Packets that no class shapes go on from the interface's hook, where that is possible: by the classes that the workers
  // have. They are counted when count_let_go() is called, and at the end; at the latest before the workers get others.
  void let_go_by(std::span<HookClass> classes);
  void begin_take_all_out() { divert_.begin_take_all_out(); }  // TrafficDivert
  void take_all_out();
  bool lets_go_as_asked() const { return why_all_is_taken_out_.empty(); }
  void count_let_go();

  // TrafficDivert
  HookTrialResult try_hook(std::span<const HookClass> classes, std::span<const std::byte> frame,
                           std::uint32_t mark) const {
    return divert_.try_hook(classes, frame, mark);
  }

  // To be called about once a second: a packet that was diverted but lost on its way leaves the dead-man switch armed with
  // nobody to reset it.
  void look_at_switch();
  // False: a worker has something to do for this shape and does not get on with it.
  bool gets_on() { return !watch_->stands_still(clock_.now(), WorkerHealth::kPatience); }

  // Why a source cannot be read any more; empty while all can.
  std::string capture_error() const;

  // The worker's thread: shows the packets to the part's taps if it has any.
  void observe_taps(std::size_t part) { ends_[part]->port->observe(!parts_[part]->taps.empty()); }

  bool diverting() const { return divert_.attached(); }
  const TrafficDivert& divert() const { return divert_; }
  LinkHeader link_header() const { return divert_.link_header(); }
  std::vector<std::string> limits() const;  // what is less than it might be, a sentence each

  // Packets, since construction, that were diverted and not received.
  struct Lost {
    std::uint64_t ring = 0;    // for want of room in the capture ring
    std::uint64_t device = 0;  // before they came to it
  };
  Lost lost();

 private:
  // The two ends of the pipeline at one worker.
  struct Ends {
    Ends(std::unique_ptr<CaptureSource> own_source, const PacketTransmitterOptions& options)
        : source(std::move(own_source)), transmitter(options) {}

    std::unique_ptr<CaptureSource> source;
    PacketTransmitter transmitter;
    std::vector<std::unique_ptr<HandOff>> hand_offs;  // to each other part, by its number; null: to itself
    std::optional<Port> port;
    bool added = false;        // to its worker
    std::future<void> ended;   // after begin_end()
    std::future<void> looked;  // at the switch
  };

  void open_ends(std::uint32_t mark, const ShapeConfig& shape, const CaptureShare& share);
  std::vector<std::unique_ptr<CaptureSource>> open_channels();
  void make_hand_offs();
  void make_watch();
  void make_ports(SuperPacketCut cut, const std::shared_ptr<const Classifier>& classifier);
  void send_rest(Instant give_up);
  void set_qdisc_bypass(bool on);

  const std::string title_;
  const Log log_;
  const ShapeParts& parts_;
  SharedNetworkMaps& networks_;
  const std::vector<WorkerRing*> rings_;  // of each part; none: packets do not come by ring buffers
  TrafficDivert divert_;
  MonotonicClock clock_;
  std::vector<std::unique_ptr<Ends>> ends_;  // by part
  std::optional<ShapeWatch> watch_;
  std::uint64_t lost_device_ = 0;     // as last reported
  std::string why_all_is_taken_out_;  // empty: packets that no class shapes go on, or nobody wanted that
};

std::string title_of(const ShapeConfig& shape);  // "eth0 egress"

// That a frame of the shape is kept with (pipeline/frame_prefix.hpp).
std::uint8_t prefix_bytes_of(const ShapeConfig& shape);

// A whole super-packet costs more to copy than to shape, and least while its memory is still in the processor's cache: an
// ordinary thread lets the receiver at it in between. Not where departures are to be exact first of all.
bool wants_real_time(const ShapeConfig& shape);

}  // namespace headgate
