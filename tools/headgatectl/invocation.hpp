// The command line of headgatectl.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/clock.hpp"
#include "vocabulary/config.hpp"
#include "vocabulary/packet_event.hpp"

namespace headgate {

struct Invocation;

// A row of the table of commands: all that reading the command line and writing help need to know of one.
struct Subcommand {
  std::string_view name;
  std::string_view argument;  // what it is called in usage; empty: takes none
  bool argument_required = false;
  std::string_view further;    // what may follow it, in usage; the command itself says what is wrong with it
  std::size_t most_words = 0;  // of that
  std::array<std::string_view, 5> options;  // names of its own ones, beside the general; empty: no more
  std::string_view needed_option;           // of those; empty: none
  std::string_view needed;                  // what is said when it or its value is missing
  std::string_view summary;                 // one line
  std::string_view details;                 // a paragraph, for help of this command
  std::array<std::string_view, 3> examples;
  int (*run)(const Invocation& invocation);  // returns the exit code

  bool has_own(std::string_view option) const;
};

struct Invocation {
  const Subcommand* command = nullptr;  // null: help or version is wanted, of no command
  bool help = false;
  bool version = false;  // of headgatectl alone
  bool json = false;
  std::string control = kDefaultControlPath;
  std::string argument;
  std::vector<std::string> further;  // the words behind it
  std::size_t limit = 20;
  bool bytes = false;
  bool all = false;
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

// Throws UsageError, which names the nearest one, where there is none of that name.
const Subcommand& find_subcommand(std::string_view name, std::span<const Subcommand> subcommands);

}  // namespace headgate
