#include "frame_headers.hpp"

#include "core/classifier.hpp"
#include "core/header_parser.hpp"

namespace headgate {

DecodedFlowKey headers_of(std::span<const std::byte> frame) {
  const ParsedHeaders headers = parse_headers(frame);
  const bool ip = headers.network != NetworkProtocol::other;
  const KeySpec all{.source_address = ip,
                    .destination_address = ip,
                    .ports = ip,
                    .source_mac = !ip,
                    .destination_mac = !ip,
                    .vlan = headers.outer_vlan != 0};
  return decode(make_key(all, headers), all);
}

}  // namespace headgate
