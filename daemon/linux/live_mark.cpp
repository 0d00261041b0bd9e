#include "linux/live_mark.hpp"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "linux/bulk_release.hpp"
#include "linux/system_call.hpp"

namespace headgate {

namespace {

constexpr char kPacketSockets[] = "/proc/thread-self/net/packet";

// Types of Ethernet frames that nobody has; "h" and a letter.
std::uint16_t protocol_of(LiveMark::Meaning meaning) {
  switch (meaning) {
    case LiveMark::Meaning::shapes_egress:
      return 0x6865;
    case LiveMark::Meaning::shapes_ingress:
      return 0x6869;
    case LiveMark::Meaning::uses_device:
      return 0x6864;
  }
  return 0;
}

void take_nothing(const FileDescriptor& socket) {
  sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{.len = 1, .filter = &drop};
  check_system_call("SO_ATTACH_FILTER",
                    setsockopt(socket.get(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program));
}

// Inode numbers of the sockets that are such marks.
std::vector<ino_t> marks(int interface_index, LiveMark::Meaning meaning) {
  std::vector<ino_t> found;
  std::ifstream list(kPacketSockets);
  std::string line;
  std::getline(list, line);  // the heading
  while (std::getline(list, line)) {
    std::istringstream fields(line);
    std::string address, references, running, memory, user;
    int type = 0, interface = 0;
    unsigned protocol = 0;
    ino_t inode = 0;
    fields >> address >> references >> type >> std::hex >> protocol >> std::dec >> interface >> running >>
        memory >> user >> inode;
    if (fields && interface == interface_index && protocol == protocol_of(meaning)) found.push_back(inode);
  }
  return found;
}

bool holds_socket(const std::filesystem::path& process, const std::string& socket) {
  std::error_code error;  // a process that ends meanwhile, or that is not ours to look at
  for (std::filesystem::directory_iterator descriptor(process / "fd", error), end;
       !error && descriptor != end; descriptor.increment(error)) {
    std::error_code gone;
    if (std::filesystem::read_symlink(descriptor->path(), gone) == socket) return true;
  }
  return false;
}

pid_t process_of(ino_t inode) {
  const std::string socket = "socket:[" + std::to_string(inode) + "]";
  std::error_code error;
  for (std::filesystem::directory_iterator process("/proc", error), end; !error && process != end;
       process.increment(error)) {
    const std::string number = process->path().filename();
    const bool is_process =
        std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    if (is_process && holds_socket(process->path(), socket)) return static_cast<pid_t>(std::stol(number));
  }
  return 0;
}

}  // namespace

LiveMark::LiveMark(int interface_index, Meaning meaning)
    : interface_index_(interface_index),
      meaning_(meaning),
      socket_(check_system_call("open a packet socket", socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0))) {
  take_nothing(socket_);
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(protocol_of(meaning));
  address.sll_ifindex = interface_index;
  check_system_call("mark interface " + std::to_string(interface_index),
                    bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
}

LiveMark::~LiveMark() {
  BulkRelease::close(std::move(socket_));
}

std::optional<pid_t> LiveMark::find_owner(int interface_index, Meaning meaning) {
  const std::vector<ino_t> found = marks(interface_index, meaning);
  if (found.empty()) return std::nullopt;
  return process_of(found.front());
}

std::optional<pid_t> LiveMark::find_other_owner() const {
  struct stat own {};
  check_system_call("look at a packet socket", fstat(socket_.get(), &own));
  for (const ino_t mark : marks(interface_index_, meaning_)) {
    if (mark != own.st_ino) return process_of(mark);
  }
  return std::nullopt;
}

}  // namespace headgate
