// The one place where parts are made, joined, started and stopped, and the main thread's loop: signals,
// control socket, link changes, and a look at the threads once a second.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/command_line.hpp"
#include "control/control_handler.hpp"
#include "headgate/config.hpp"
#include "linux/file_descriptor.hpp"
#include "linux/netlink.hpp"
#include "service/control_socket.hpp"
#include "service/service_manager.hpp"
#include "shape.hpp"

namespace headgate {

class Daemon : public DaemonControl {
 public:
  // `command_line` says which file reload() reads again, if any, and what holds over it.
  // Throws a sentence for the administrator when a shape cannot be set up; then nothing of ours is left.
  Daemon(Config config, CommandLine command_line);
  ~Daemon() override;

  // Until SIGTERM or SIGINT, then stops cleanly. Both signals and SIGHUP must be blocked in all threads
  // before.
  void run();

  DaemonStatus status() override;
  std::optional<std::vector<FlowStatistics>> flows(const FlowsQuery& query) override;
  ReloadResult reload() override;
  CaptureResult capture(const CaptureQuery& query) override;

 private:
  using Shapes = std::vector<std::unique_ptr<Shape>>;

  void wait_for_events();
  void handle_signal();
  void handle_links();
  void tick();
  std::string status_line() const;
  Shape* find(const ShapeConfig& config);
  Shape* find(const std::string& interface, Direction direction) const;
  std::unique_ptr<Shape> make_shape(const ShapeConfig& config) const;
  std::vector<std::string> apply(const Config& next);

  Config config_;
  const CommandLine command_line_;
  const Instant started_;
  bool stopping_ = false;

  LinkMonitor link_monitor_;  // before the shapes, so that no change of their devices is missed
  Netlink netlink_;
  Shapes shapes_;
  ServiceManager service_manager_;
  std::optional<ControlSocket> control_socket_;
  FileDescriptor signals_;
  FileDescriptor ticker_;
  FileDescriptor events_;
};

}  // namespace headgate
