#include "output.hpp"

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace headgate {

void print(std::string_view text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written) return;
  if (errno == EPIPE) throw OutputClosed{};
  throw std::system_error(errno, std::generic_category(), "cannot write to standard output");
}

}  // namespace headgate
