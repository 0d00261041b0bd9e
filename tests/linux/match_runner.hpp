// Runs translated matches in the kernel, over many packets at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "linux/file_descriptor.hpp"
#include "linux/match_input.h"
#include "linux/match_translator.hpp"

namespace headgate::test {

// Loads a program for BPF_PROG_TYPE_SCHED_CLS. Throws std::runtime_error with the verifier's words.
struct LoadedProgram {
  FileDescriptor descriptor;
  std::string statistics;  // the verifier's
};
LoadedProgram load_program(std::span<const KernelInstruction> code);

class MatchRunner {
 public:
  static constexpr std::size_t kBatch = 4096;  // packets

  explicit MatchRunner(const TranslatedMatches& matches);
  ~MatchRunner();
  MatchRunner(const MatchRunner&) = delete;
  MatchRunner& operator=(const MatchRunner&) = delete;

  std::span<match_input> inputs() { return {inputs_, kBatch}; }
  // Writes the verdicts of the first `count`. Returns nanoseconds for each.
  std::uint32_t run(std::size_t count);
  const std::string& statistics() const { return program_.statistics; }

 private:
  FileDescriptor position_map_;
  FileDescriptor input_map_;
  std::uint32_t* position_ = nullptr;
  match_input* inputs_ = nullptr;
  LoadedProgram program_;
};

// A trie as NetworkTries wants it.
class NetworkTrie {
 public:
  struct Network {
    std::array<std::uint8_t, 16> address{};
    std::uint32_t bits = 0;
  };
  NetworkTrie(const std::vector<Network>& networks, std::size_t address_bytes);

  int descriptor() const { return map_.get(); }

 private:
  FileDescriptor map_;
};

// A whole_program() with what belongs to it.
class ProgramChain {
 public:
  explicit ProgramChain(const TranslatedMatches& matches);

  void describe_to_all_processors(const match_input& input);
  void put_program_behind(int result);  // which it returns
  int run();                            // what the last program returns
  std::uint32_t verdict() const;        // of the processor that has run it

 private:
  FileDescriptor input_map_;
  FileDescriptor programs_;
  LoadedProgram program_;
};

}  // namespace headgate::test
