#include "config/match_expression.hpp"

#include <pcap/pcap.h>

#include <string_view>
#include <utility>

#include "config/match_vocabulary.hpp"
#include "config/reading.hpp"

namespace headgate {
namespace {

// libpcap's time to compile grows faster than the square of an expression's length, optimised faster than the
// cube: a reload must not stand still for it. 2 KiB hold more than a hundred hosts (0.1 s) and take about a
// second at worst.
constexpr std::size_t kMaxExpression = 2048;

// Up to this many instructions optimising takes less than 0.1 s. Beyond, the code runs as it is, which is
// only slower.
constexpr unsigned kMaxOptimised = 3'000;

struct CloseHandle {
  void operator()(pcap_t* handle) const { pcap_close(handle); }
};
using Handle = std::unique_ptr<pcap_t, CloseHandle>;

class Program {
 public:
  Program() = default;
  ~Program() { pcap_freecode(&code_); }
  Program(Program&& other) noexcept : code_(std::exchange(other.code_, {})) {}
  Program& operator=(Program&& other) noexcept {
    std::swap(code_, other.code_);
    return *this;
  }

  // False: `error` says why not.
  bool compile(const std::string& expression, bool optimise, std::string& error) {
    const Handle handle(pcap_open_dead(DLT_EN10MB, 65'535));
    if (!handle) {
      error = "libpcap cannot start";
      return false;
    }
    if (pcap_compile(handle.get(), &code_, expression.c_str(), optimise ? 1 : 0, PCAP_NETMASK_UNKNOWN) == 0)
      return true;
    error = pcap_geterr(handle.get());
    return false;
  }

  unsigned size() const { return code_.bf_len; }

  bool run(std::span<const std::byte> frame) const {
    const auto length = static_cast<unsigned>(frame.size());
    return bpf_filter(code_.bf_insns, reinterpret_cast<const unsigned char*>(frame.data()), length, length) !=
           0;
  }

 private:
  bpf_program code_{};
};

class CompiledExpression : public PacketMatcher {
 public:
  explicit CompiledExpression(Program program) : program_(std::move(program)) {}
  bool matches(std::span<const std::byte> frame) const override { return program_.run(frame); }

 private:
  Program program_;  // read only from here on, so threads share it
};

// libpcap's words, made plain.
std::string explain(const std::string& expression, std::string reason) {
  if (reason.find("rejects all packets") != std::string::npos)
    return quoted(expression) + " can match no packet";
  static constexpr std::string_view kPrefix = "can't parse filter expression: ";
  if (reason.starts_with(kPrefix)) reason.erase(0, kPrefix.size());
  return quoted(expression) + ": " + reason + ", expected an expression of pcap-filter(7)";
}

}  // namespace

std::unique_ptr<PacketMatcher> compile_match(const std::string& expression, std::string& error) {
  if (expression.size() > kMaxExpression) {
    error = "the expression has " + std::to_string(expression.size()) + " characters, expected at most " +
            std::to_string(kMaxExpression) + "; match networks, or spread it over several classes";
    return nullptr;
  }
  if (expression.find('\0') != std::string::npos) {
    error = quoted(expression) + " holds a NUL character";
    return nullptr;
  }
  if (Reading words = check_match_words(expression); !words.ok()) {
    error = std::move(words.error);
    return nullptr;
  }
  Program program;
  if (!program.compile(expression, false, error)) {
    error = explain(expression, std::move(error));
    return nullptr;
  }
  if (program.size() <= kMaxOptimised) {
    Program optimised;
    if (!optimised.compile(expression, true, error)) {
      error = explain(expression, std::move(error));
      return nullptr;
    }
    program = std::move(optimised);
  }
  return std::make_unique<CompiledExpression>(std::move(program));
}

}  // namespace headgate
