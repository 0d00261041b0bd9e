// The command line of headgate-exporter.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "listen_address.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

struct ExporterOptions {
  ListenAddress listen = parse_listen_address(kDefaultListenAddress);
  std::string control = kDefaultControlPath;
  bool flows = false;  // serve the addresses of flows, and what classes match, too
  bool help = false;
  bool version = false;
};

// A sentence for the user. Exit code 1.
struct ExporterUsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// `arguments` without the program's name. Throws ExporterUsageError.
ExporterOptions parse_exporter_options(const std::vector<std::string>& arguments);

std::string exporter_help();

}  // namespace headgate
