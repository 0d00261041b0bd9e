// What a worker has in common with the BPF programs of all shapes that it serves: the ring buffer into which they copy packets
// for it, and the table of what it gives back to packets that it sends.
//
// Construction and destruction: main thread.
#pragma once

#include <cstdint>
#include <optional>

#include "linux/bpf_ring.hpp"
#include "linux/divert_programs.hpp"
#include "linux/notes_table.hpp"

namespace headgate {

class WorkerRing {
 public:
  // `programs` must outlive it. Throws std::system_error or std::runtime_error.
  explicit WorkerRing(DivertPrograms& programs);
  ~WorkerRing();
  WorkerRing(const WorkerRing&) = delete;
  WorkerRing& operator=(const WorkerRing&) = delete;

  BpfRing& buffer() { return buffer_; }
  std::uint32_t number() const { return number_; }  // among those of the programs
  // Null: the marks have no room for places.
  NotesTable* notes() { return notes_ ? &*notes_ : nullptr; }

 private:
  DivertPrograms& programs_;
  BpfRing buffer_;
  const std::uint32_t number_;
  std::optional<NotesTable> notes_;
};

}  // namespace headgate
