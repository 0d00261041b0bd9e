// Files with random damage: whatever they hold, they are read or refused, with a place, and nothing breaks.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "config/config_file.hpp"

namespace headgate {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> seeds() {
  std::vector<std::string> texts = {R"([daemon]
divert = "auto"
mark = 0x68670000
memory = "64mb"
max_flows = 65536
idle = "60s"
control = "/run/headgate/control.sock"

[[shape]]
interface = "eth0"
direction = "ingress"
forward_to = "eth1"
segmentation = "whole"
capture = "ring"
precision = "high"
workers = 2
overhead = -14
mpu = 64
control_limit = ["1000pps", "1mbit"]

  [[shape.class]]
  name   = "dns"
  match  = "udp port 53 or host 10.0.0.1"
  dscp   = "ef"
  bypass = true

  [[shape.class]]
  name  = "clients"
  match = "net 10.0.0.0/8 and tcp[tcpflags] & tcp-syn != 0"
  dscp  = ["cs5", "af41", "46"]
  src   = ["10.0.0.0/8", "2001:db8::/32"]
  dst   = "10.0.0.1"
  key   = ["vlan", "dst/24,64"]
  rate  = ["1000pps", "1.5mbit"]
  burst = ["10p", "15kb"]
  queue = ["100p", "64kb", "50ms"]
)",
                                    R"([[shape]]
interface = "eth0"

  [[shape.class]]
  name   = "backup"
  mark   = ["0x10/0xff", "7"]
  cgroup = ["system.slice/backup.service", "/user.slice"]
  rate   = "20mbit"
)",
                                    R"([[shape]]
interface = "eth0"
rate = "100mbit"

  [[shape.group]]
  name     = "people"

  [[shape.group]]
  name     = "guests"
  parent   = "people"
  ceiling  = "20mbit"
  priority = 4
  weight   = 2

  [[shape.class]]
  name      = "voice"
  match     = "udp"
  guarantee = "2mbit"
  priority  = 0

  [[shape.class]]
  name     = "guests-of-guests"
  group    = "guests"
  weight   = 3
  ceiling  = "10mbit"
  fair     = true
  aqm      = "codel"
  target   = "5ms"
  interval = "100ms"
  ecn      = false

  [[shape.class]]
  name     = "strict"
  action   = "police"
  exceed   = "dscp:cs1"
  limiter  = "sliding-window"
  limit    = "10mb"
  window   = "1h"
)",
                                    R"([[shape]]
interface = "eth0"

  [[shape.class]]
  name = "customers"
  key  = ["vlan", "dst/32,56"]
  rate = "1mbit"

  [[shape.class.plan]]
  name    = "gold"
  rate    = ["10p/min", "100mbit"]
  burst   = ["10p", "15kb"]
  queue   = "50ms"
  members = ["10.0.0.5", "2001:db8::/56"]

  [[shape.class.plan]]
  name         = "silver"
  rate         = "20mbit"
  members_file = "/nonexistent/headgate/silver"
)"};
  for (const fs::directory_entry& entry : fs::directory_iterator(BAD_CONFIGURATIONS)) {
    if (entry.path().extension() != ".toml" || entry.file_size() > 2'000) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return texts;
}

class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : random_(seed) {}

  std::size_t below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
  }

  void mutate(std::string& text, const std::string& other) {
    static constexpr std::string_view kPieces[] = {
        "\"",  "[",       "]",    "{",  "}",   "=",    ".",
        "\n",  ",",       "#",    "'",  "[[",  "]]",   "\"\"\"",
        "\\",  "\\u0000", "-1",   "0x", "1e9", "/",    "99999999999999999999",
        "pps", "gbit",    "\xff", "\0", "(",   " or ", "ünï"};
    const std::size_t at = below(text.size() + 1);
    switch (below(5)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text.insert(at, kPieces[below(std::size(kPieces))]);
        break;
      case 2:
        text.erase(at, below(12));
        break;
      case 3:
        text.insert(at, text.substr(below(text.size() + 1), below(40)));
        break;
      default:
        text.insert(at, other.substr(below(other.size() + 1), below(40)));
        break;
    }
  }

 private:
  std::mt19937 random_;
};

TEST(DamagedConfiguration, IsReadOrRefusedWithAPlace) {
  const std::vector<std::string> texts = seeds();
  Mutator mutator(20240229);
  std::size_t refused = 0;
  std::size_t read = 0;
  for (int round = 0; round < 20'000; ++round) {
    const bool light = round % 2 == 0;
    std::string text = light ? texts.front() : texts[mutator.below(texts.size())];
    for (std::size_t i = light ? 1 : mutator.below(4) + 1; i > 0; --i)
      mutator.mutate(text, texts[mutator.below(texts.size())]);
    const ConfigResult result = parse_config(text, "damaged.toml");
    (result.ok() ? read : refused) += 1;
    std::size_t line = 1;
    for (const ConfigError& error : result.errors) {
      ASSERT_GE(error.line, line) << "not in file order:\n" << text;
      ASSERT_GE(error.column, 1U) << text;
      ASSERT_FALSE(error.message.empty()) << text;
      line = error.line;
    }
  }
  EXPECT_GT(refused, 10'000U);
  EXPECT_GT(read, 500U) << "the damage leaves nothing to read";
}

}  // namespace
}  // namespace headgate
