// What a captured frame counts: packets and bytes on the wire.
//
// An ordinary frame is one packet of its length. A super-packet, known by its virtio header, counts as the packets that
// the network card will cut it into: each carries the headers again. Formulas of struct virtio_net_hdr, virtio 1.2, 5.1.6:
// every segment but the last has gso_size bytes of payload.
#pragma once

#include "core/header_parser.hpp"
#include "pipeline/packet_io.hpp"
#include "vocabulary/statistics.hpp"

namespace headgate {

Count wire_charge(const CapturedFrame& captured);

}  // namespace headgate
