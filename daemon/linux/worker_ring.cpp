#include "linux/worker_ring.hpp"

namespace headgate {

WorkerRing::WorkerRing(DivertPrograms& programs)
    : programs_(programs), number_(programs.add_ring(buffer_.map())) {
  const DivertPrograms::Block block = programs.restored_block(number_);
  if (block.count > 0) notes_.emplace(programs.restored(), block.first, block.count);
}

WorkerRing::~WorkerRing() {
  programs_.remove_ring(number_);
}

}  // namespace headgate
