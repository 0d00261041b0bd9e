// Fetches a cache line ahead of its use.
#pragma once

namespace headgate {

inline void prefetch_line(const void* address) {
  __builtin_prefetch(address);
  // GCC takes a function that does nothing but prefetch for one without effect, and leaves out the calls of it.
  asm volatile("");
}

}  // namespace headgate
