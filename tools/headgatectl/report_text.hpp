// The text of a bug report: of the host, the configuration, the daemon that runs, and its log.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace headgate {

struct ReportSection {
  std::string title;
  std::string text;  // ends with a line end
};

struct Report {
  std::vector<ReportSection> sections;
  std::size_t addresses_replaced = 0;  // different ones
  bool daemon_answered = false;

  std::string text() const;
};

// Of the daemon behind the socket `control`, or without it: the report says so then. `addresses`: as they are, no placeholders
// (address_placeholders.hpp) in their place. Waits for the daemon as ask_daemon() does.
Report make_report(const std::string& control, bool addresses);

}  // namespace headgate
