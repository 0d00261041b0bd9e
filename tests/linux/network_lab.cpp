#include "linux/network_lab.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "linux/capabilities.hpp"
#include "linux/netlink.hpp"
#include "linux/system_call.hpp"

namespace headgate::test {

namespace {

constexpr std::uint16_t kPort = 7000;

FileDescriptor present_namespace() {
  return FileDescriptor(check_system_call("open the network namespace",
                                          open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)));
}

FileDescriptor new_namespace() {
  check_system_call("unshare the network namespace", unshare(CLONE_NEWNET));
  return present_namespace();
}

void enter(const FileDescriptor& network_namespace) {
  check_system_call("setns", setns(network_namespace.get(), CLONE_NEWNET));
}

// By which a command of the same process can name it.
std::string path_of(const FileDescriptor& network_namespace) {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(network_namespace.get());
}

void run_command(const std::string& command) {
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
}

bool readable(int descriptor, Duration patience) {
  pollfd poll_descriptor{.fd = descriptor, .events = POLLIN, .revents = 0};
  const timespec limit{.tv_sec = patience.count() / 1'000'000'000,
                       .tv_nsec = patience.count() % 1'000'000'000};
  return ppoll(&poll_descriptor, 1, &limit, nullptr) > 0;
}

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

SocketAddress socket_address(const std::string& text) {
  SocketAddress address;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(kPort);
    address.length = sizeof *v4;
  } else if (inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(kPort);
    address.length = sizeof *v6;
  }
  return address;
}

// Puts back the tag that the kernel reports beside the frame.
void restore_tag(Frame& frame, const msghdr& message) {
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr;
       control = CMSG_NXTHDR(const_cast<msghdr*>(&message), control)) {
    if (control->cmsg_level != SOL_PACKET || control->cmsg_type != PACKET_AUXDATA) continue;
    tpacket_auxdata data{};
    std::memcpy(&data, CMSG_DATA(control), sizeof data);
    if ((data.tp_status & TP_STATUS_VLAN_VALID) == 0) continue;
    const std::array<std::uint16_t, 2> tag{htons(data.tp_vlan_tpid), htons(data.tp_vlan_tci)};
    const auto* bytes = reinterpret_cast<const std::byte*>(tag.data());
    frame.insert(frame.begin() + 2 * ETH_ALEN, bytes, bytes + sizeof tag);
  }
}

}  // namespace

bool NetworkLab::permitted() {
  return geteuid() == 0 && have_capability(Capability::net_admin) && have_capability(Capability::bpf);
}

NetworkLab::NetworkLab() : far_(new_namespace()) {
  run_command("ip link set lo up");
  near_ = new_namespace();
  run("ip link set lo up");
  run("ip link add eth0 type veth peer name far0 netns " + path_of(far_));
  run(std::string("ip addr add ") + kNear4 + "/24 dev eth0");
  run(std::string("ip addr add ") + kNear6 + "/64 dev eth0 nodad");
  run("ip link set eth0 up");
  on_far_host([] {
    run_command(std::string("ip addr add ") + kFar4 + "/24 dev far0");
    run_command(std::string("ip addr add ") + kFar6 + "/64 dev far0 nodad");
    run_command("ip link set far0 up");
    wait_until_running("far0");
  });
  wait_until_running("eth0");
}

void NetworkLab::run(const std::string& command) const {
  run_command(command);
}

void NetworkLab::on_host(const FileDescriptor& host, const std::function<void()>& work) const {
  enter(host);
  try {
    work();
  } catch (...) {
    enter(near_);
    throw;
  }
  enter(near_);
}

void NetworkLab::on_far_host(const std::function<void()>& work) const {
  on_host(far_, work);
}

void NetworkLab::on_opposite_host(const std::function<void()>& work) const {
  on_host(opposite_, work);
}

void NetworkLab::put_near_host_in_between() {
  opposite_ = new_namespace();
  run_command("ip link set lo up");
  enter(near_);
  run("ip addr flush dev eth0");
  run("ip link set eth0 addrgenmode none");
  run("ip link add eth1 type veth peer name opposite0 netns " + path_of(opposite_));
  run("ip link set eth1 addrgenmode none up");
  on_opposite_host([] {
    run_command(std::string("ip addr add ") + kOpposite4 + "/24 dev opposite0");
    run_command(std::string("ip addr add ") + kOpposite6 + "/64 dev opposite0 nodad");
    run_command("ip link set opposite0 up");
    wait_until_running("opposite0");
  });
  wait_until_running("eth1");
}

void NetworkLabTest::SetUp() {
  if (!NetworkLab::permitted()) GTEST_SKIP() << "NOT TESTED: this needs root";
  lab_.emplace();
}

RawPort::RawPort(const std::string& interface)
    : socket_(check_system_call("packet socket", socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0))) {
  const int on = 1;
  setsockopt(socket_.get(), SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on);
  setsockopt(socket_.get(), SOL_PACKET, PACKET_AUXDATA, &on, sizeof on);
  const int buffer = 16 * 1024 * 1024;
  setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer);
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = interface_index(interface);
  check_system_call("bind", bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address));
}

void RawPort::send(const Frame& frame) {
  check_system_call("send a frame", static_cast<int>(::send(socket_.get(), frame.data(), frame.size(), 0)));
}

std::optional<Frame> RawPort::receive(Duration patience) {
  if (!readable(socket_.get(), patience)) return std::nullopt;
  Frame frame(ETH_HLEN + 2 * 4 + 65'535);
  alignas(cmsghdr) std::array<char, 128> control{};
  iovec part{.iov_base = frame.data(), .iov_len = frame.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const auto length = recvmsg(socket_.get(), &message, 0);
  check_system_call("receive a frame", static_cast<int>(length));
  frame.resize(static_cast<std::size_t>(length));
  restore_tag(frame, message);
  return frame;
}

std::optional<Frame> RawPort::receive_first(const std::function<bool(const Frame&)>& condition,
                                            Duration patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < end) {
    const auto frame = receive(std::chrono::milliseconds(50));
    if (frame && condition(*frame)) return frame;
  }
  return std::nullopt;
}

UdpProbe::UdpProbe(const NetworkLab& lab, const std::string& far_address) {
  const SocketAddress address = socket_address(far_address);
  const auto open_socket = [&] {
    return FileDescriptor(
        check_system_call("UDP socket", socket(address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0)));
  };
  near_ = open_socket();
  check_system_call("connect", connect(near_.get(), address.get(), address.length));
  lab.on_far_host([&] {
    far_ = open_socket();
    check_system_call("bind", bind(far_.get(), address.get(), address.length));
  });
}

void UdpProbe::send(const std::string& payload) {
  ::send(near_.get(), payload.data(), payload.size(), 0);
}

void UdpProbe::send_segmented(const std::string& payload, int segment_bytes) {
  check_system_call("UDP_SEGMENT",
                    setsockopt(near_.get(), SOL_UDP, UDP_SEGMENT, &segment_bytes, sizeof segment_bytes));
  check_system_call("send", static_cast<int>(::send(near_.get(), payload.data(), payload.size(), 0)));
}

std::optional<std::string> UdpProbe::receive(Duration patience) {
  if (!readable(far_.get(), patience)) return std::nullopt;
  std::string payload(2048, '\0');
  const auto length = recv(far_.get(), payload.data(), payload.size(), 0);
  payload.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  return payload;
}

int interface_index(const std::string& name) {
  return static_cast<int>(
             check_system_call("find " + name, static_cast<int>(if_nametoindex(name.c_str())) - 1)) +
         1;
}

void wait_until_running(const std::string& interface) {
  Netlink netlink;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (std::chrono::steady_clock::now() < end) {
    const auto link = netlink.find_link(interface);
    if (link && (link->flags & IFF_RUNNING) != 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  throw std::runtime_error(interface + " does not come up");
}

}  // namespace headgate::test
