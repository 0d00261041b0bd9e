#include "linux/bulk_release.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace headgate {

namespace {

constexpr std::size_t kClosers = 64;  // they wait, and need no processor for it

std::mutex g_mutex;  // of both below
BulkRelease* g_current = nullptr;

void close_side_by_side(std::vector<FileDescriptor>& sockets) {
  std::atomic<std::size_t> next{0};
  const auto close_rest = [&] {
    for (std::size_t i = next++; i < sockets.size(); i = next++) sockets[i].close();
  };
  std::vector<std::jthread> closers;
  try {
    while (closers.size() + 1 < std::min(kClosers, sockets.size())) closers.emplace_back(close_rest);
  } catch (const std::system_error&) {
    // No more threads are to be had: those that there are do it.
  }
  close_rest();
}

}  // namespace

BulkRelease::BulkRelease() {
  const std::lock_guard guard(g_mutex);
  g_current = this;
}

BulkRelease::~BulkRelease() {
  {
    const std::lock_guard guard(g_mutex);
    g_current = nullptr;
  }
  close_side_by_side(sockets_);
  if (links_.empty()) return;
  try {
    Netlink().delete_links(links_);
  } catch (const std::exception&) {
    // The next start or clean-up finds them.
  }
}

void BulkRelease::close(FileDescriptor socket) {
  const std::lock_guard guard(g_mutex);
  if (g_current != nullptr) g_current->sockets_.push_back(std::move(socket));
}

void BulkRelease::delete_link(Netlink& netlink, int index) {
  {
    const std::lock_guard guard(g_mutex);
    if (g_current != nullptr) {
      g_current->links_.push_back(index);
      return;
    }
  }
  netlink.delete_link(index);
}

}  // namespace headgate
