#include "attachment.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "ethernet_needs.hpp"
#include "pipeline/frame_prefix.hpp"

namespace headgate {

namespace {

// Entries of each hand-off ring: together they hold what the capture ring holds. One that is full makes the port wait.
constexpr std::size_t kFewestEntries = 128;

bool takes_control(const ShapeConfig& shape) {
  return std::any_of(shape.classes.begin(), shape.classes.end(),
                     [](const ClassConfig& one) { return one.control; });
}

bool takes_super_packets(const ShapeConfig& shape) {
  return shape.segmentation != Segmentation::precise;
}

bool copies(const ShapeConfig& shape) {
  return shape.capture == CaptureMethod::bpf;
}

// Precise: the kernel has cut them before, but for those that are copied on the interface's hook.
SuperPacketCut cut_of(const ShapeConfig& shape) {
  if (shape.segmentation == Segmentation::automatic) return SuperPacketCut::by_rate;
  if (shape.segmentation == Segmentation::precise && copies(shape)) return SuperPacketCut::single_segments;
  return SuperPacketCut::none;
}

std::vector<WorkerRing*> rings_of(SharedDivert& common, const ShapeConfig& shape, const ShapeParts& parts) {
  std::vector<WorkerRing*> rings;
  if (copies(shape))
    for (const auto& part : parts) rings.push_back(&part->thread.ring(common));
  return rings;
}

constexpr char kNotesLost[] =
    "shaped packets lose their mark and priority: [daemon] mark has bits set in its low 16, which are needed "
    "to keep them";

bool all_give_back_notes(const std::vector<WorkerRing*>& rings) {
  return std::all_of(rings.begin(), rings.end(), [](WorkerRing* ring) { return ring->notes() != nullptr; });
}

}  // namespace

ShapePart::ShapePart(WorkerThread& own_thread, Precision own_precision, const ShaperLimits& limits,
                     std::vector<ClassConfig> classes, const TreeConfig& tree, MemorySource& memory)
    : thread(own_thread), precision(own_precision), shaper(limits, std::move(classes), memory, tree) {
  thread.call([this](Instant) {
    worker().schedule().add(shaper);
    shaper.suspend();
  });
  thread.serve(precision);
}

ShapePart::~ShapePart() {
  thread.leave(precision);
  thread.call([this](Instant) {
    shaper.drop_all(DropReason::stop);
    worker().schedule().remove(shaper);
  });
}

void ShapePart::set_precision(Precision next) {
  thread.leave(precision);
  thread.serve(next);
  precision = next;
}

std::uint8_t prefix_bytes_of(const ShapeConfig& shape) {
  if (copies(shape)) return kWholePrefixBytes;
  return takes_super_packets(shape) ? kVirtioPrefixBytes : 0;
}

std::string title_of(const ShapeConfig& shape) {
  if (!shape.forward_to.empty()) return shape.interface + " to " + shape.forward_to;
  return shape.interface + (shape.direction == Direction::egress ? " egress" : " ingress");
}

bool wants_real_time(const ShapeConfig& shape) {
  return shape.segmentation != Segmentation::whole || shape.precision == Precision::high;
}

Attachment::Attachment(SharedDivert& common, const ShapeConfig& shape,
                       std::shared_ptr<const Classifier> classifier, const ShapeParts& parts,
                       const CaptureShare& share, Log log)
    : title_(title_of(shape)),
      log_(std::move(log)),
      parts_(parts),
      networks_(common.networks()),
      rings_(rings_of(common, shape, parts)),
      divert_(common, DivertOptions{.interface = shape.interface,
                                    .direction = shape.direction,
                                    .divert_control = takes_control(shape),
                                    .control_limit = shape.control_limit,
                                    .forward_to = shape.forward_to,
                                    .whole_super_packets = takes_super_packets(shape) && !copies(shape),
                                    .copies = copies(shape),
                                    .workers = parts.size(),
                                    .shared = all_give_back_notes(rings_)}) {
  if (link_header() == LinkHeader::none) refuse_ethernet_needs(shape);
  open_ends(common.mark(), shape, share);
  make_hand_offs();
  make_watch();
  make_ports(cut_of(shape), classifier);
  if (!all_give_back_notes(rings_)) log_(title_ + ": " + kNotesLost);
  for (const std::string& line : divert_.swept()) log_("left over from before: " + line);
}

void Attachment::open_ends(std::uint32_t mark, const ShapeConfig& shape, const CaptureShare& share) {
  const CaptureOptions capture{.device_index = divert_.device_index(),
                               .mtu = divert_.mtu(),
                               .virtio_header = takes_super_packets(shape),
                               .share = share};
  PacketTransmitterOptions transmit{
      .interface_index = divert_.transmit_index(),
      .mark = mark,
      .qdisc_bypass = shape.qdisc_bypass,
      .prefix_bytes = prefix_bytes_of(shape),
      .shape = divert_.place(),
      .sends_on_peer = divert_.transmit_index() == divert_.peer_index(),
      .link_header = divert_.transmit_header(),
      .detour_index = link_header() == LinkHeader::none ? 0 : divert_.peer_index(),
      .mtu = divert_.transmit_mtu()};
  auto sources = copies(shape) ? open_channels() : open_captures(shape.capture, capture, parts_.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    transmit.notes = copies(shape) ? rings_[i]->notes() : nullptr;
    ends_.push_back(std::make_unique<Ends>(std::move(sources[i]), transmit));
  }
}

std::vector<std::unique_ptr<CaptureSource>> Attachment::open_channels() {
  std::vector<std::unique_ptr<CaptureSource>> sources;
  for (std::size_t i = 0; i < rings_.size(); ++i) {
    auto channel = rings_[i]->buffer().open_channel();
    divert_.copy_to(i, *rings_[i], *channel);
    sources.push_back(std::move(channel));
  }
  return sources;
}

void Attachment::make_hand_offs() {
  for (std::size_t from = 0; from < ends_.size(); ++from) {
    const std::size_t entries = std::max(ends_[from]->source->slots() / ends_.size(), kFewestEntries);
    for (std::size_t to = 0; to < ends_.size(); ++to)
      ends_[from]->hand_offs.push_back(from == to ? nullptr : std::make_unique<HandOff>(entries));
  }
}

void Attachment::make_watch() {
  std::vector<ShapeWatch::Watched> watched;
  for (std::size_t to = 0; to < ends_.size(); ++to) {
    std::vector<const HandOff*> inputs;
    for (const auto& from : ends_)
      if (from->hand_offs[to]) inputs.push_back(from->hand_offs[to].get());
    Worker& worker = parts_[to]->worker();
    watched.push_back({*ends_[to]->source, worker.health(), worker.waiter(), std::move(inputs)});
  }
  watch_.emplace(divert_, std::move(watched));
}

void Attachment::make_ports(SuperPacketCut cut, const std::shared_ptr<const Classifier>& classifier) {
  for (std::size_t own = 0; own < ends_.size(); ++own) {
    std::vector<std::optional<PortPeer>> peers(ends_.size());
    for (std::size_t other = 0; other < ends_.size(); ++other) {
      if (other == own) continue;
      peers[other].emplace(PortPeer{.to = *ends_[own]->hand_offs[other],
                                    .from = *ends_[other]->hand_offs[own],
                                    .source = *ends_[other]->source,
                                    .waiter = parts_[other]->worker().waiter()});
    }
    ends_[own]->port.emplace(PortOptions{.source = *ends_[own]->source,
                                         .sink = ends_[own]->transmitter,
                                         .shaper = parts_[own]->shaper,
                                         .taps = parts_[own]->taps,
                                         .watch = *watch_,
                                         .classifier = classifier,
                                         .super_packet_cut = cut,
                                         .link_header = link_header(),
                                         .part = own,
                                         .peers = std::move(peers)},
                             clock_);
  }
}

Attachment::~Attachment() {
  begin_end();
  end(Queued::keep, clock_.now());
}

void Attachment::start() {
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    ShapePart& part = *parts_[i];
    Port& port = *ends_[i]->port;
    part.thread.call([&part, &port](Instant now) {
      port.observe(!part.taps.empty());
      part.worker().add_port(port);
      part.shaper.resume(now);
    });
    ends_[i]->added = true;
  }
  divert_.attach();
}

void Attachment::begin_end() {
  divert_.detach();
  take_all_out();
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    Ends& ends = *ends_[i];
    if (!ends.added || ends.ended.valid()) continue;
    const auto promise = std::make_shared<std::promise<void>>();
    ends.ended = promise->get_future();
    parts_[i]->worker().ask(
        [&port = *ends.port, promise](Instant) { port.begin_end([promise] { promise->set_value(); }); });
  }
}

void Attachment::end(Queued queued, Instant give_up) {
  for (std::size_t i = 0; i < ends_.size(); ++i)
    if (ends_[i]->ended.valid()) parts_[i]->thread.wait_for(ends_[i]->ended);
  if (queued == Queued::send) send_rest(give_up);
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    if (!std::exchange(ends_[i]->added, false)) continue;
    parts_[i]->thread.call([&part = *parts_[i], &port = *ends_[i]->port](Instant) {
      part.shaper.suspend();
      part.worker().remove_port(port);
    });
  }
}

// In pieces, between which the workers serve their other shapes. All of the shape's workers at the same time.
void Attachment::send_rest(Instant give_up) {
  struct Piece {
    std::future<void> sent;
    std::shared_ptr<bool> more = std::make_shared<bool>();  // the worker's until it is sent
  };
  std::vector<Piece> pieces(ends_.size());
  const auto send_piece = [&](std::size_t i) {
    pieces[i].sent = parts_[i]->worker().ask([&worker = parts_[i]->worker(), &port = *ends_[i]->port,
                                              more = pieces[i].more,
                                              give_up](Instant) { *more = worker.send_some(port, give_up); });
  };
  for (std::size_t i = 0; i < ends_.size(); ++i)
    if (ends_[i]->added) send_piece(i);
  for (bool left = true; std::exchange(left, false);) {
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      if (!pieces[i].sent.valid()) continue;
      parts_[i]->thread.wait_for(pieces[i].sent);
      pieces[i].sent = {};
      if (!*pieces[i].more) continue;
      send_piece(i);
      left = true;
    }
  }
}

void Attachment::let_go_by(std::span<HookClass> classes) {
  if (rings_.empty() || !HookMatches::may_let_go(classes)) return;
  try {
    load_networks(classes, networks_);
    divert_.let_go_by(classes);
    why_all_is_taken_out_.clear();
  } catch (const std::exception& error) {
    why_all_is_taken_out_ =
        std::string("packets that no class shapes are taken out as well, which costs processor time: ") +
        error.what();
    log_(title_ + ": " + why_all_is_taken_out_);
  }
}

std::vector<std::string> Attachment::limits() const {
  std::vector<std::string> limits;
  if (!all_give_back_notes(rings_)) limits.emplace_back(kNotesLost);
  if (!why_all_is_taken_out_.empty()) limits.push_back(why_all_is_taken_out_);
  return limits;
}

void Attachment::take_all_out() {
  if (!divert_.lets_go()) return;
  divert_.take_all_out();
  count_let_go();
}

// By one worker; the classes are the same at all.
void Attachment::count_let_go() {
  std::vector<Count> counts = divert_.take_let_go();
  if (std::none_of(counts.begin(), counts.end(), [](const Count& count) { return count.packets > 0; }))
    return;
  parts_.front()->worker().ask([&shaper = parts_.front()->shaper, counts = std::move(counts)](Instant) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const auto class_index = i + 1 == counts.size() ? kUnmatched : static_cast<ClassIndex>(i);
      shaper.count_unshaped(class_index, counts[i], counts[i], {});
    }
  });
}

// The workers have them first: what comes then may fail, and changes nothing for them.
void Attachment::reconfigure(const ShapeConfig& shape, Reconfiguration& reconfiguration) {
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    parts_[i]->worker().ask(
        [&port = *ends_[i]->port, &reconfiguration](Instant) { port.begin(reconfiguration); });
  }
  set_qdisc_bypass(shape.qdisc_bypass);
  divert_.set_divert_control(takes_control(shape));
  divert_.set_control_limit(shape.control_limit);
}

void Attachment::set_qdisc_bypass(bool on) {
  try {
    for (const auto& ends : ends_) ends->transmitter.set_qdisc_bypass(on);
  } catch (const std::exception& error) {
    log_(title_ + ": qdisc_bypass stays as it was: " + error.what());
  }
}

std::string Attachment::capture_error() const {
  for (const auto& ends : ends_) {
    if (!ends->port->failed()) continue;
    try {
      std::rethrow_exception(ends->port->failure());
    } catch (const std::exception& error) {
      return error.what();
    }
  }
  return {};
}

void Attachment::look_at_switch() {
  if (divert_.unread_for(clock_.now()) <= WorkerHealth::kPatience) return;
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    std::future<void>& looked = ends_[i]->looked;
    if (looked.valid() && looked.wait_for(Duration::zero()) != std::future_status::ready) continue;
    looked = parts_[i]->worker().ask([&port = *ends_[i]->port](Instant) { port.look_at_switch(); });
  }
}

Attachment::Lost Attachment::lost() {
  const std::uint64_t came = divert_.packets();  // before the captures are asked, which may have more by then
  CaptureCounts captures = divert_.copy_counts();
  for (const auto& ends : ends_) {
    const CaptureCounts counts = ends->source->counts();
    captures.seen += counts.seen;
    captures.lost += counts.lost;
  }
  if (came > captures.seen) lost_device_ = std::max(lost_device_, came - captures.seen);
  return {.ring = captures.lost, .device = lost_device_};
}

}  // namespace headgate
