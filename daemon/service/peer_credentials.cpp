#include "service/peer_credentials.hpp"

#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

namespace headgate {
namespace {

std::optional<std::vector<gid_t>> peer_groups(int socket) {
  std::vector<gid_t> groups(32);
  for (;;) {
    socklen_t length = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
    const int result = getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &length);
    if (result < 0 && errno != ERANGE) return std::nullopt;
    groups.resize(length / sizeof(gid_t));  // on ERANGE the kernel has set the length it needs
    if (result == 0) return groups;
  }
}

}  // namespace

std::optional<PeerCredentials> peer_credentials(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0) return std::nullopt;
  // Without the list, the peer simply has no more groups than its first.
  std::vector<gid_t> groups = peer_groups(socket).value_or(std::vector<gid_t>{});
  return PeerCredentials{credentials.pid, credentials.uid, credentials.gid, std::move(groups)};
}

bool permitted(const PeerCredentials& peer, const AccessRule& rule) {
  if (peer.user == 0 || peer.user == rule.own_user) return true;
  if (!rule.group) return false;
  const auto& groups = peer.supplementary_groups;
  return peer.group == *rule.group || std::find(groups.begin(), groups.end(), *rule.group) != groups.end();
}

std::string name_of(const PeerCredentials& peer) {
  const std::string number = "uid " + std::to_string(peer.user);
  if (peer.user == 0) return "root";
  const std::unique_ptr<FILE, int (*)(FILE*)> users(std::fopen("/etc/passwd", "re"), std::fclose);
  if (!users) return number;
  while (const passwd* user = fgetpwent(users.get()))
    if (user->pw_uid == peer.user) return std::string(user->pw_name) + " (" + number + ")";
  return number;
}

std::optional<gid_t> find_group(const std::string& name) {
  const group* found = getgrnam(name.c_str());
  if (!found) return std::nullopt;
  return found->gr_gid;
}

}  // namespace headgate
