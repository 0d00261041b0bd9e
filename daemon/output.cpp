#include "output.hpp"

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include "visible_text.hpp"

namespace headgate {

void print(std::string_view text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written) return;
  if (errno == EPIPE) throw OutputClosed{};
  throw std::system_error(errno, std::generic_category(), "cannot write to standard output");
}

void print_error(std::string_view text) {
  const std::string line = visible_lines(text) + "\n";
  std::fputs(line.c_str(), stderr);
}

}  // namespace headgate
