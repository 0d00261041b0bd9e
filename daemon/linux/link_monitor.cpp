#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include <exception>
#include <stdexcept>

#include "linux/netlink.hpp"
#include "linux/netlink_message.hpp"

namespace headgate {

namespace {

constexpr int kReceiveBuffer = 1024 * 1024;  // room for some 900 messages between two dispatches

struct Callbacks {
  const std::function<void(const Link&)>& changed;
  const std::function<void(const Link&)>& deleted;
  const std::function<void()>& filter_deleted;
  std::exception_ptr exception;
};

int deliver(nl_msg* message, void* argument) {
  auto* callbacks = static_cast<Callbacks*>(argument);
  try {
    nlmsghdr* header = nlmsg_hdr(message);
    if (header->nlmsg_type == RTM_DELTFILTER || header->nlmsg_type == RTM_DELQDISC) {
      callbacks->filter_deleted();
    } else if (const auto link = parse_link(header)) {
      (header->nlmsg_type == RTM_DELLINK ? callbacks->deleted : callbacks->changed)(*link);
    }
  } catch (...) {  // must not pass through libnl
    callbacks->exception = std::current_exception();
    return NL_STOP;
  }
  return NL_OK;
}

}  // namespace

LinkMonitor::LinkMonitor() : socket_(nl_socket_alloc(), nl_socket_free) {
  if (!socket_) throw std::bad_alloc();
  nl_socket_disable_seq_check(socket_.get());
  int result = nl_connect(socket_.get(), NETLINK_ROUTE);
  if (result == 0) result = nl_socket_set_buffer_size(socket_.get(), kReceiveBuffer, 0);
  if (result == 0) result = nl_socket_set_nonblocking(socket_.get());
  if (result == 0) result = nl_socket_add_memberships(socket_.get(), RTNLGRP_LINK, RTNLGRP_TC, 0);
  if (result < 0) throw std::runtime_error(std::string("listen for link changes: ") + nl_geterror(result));
}

LinkMonitor::~LinkMonitor() = default;

int LinkMonitor::descriptor() const {
  return nl_socket_get_fd(socket_.get());
}

void LinkMonitor::dispatch(const std::function<void(const Link&)>& changed,
                           const std::function<void(const Link&)>& deleted,
                           const std::function<void()>& filter_deleted,
                           const std::function<void()>& overrun) {
  Callbacks callbacks{changed, deleted, filter_deleted, nullptr};
  const std::unique_ptr<nl_cb, void (*)(nl_cb*)> handlers(nl_cb_alloc(NL_CB_DEFAULT), nl_cb_put);
  if (!handlers) throw std::bad_alloc();
  nl_cb_set(handlers.get(), NL_CB_VALID, NL_CB_CUSTOM, deliver, &callbacks);
  nl_cb_set(
      handlers.get(), NL_CB_SEQ_CHECK, NL_CB_CUSTOM, [](nl_msg*, void*) -> int { return NL_OK; }, nullptr);
  for (;;) {
    const int result = nl_recvmsgs(socket_.get(), handlers.get());
    if (callbacks.exception) std::rethrow_exception(callbacks.exception);
    if (result == -NLE_AGAIN) return;
    if (result == -NLE_NOMEM) {  // libnl's word for ENOBUFS: the kernel dropped messages
      overrun();
      continue;
    }
    if (result < 0 && result != -NLE_INTR)
      throw std::runtime_error(std::string("receive link changes: ") + nl_geterror(result));
  }
}

}  // namespace headgate
