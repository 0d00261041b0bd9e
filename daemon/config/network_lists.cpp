#include "config/network_lists.hpp"

#include <algorithm>
#include <utility>

#include "config/characters.hpp"
#include "config/file_text.hpp"
#include "config/network_grammar.hpp"
#include "visible_text.hpp"

namespace headgate {
namespace {

Reading refuse_more() {
  return refuse("there are more networks than " + std::to_string(NetworkLists::kMostNetworks) +
                ", expected at most so many in a list");
}

// Without its comment, its end and the spaces around.
std::string_view content_of(std::string_view line) {
  line = line.substr(0, line.find('#'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return trim(line);
}

Reading read_lines(std::string_view text, const std::string& name, Networks& networks) {
  std::size_t number = 1;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view content = content_of(text.substr(begin, end - begin));
    begin = end + 1;
    if (content.empty()) continue;
    Reading reading =
        networks.size() < NetworkLists::kMostNetworks ? read_network(content, networks) : refuse_more();
    if (!reading.ok()) return refuse(name + ":" + std::to_string(number) + ": " + reading.error);
  }
  return {};
}

NetworkLists::File read_networks_of(const std::string& path) {
  NetworkLists::File file;
  const std::string name = visible(path);
  std::string text;
  const std::string problem = read_list_text(path, text);
  file.reading = problem.empty() ? read_lines(text, name, file.networks) : refuse(name + ": " + problem);
  return file;
}

template <typename Number>
void append(std::vector<AddressRange<Number>>& ranges, const std::vector<AddressRange<Number>>& more) {
  ranges.insert(ranges.end(), more.begin(), more.end());
}

}  // namespace

void NetworkLists::pause() const {
  if (meanwhile_) meanwhile_();
}

const NetworkLists::File& NetworkLists::file(const std::string& path) {
  const auto known = files_.find(path);
  if (known != files_.end()) return known->second;
  const File& file = files_.emplace(path, read_networks_of(path)).first->second;
  pause();
  return file;
}

std::shared_ptr<const NetworkSet> NetworkLists::share(Networks networks,
                                                      const std::vector<std::string>& texts) {
  std::shared_ptr<const NetworkSet>& set = sets_[texts];
  if (!set) {
    set = std::make_shared<const NetworkSet>(std::move(networks), texts);
    pause();
  }
  return set;
}

Reading NetworkListReader::add(std::string_view text) {
  if (text.starts_with('/')) return add_file(text);
  if (networks_.size() >= NetworkLists::kMostNetworks) return refuse_more();
  Reading reading = read_network(text, networks_);
  if (reading.ok()) texts_.emplace_back(text);
  return reading;
}

Reading check_list_path(std::string_view path) {
  if (path.starts_with('/') && !path.ends_with('/') && path.find('\0') == std::string_view::npos) return {};
  return refuse(quoted(path) +
                " is not the absolute path of a file, expected one such as \"/etc/headgate/clients\"");
}

Reading NetworkListReader::add_file(std::string_view path) {
  Reading reading = check_list_path(path);
  if (!reading.ok()) return reading;
  const NetworkLists::File& file = lists_.file(std::string(path));
  if (!file.reading.ok()) return file.reading;
  if (networks_.size() + file.networks.size() > NetworkLists::kMostNetworks) return refuse_more();
  append(networks_.ipv4, file.networks.ipv4);
  append(networks_.ipv6, file.networks.ipv6);
  texts_.emplace_back(path);
  return {};
}

Reading NetworkListReader::settle(std::shared_ptr<const NetworkSet>& networks) {
  Reading reading;
  if (networks_.size() == 0) reading.warning = "has no network, so the class gets no packet";
  networks = lists_.share(std::move(networks_), texts_);
  return reading;
}

}  // namespace headgate
