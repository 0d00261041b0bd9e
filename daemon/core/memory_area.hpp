// Where the large tables of the core lie. The core asks no operating system: whoever runs it brings a source.
#pragma once

#include <cstddef>
#include <memory>

namespace headgate {

// Address space for a table, of which a first part is memory. That part grows in place, up to the whole.
class MemoryArea {
 public:
  virtual ~MemoryArea() = default;
  MemoryArea(const MemoryArea&) = delete;
  MemoryArea& operator=(const MemoryArea&) = delete;

  std::byte* start() const { return start_; }     // aligned to a page
  std::size_t size() const { return size_; }      // bytes reserved
  std::size_t usable() const { return usable_; }  // bytes that are memory by now

  // Makes at least the first `bytes` usable, which must not be more than size(). What is new is zero. False: there is no
  // more memory, and nothing has changed. May cost page faults.
  virtual bool grow(std::size_t bytes) = 0;

 protected:
  MemoryArea(std::byte* start, std::size_t size) : start_(start), size_(size) {}
  void set_usable(std::size_t bytes) { usable_ = bytes; }

 private:
  std::byte* const start_;
  const std::size_t size_;
  std::size_t usable_ = 0;
};

// Any thread. Outlives its areas.
class MemorySource {
 public:
  virtual ~MemorySource() = default;

  // Address space of at least so many bytes, nothing of it usable. Throws std::bad_alloc.
  virtual std::unique_ptr<MemoryArea> reserve(std::size_t bytes) = 0;
};

}  // namespace headgate
