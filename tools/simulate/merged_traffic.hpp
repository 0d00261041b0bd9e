// Several traffics as one, in order of time; of packets of one instant the traffic that was named first comes first.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "traffic.hpp"

namespace headgate {

class MergedTraffic : public Traffic {
 public:
  explicit MergedTraffic(std::vector<std::unique_ptr<Traffic>> parts);

  const OfferedPacket* next() override;
  std::optional<double> progress() const override;

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::vector<std::unique_ptr<Traffic>> parts_;
  std::vector<const OfferedPacket*> waiting_;  // the next of each part; null: it has ended
  std::size_t given_ = kNone;                  // whose packet was given last
};

}  // namespace headgate
