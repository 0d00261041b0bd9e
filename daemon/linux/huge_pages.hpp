// Memory for large tables in pages of 2 MB where the kernel has them (transparent huge pages, "madvise" or "always").
//
// Any thread; meant for a few large allocations that live long. Small ones come from the default resource.
#pragma once

#include <memory_resource>

namespace headgate {

std::pmr::memory_resource* huge_pages();  // lives for ever

}  // namespace headgate
