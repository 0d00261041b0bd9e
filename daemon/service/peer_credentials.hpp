// Who is at the other end of a UNIX socket, and whether they may control the daemon.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace headgate {

struct PeerCredentials {
  pid_t process = 0;
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> supplementary_groups;  // SO_PEERCRED hides them, SO_PEERGROUPS gives them
};

// As they were when the peer connected. None: the kernel does not say.
std::optional<PeerCredentials> peer_credentials(int socket);

struct AccessRule {
  uid_t own_user = 0;
  std::optional<gid_t> group;  // none: no such group on this host
};

// Root, the user whose process we are, and the members of the group.
bool permitted(const PeerCredentials& peer, const AccessRule& rule);

// "alice (uid 1000)". Asks the file of users alone, so that no service of names is waited for.
std::string name_of(const PeerCredentials& peer);

std::optional<gid_t> find_group(const std::string& name);

}  // namespace headgate
