// What headgate-exporter answers to which path.
//
// Called by the threads of the web server.
#pragma once

#include <atomic>
#include <cstdint>

#include "daemon_view.hpp"
#include "exporter_options.hpp"
#include "web_server.hpp"

namespace headgate {

class Exporter {
 public:
  // `refused`: how many connections the web server has refused.
  Exporter(const ExporterOptions& options, const std::atomic<std::uint64_t>& refused);

  WebResponse answer(const WebRequest& request);

 private:
  // A page of somebody else's can make a browser ask here, by a name of its own that leads to 127.0.0.1. Where only this host
  // can connect, such names are refused.
  bool is_meant(const WebRequest& request) const;

  WebResponse metrics(const WebRequest& request);
  WebResponse show();
  WebResponse flows(const WebRequest& request);
  WebResponse health();

  const bool only_this_host_;
  const bool serves_flows_;
  const std::atomic<std::uint64_t>& refused_;
  DaemonView daemon_;
};

}  // namespace headgate
