#include "linux/link_offloads.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "linux/file_descriptor.hpp"
#include "linux/system_call.hpp"

namespace headgate {

namespace {

// A command of ethtool's with `count` elements behind its header.
template <typename Header, typename Element>
class EthtoolCommand {
 public:
  explicit EthtoolCommand(std::size_t count) : words_((sizeof(Header) + count * sizeof(Element) + 7) / 8) {}
  Header* header() { return reinterpret_cast<Header*>(words_.data()); }
  Element* elements() { return reinterpret_cast<Element*>(header() + 1); }

 private:
  std::vector<std::uint64_t> words_;
};

struct FeatureName {
  char text[ETH_GSTRING_LEN];
  std::string_view view() const { return {text, strnlen(text, sizeof text)}; }
};

class Ethtool {
 public:
  explicit Ethtool(const std::string& interface)
      : interface_(interface),
        socket_(check_system_call("socket", socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0))) {}

  std::vector<FeatureName> feature_names() {
    EthtoolCommand<ethtool_sset_info, std::uint32_t> count(1);
    count.header()->cmd = ETHTOOL_GSSET_INFO;
    count.header()->sset_mask = std::uint64_t{1} << ETH_SS_FEATURES;
    run("count the features", count.header());
    const std::uint32_t features = count.elements()[0];
    EthtoolCommand<ethtool_gstrings, FeatureName> names(features);
    names.header()->cmd = ETHTOOL_GSTRINGS;
    names.header()->string_set = ETH_SS_FEATURES;
    names.header()->len = features;
    run("name the features", names.header());
    return {names.elements(), names.elements() + features};
  }

  void turn_off(const std::vector<bool>& features) {
    const std::size_t blocks = (features.size() + 31) / 32;
    EthtoolCommand<ethtool_sfeatures, ethtool_set_features_block> command(blocks);
    command.header()->cmd = ETHTOOL_SFEATURES;
    command.header()->size = static_cast<std::uint32_t>(blocks);
    for (std::size_t i = 0; i < features.size(); ++i)
      if (features[i]) command.elements()[i / 32].valid |= 1u << (i % 32);
    run("turn off offloads", command.header());
  }

 private:
  void run(const char* what, void* command) {
    ifreq request{};
    interface_.copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_data = static_cast<char*>(command);
    check_system_call(interface_ + ": " + what, ioctl(socket_.get(), SIOCETHTOOL, &request));
  }

  std::string interface_;
  FileDescriptor socket_;
};

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> prefixes) {
  for (const std::string_view prefix : prefixes)
    if (name.substr(0, prefix.size()) == prefix) return true;
  return false;
}

bool is_unwanted(std::string_view name) {
  const bool segmentation =
      starts_with_any(name, {"tx-"}) && name.find("segmentation") != std::string_view::npos;
  return segmentation || starts_with_any(name, {"tx-checksum-", "tx-gso-", "rx-gro", "rx-udp-gro", "rx-lro"});
}

bool fits_a_virtio_header(std::string_view name) {
  return starts_with_any(name, {"tx-tcp", "tx-generic-segmentation", "tx-checksum-ip"}) &&
         name.find("accecn") == std::string_view::npos;
}

template <typename Predicate>
void turn_off_where(const std::string& interface, Predicate unwanted) {
  Ethtool ethtool(interface);
  std::vector<bool> features;
  for (const FeatureName& name : ethtool.feature_names()) features.push_back(unwanted(name.view()));
  ethtool.turn_off(features);
}

}  // namespace

void turn_off_segmentation_and_checksum_offload(const std::string& interface) {
  turn_off_where(interface, is_unwanted);
}

void leave_only_offloads_of_a_virtio_header(const std::string& interface) {
  turn_off_where(interface,
                 [](std::string_view name) { return is_unwanted(name) && !fits_a_virtio_header(name); });
}

}  // namespace headgate
