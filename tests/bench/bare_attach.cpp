// What attaching headgate's own program to many interfaces takes, with nothing else: loads the programs, attaches the one of the
// egress to each interface whose name begins with PREFIX, says "attached" on standard error, and waits for a signal.
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "linux/bpf_attachment.hpp"
#include "linux/divert_programs.hpp"
#include "linux/netlink.hpp"

int main(int argc, char** argv) {
  using namespace headgate;
  if (argc != 2) {
    std::fputs("usage: bare_attach PREFIX\n", stderr);
    return 1;
  }
  try {
    const std::string prefix = argv[1];
    Netlink netlink;
    const DivertPrograms programs({.own_mark = 0x68670000});
    std::vector<std::unique_ptr<BpfAttachment>> attachments;
    for (const Link& link : netlink.links()) {
      if (!link.name.starts_with(prefix)) continue;
      attachments.push_back(std::make_unique<BpfAttachment>(netlink, DivertMethod::tcx, link.index,
                                                            TrafficHook::egress, "bare",
                                                            programs.divert(Direction::egress)));
    }
    std::fputs("attached\n", stderr);
    pause();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bare_attach: %s\n", error.what());
    return 1;
  }
}
