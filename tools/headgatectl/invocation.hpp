// The command line of headgatectl.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/clock.hpp"
#include "headgate/config.hpp"
#include "headgate/packet_event.hpp"

namespace headgate {

struct Invocation;

struct Subcommand {
  std::string_view name;
  std::string_view argument;  // what it is called in usage; empty: takes none
  bool argument_required;
  std::string_view
      options;  // its own long options, separated by spaces; --control, --json, --help are for all
  int (*run)(const Invocation& invocation);  // returns the exit code
};

struct Invocation {
  const Subcommand* command = nullptr;  // null: only help or version is wanted
  bool help = false;
  bool version = false;  // of headgatectl alone
  bool json = false;
  std::string control = kDefaultControlPath;
  std::string argument;
  std::size_t limit = 20;
  bool bytes = false;
  std::optional<Duration> watch;  // time from one screen to the next
  std::string file;               // for a trace; "-": standard output
  PacketEventSet events{};        // none: all of them
  std::optional<std::uint64_t> count;
};

// A sentence for the user. Exit code 1.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// `arguments` without the program's name. No command means the first of the table.
Invocation parse_invocation(const std::vector<std::string>& arguments,
                            std::span<const Subcommand> subcommands);

}  // namespace headgate
