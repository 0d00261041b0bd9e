#include "config/match_vocabulary.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "config/characters.hpp"
#include "config/suggestion.hpp"

namespace headgate {
namespace {

// The keywords of pcap-filter(7) that may stand outside of brackets, but for the connecting words.
constexpr std::array kKeywords = std::to_array<std::string_view>(
    {"src",     "dst",       "link",    "ether",      "fddi",    "tr",        "wlan",      "ppp",
     "slip",    "ip",        "ip6",     "arp",        "rarp",    "tcp",       "udp",       "sctp",
     "icmp",    "icmp6",     "igmp",    "igrp",       "pim",     "vrrp",      "carp",      "ah",
     "esp",     "radio",     "aarp",    "atalk",      "decnet",  "lat",       "sca",       "moprc",
     "mopdl",   "iso",       "esis",    "es-is",      "isis",    "is-is",     "clnp",      "l1",
     "l2",      "iih",       "lsp",     "snp",        "csnp",    "psnp",      "stp",       "ipx",
     "netbeui", "host",      "net",     "mask",       "port",    "portrange", "proto",     "protochain",
     "gateway", "less",      "greater", "len",        "byte",    "broadcast", "multicast", "mpls",
     "pppoed",  "pppoes",    "geneve",  "ifname",     "ifindex", "on",        "rset",      "ruleset",
     "rnr",     "rulenum",   "srnr",    "subrulenum", "action",  "reason",    "type",      "subtype",
     "dir",     "direction", "llc"});

bool is_keyword(std::string_view word) {
  const bool constant = word.starts_with("tcp-") || word.starts_with("icmp-") || word.starts_with("icmp6-");
  if (constant) return word.find('.') == std::string_view::npos;  // tcp-syn, icmp-echo, ...
  return std::find(kKeywords.begin(), kKeywords.end(), word) != kKeywords.end();
}

// Words behind these stand for something that is known without asking the network.
bool takes_local_names(std::string_view qualifier) {
  static constexpr std::array kLocal =
      std::to_array<std::string_view>({"port", "portrange", "proto", "protochain", "ifname", "on", "ruleset",
                                       "rset", "action", "reason", "type", "subtype", "dir", "direction"});
  return std::find(kLocal.begin(), kLocal.end(), qualifier) != kLocal.end();
}

bool all_of(std::string_view word, std::string_view letters) {
  return word.find_first_not_of(letters) == std::string_view::npos;
}

// Numbers, and IPv4, IPv6 and MAC addresses; not their whole grammar, but nothing that is a name.
bool is_number_or_address(std::string_view word) {
  static constexpr std::string_view kHexDigits = "0123456789abcdefABCDEF";
  const auto dots = std::count(word.begin(), word.end(), '.');
  if (all_of(word, "0123456789.")) return dots <= 3;
  if (word.find(':') != std::string_view::npos) return all_of(word, "0123456789abcdefABCDEF:.");
  if (word.starts_with("0x") || word.starts_with("0X")) return all_of(word.substr(2), kHexDigits);
  const auto separators = dots + std::count(word.begin(), word.end(), '-');
  const bool mac_groups = (separators == 5 && word.size() <= 17) || (separators == 2 && word.size() == 14) ||
                          (separators == 0 && word.size() == 12);
  return mac_groups && all_of(word, "0123456789abcdefABCDEF.-");
}

bool is_word_letter(char letter) {
  return is_letter(letter) || is_digit(letter) || letter == '_' || letter == '.' || letter == ':' ||
         letter == '-';
}

Reading refuse_name(std::string_view word) {
  if (const auto nearest = nearest_word(word, kKeywords);
      nearest && word.find('.') == std::string_view::npos) {
    return refuse(quoted(word) + " is neither a word of pcap-filter(7) nor an address: did you mean " +
                  quoted(*nearest) + "?");
  }
  return refuse(quoted(word) +
                " is neither a word of pcap-filter(7) nor an address; names of hosts are not looked up, "
                "expected addresses such as 192.0.2.1");
}

// Follows the qualifiers as libpcap does: an identifier takes its meaning from the last word such as `port`
// before it, also across `or`, until other qualifiers begin anew.
class WordChecker {
 public:
  Reading check(std::string_view word) {
    if (word == "vlan") {
      return refuse(
          "\"vlan\" cannot be matched, as frames are seen without their VLAN tags; to give each VLAN its own "
          "buckets put \"vlan\" in the key");
    }
    if (word == "inbound" || word == "outbound") {
      return refuse(quoted(word) + " cannot be matched, as a shape sees packets of its direction only");
    }
    if (word == "and" || word == "or" || word == "not") {
      connected_ = true;
      return {};
    }
    if (is_keyword(word)) {
      if (connected_) local_names_ = false;
      connected_ = false;
      if (takes_local_names(word)) local_names_ = true;
      return {};
    }
    connected_ = false;
    if (local_names_ || is_number_or_address(word)) return {};
    return refuse_name(word);
  }

  void connect() { connected_ = true; }

 private:
  bool connected_ = true;  // the next qualifier begins a new primitive
  bool local_names_ = false;
};

// Calls `look` for each word outside of brackets, in which stand protocol fields such as tcpflags, and `connect` for each
// sign in between. A name although a keyword, as in "ether proto \ip", is left out. Until `look` returns false.
template <typename Look, typename Connect>
void for_each_word(std::string_view expression, Look look, Connect connect) {
  int brackets = 0;
  for (std::size_t at = 0; at < expression.size();) {
    const char letter = expression[at];
    if (!is_word_letter(letter)) {
      if (letter == '[') ++brackets;
      if (letter == ']') --brackets;
      if (letter == '&' || letter == '|' || letter == '!' || letter == '(' || letter == ')') connect();
      ++at;
      continue;
    }
    const auto* end = std::find_if_not(expression.begin() + at, expression.end(), is_word_letter);
    const std::string_view word =
        expression.substr(at, static_cast<std::size_t>(end - (expression.begin() + at)));
    const bool escaped = at > 0 && expression[at - 1] == '\\';
    at += word.size();
    if (brackets > 0 || escaped) continue;
    if (!look(word)) return;
  }
}

}  // namespace

Reading check_match_words(std::string_view expression) {
  WordChecker checker;
  Reading reading;
  for_each_word(
      expression,
      [&](std::string_view word) {
        reading = checker.check(word);
        return reading.ok();
      },
      [&] { checker.connect(); });
  return reading;
}

// `link` is another word for `ether`, and alone `broadcast` and `multicast` mean those of Ethernet.
std::string_view ethernet_word(std::string_view expression) {
  std::string_view found, before;
  const auto look = [&](std::string_view word) {
    const bool of_ip = before == "ip" || before == "ip6";
    const bool cast = word == "broadcast" || word == "multicast";
    if (word == "ether" || word == "link" || (cast && !of_ip)) found = word;
    before = word;
    return found.empty();
  };
  for_each_word(expression, look, [&] { before = {}; });
  return found;
}

}  // namespace headgate
