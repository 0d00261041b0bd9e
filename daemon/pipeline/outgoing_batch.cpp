#include "pipeline/outgoing_batch.hpp"

#include <algorithm>
#include <cstring>

#include "core/stripped_tag.hpp"
#include "pipeline/port.hpp"

namespace headgate {

OutgoingBatch::OutgoingBatch(Schedule& schedule, Clock& clock)
    : schedule_(schedule), clock_(clock), parts_(kBatch * kMaxFrameParts + 2 * kBatch) {}

void OutgoingBatch::add_port(Port& port) {
  const std::size_t number = port.shaper().number();
  if (ports_.size() <= number) ports_.resize(number + 1);
  ports_[number] = &port;
}

void OutgoingBatch::remove_port(Port& port) {
  std::replace(ports_.begin(), ports_.end(), &port, static_cast<Port*>(nullptr));
}

// A stripped tag goes back between the MAC addresses and the rest.
void OutgoingBatch::add_unshaped(Port& port, const ArrivingPacket& packet) {
  constexpr std::size_t kMacAddresses = 12;
  Unshaped& entry = unshaped_[unshaped_count_];
  entry = {.port = &port,
           .class_index = packet.class_index,
           .cost = {packet.charged_packets, packet.charged_bytes},
           .first_part = part_count_};
  if (packet.vlan_tpid != 0 && packet.frame.size() >= kMacAddresses) {
    auto& header = tagged_headers_[unshaped_count_].bytes;
    const std::size_t prefix = packet.prefix_bytes;
    std::memcpy(header.data(), packet.frame.data() - prefix, prefix + kMacAddresses);
    const auto tag = tag_bytes({packet.vlan_tpid, packet.vlan_tci});
    std::memcpy(header.data() + prefix + kMacAddresses, tag.data(), tag.size());
    parts_[part_count_++] = std::span(header).first(prefix + kMacAddresses + tag.size());
    parts_[part_count_++] = packet.frame.subspan(kMacAddresses);
  } else {
    parts_[part_count_++] = {packet.frame.data() - packet.prefix_bytes,
                             packet.frame.size() + packet.prefix_bytes};
  }
  entry.parts = part_count_ - entry.first_part;
  ++unshaped_count_;
}

void OutgoingBatch::take_due(Instant now) {
  due_count_ = schedule_.release(now, due_);
  group_due_by_port();
}

std::size_t OutgoingBatch::take_all(Port& port) {
  due_count_ = port.shaper().release_all(due_);
  return due_count_;
}

// Most often all of them are of one shape. Those of each keep their order.
void OutgoingBatch::group_due_by_port() {
  const auto other = std::find_if(due_.begin(), due_.begin() + static_cast<std::ptrdiff_t>(due_count_),
                                  [this](const DuePacket& packet) { return packet.shape != due_[0].shape; });
  if (other == due_.begin() + static_cast<std::ptrdiff_t>(due_count_)) return;
  std::size_t left = due_count_;
  std::copy_n(due_.begin(), due_count_, ungrouped_.begin());
  for (std::size_t placed = 0; left > 0;) {
    const ShapeNumber shape = ungrouped_[0].shape;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < left; ++i) {
      if (ungrouped_[i].shape == shape) {
        due_[placed++] = ungrouped_[i];
      } else {
        ungrouped_[kept++] = ungrouped_[i];
      }
    }
    left = kept;
  }
}

// Unshaped frames stand port by port, as they were read.
std::size_t OutgoingBatch::find_shares() {
  std::size_t count = 0;
  for (std::size_t i = 0; i < unshaped_count_; ++i) {
    if (count == 0 || shares_[count - 1].port != unshaped_[i].port)
      shares_[count++] = {.port = unshaped_[i].port, .unshaped_from = i};
    shares_[count - 1].unshaped_to = i + 1;
  }
  const std::size_t with_unshaped = count;
  for (std::size_t from = 0; from < due_count_;) {
    std::size_t to = from + 1;
    while (to < due_count_ && due_[to].shape == due_[from].shape) ++to;
    Port* const port = ports_[due_[from].shape];
    const auto end = shares_.begin() + static_cast<std::ptrdiff_t>(with_unshaped);
    auto share = std::find_if(shares_.begin(), end, [port](const Share& one) { return one.port == port; });
    if (share == end) {
      share = shares_.begin() + static_cast<std::ptrdiff_t>(count++);
      *share = {.port = port};
    }
    share->due_from = from;
    share->due_to = to;
    from = to;
  }
  return count;
}

void OutgoingBatch::send() {
  const std::size_t count = find_shares();
  for (const Share& share : std::span(shares_).first(count)) send(share);
  unshaped_count_ = due_count_ = part_count_ = 0;
}

// Describes the frames of a share, unshaped ones first. Returns how many.
std::size_t OutgoingBatch::gather(const Share& share) {
  std::size_t total = 0;
  for (std::size_t i = share.unshaped_from; i < share.unshaped_to; ++i)
    frames_[total++] = {{&parts_[unshaped_[i].first_part], unshaped_[i].parts}};
  for (std::size_t i = share.due_from; i < share.due_to; ++i) {
    const std::size_t parts = schedule_.frame_parts(due_[i], std::span(parts_).subspan(part_count_));
    frames_[total++] = {{&parts_[part_count_], parts}};
    part_count_ += parts;
  }
  return total;
}

void OutgoingBatch::send(const Share& share) {
  const std::size_t total = gather(share);
  share.port->sink().send({frames_.data(), total}, {sent_.data(), total});
  if (PacketTaps* taps = share.port->taps()) {
    show(share, [&](ClassIndex class_index, auto frame, std::size_t i) {
      if (sent_[i]) {
        taps->sent(class_index, frame);
      } else {
        taps->dropped(class_index, frame, DropReason::send_failed);
      }
    });
  }
  count_unshaped(share);
  complete_due(share);
}

void OutgoingBatch::count_unshaped(const Share& share) {
  for (std::size_t i = share.unshaped_from; i < share.unshaped_to; ++i) {
    const Unshaped& one = unshaped_[i];
    const bool sent = sent_[i - share.unshaped_from];
    share.port->shaper().count_unshaped(one.class_index, one.cost, sent ? one.cost : Count{},
                                        sent ? Count{} : one.cost);
  }
}

// Runs of packets with the same outcome are completed together.
void OutgoingBatch::complete_due(const Share& share) {
  if (share.due_from == share.due_to) return;
  const Instant now = clock_.now();
  const bool* const sent = &sent_[share.unshaped_to - share.unshaped_from];
  for (std::size_t from = share.due_from; from < share.due_to;) {
    const bool outcome = sent[from - share.due_from];
    std::size_t to = from + 1;
    while (to < share.due_to && sent[to - share.due_from] == outcome) ++to;
    const std::span<const DuePacket> run{&due_[from], to - from};
    if (outcome) {
      schedule_.complete_sent(run, now);
    } else {
      schedule_.complete_dropped(run, DropReason::send_failed);
    }
    from = to;
  }
}

// Of a frame whose parts are in parts_: they are not needed any more, so the virtio header is cut off in place.
std::span<const std::span<const std::byte>> OutgoingBatch::without_prefix(Port& port, std::size_t frame) {
  const auto parts = frames_[frame].parts;
  std::span<const std::byte>& first = parts_[static_cast<std::size_t>(parts.data() - parts_.data())];
  first = first.subspan(port.shaper().frame_prefix());
  return parts;
}

// Calls `show` for each gathered frame of a share, with its class and its place.
template <typename Show>
void OutgoingBatch::show(const Share& share, Show show) {
  share.port->taps()->set_time(clock_.now());
  const std::size_t unshaped = share.unshaped_to - share.unshaped_from;
  const std::size_t total = unshaped + share.due_to - share.due_from;
  for (std::size_t i = 0; i < total; ++i) {
    const ClassIndex class_index = i < unshaped ? unshaped_[share.unshaped_from + i].class_index
                                                : due_[share.due_from + i - unshaped].class_index;
    show(class_index, without_prefix(*share.port, i), i);
  }
}

void OutgoingBatch::drop(DropReason reason) {
  const std::size_t count = find_shares();
  for (const Share& share : std::span(shares_).first(count)) drop(share, reason);
  unshaped_count_ = due_count_ = part_count_ = 0;
}

void OutgoingBatch::drop(const Share& share, DropReason reason) {
  if (PacketTaps* taps = share.port->taps()) {
    gather(share);
    show(share,
         [&](ClassIndex class_index, auto frame, std::size_t) { taps->dropped(class_index, frame, reason); });
  }
  for (std::size_t i = share.unshaped_from; i < share.unshaped_to; ++i)
    share.port->shaper().count_dropped(unshaped_[i].class_index, unshaped_[i].cost, reason);
  schedule_.complete_dropped({&due_[share.due_from], share.due_to - share.due_from}, reason);
}

}  // namespace headgate
