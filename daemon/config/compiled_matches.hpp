// The match expressions in use, each compiled once.
//
// An expression stays compiled as long as anything uses it: the classifiers of the shapes share the programs. A reload
// compiles only what is new, and all of that before anything is changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "config/match_expression.hpp"
#include "headgate/clock.hpp"

namespace headgate {

class CompiledMatches {
 public:
  using Meanwhile = std::function<void()>;
  static constexpr Duration kMeanwhile = std::chrono::milliseconds(100);

  // Compiles those that are not yet, in as many threads as there are processors, but at least two, so that one long
  // expression does not hold up all others. Calls `meanwhile` about every kMeanwhile, by this thread. Returns
  // when all are compiled.
  void compile_all(const std::set<std::string>& expressions, const Meanwhile& meanwhile = {});

  // Compiles it first where that has not been done. Any thread.
  CompiledMatch get(const std::string& expression);

  // Forgets those that nothing but this uses.
  void drop_unused();

  std::size_t size() const;
  std::uint64_t compilations() const;  // since the start

 private:
  class Batch;

  void keep(const std::string& expression, CompiledMatch compiled);

  mutable std::mutex mutex_;
  std::map<std::string, CompiledMatch> compiled_;
  std::uint64_t compilations_ = 0;
};

}  // namespace headgate
