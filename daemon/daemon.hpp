// The one place where parts are made, joined, started and stopped, and the main thread's loop: signals,
// control socket, link changes, and a look at the threads once a second.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "budgets.hpp"
#include "config/command_line.hpp"
#include "config/compiled_matches.hpp"
#include "control/control_handler.hpp"
#include "linux/file_descriptor.hpp"
#include "linux/netlink.hpp"
#include "linux/shared_divert.hpp"
#include "live_config.hpp"
#include "member_changes.hpp"
#include "patterns.hpp"
#include "service/control_socket.hpp"
#include "service/service_manager.hpp"
#include "shape.hpp"
#include "vocabulary/config.hpp"
#include "worker_set.hpp"

namespace headgate {

class Daemon : public DaemonControl, private ConfigHost {
 public:
  // `command_line` says which file reload() reads again, if any, and what holds over it. `texts` are those that `config` was
  // read from; none: it was said on the command line.
  // Throws a sentence for the administrator when a shape cannot be set up; then nothing of ours is left.
  // `matches` has the compiled expressions of `config`; a reload compiles there. `memory`: where the shapes' large tables
  // come from. Both outlive this.
  Daemon(Config config, ConfigTexts texts, CommandLine command_line, CompiledMatches& matches,
         MemorySource& memory);
  ~Daemon() override;

  // Until SIGTERM or SIGINT, then stops cleanly. Both signals and SIGHUP must be blocked in all threads
  // before.
  void run();

  DaemonStatus status() override;
  std::optional<std::vector<FlowStatistics>> flows(const FlowsQuery& query) override;
  ExplainResult explain(const ExplainQuery& query) override;
  CaptureResult capture(const CaptureQuery& query) override;
  std::vector<const ShapeConfig*> shapes() const override;

  ChangeResult reload(const std::string& who) override;
  ChangeResult set(const SetRequest& request, const std::string& who) override;
  ChangeResult limit(const LimitRequest& request, const std::string& who) override;
  ChangeResult unlimit(const LimitRequest& request, const std::string& who) override;
  ChangeResult try_text(const TryRequest& request, const std::string& who) override;
  ChangeResult confirm(const std::string& who) override;
  ChangeResult undo(const std::string& who) override;
  MemberResult change_member(const MemberChange& change, const std::string& who) override;
  DiffResult diff() override;
  SaveResult save() override;

 private:
  // ConfigHost
  ConfigResult read(const ConfigDocument& document) override;
  std::vector<std::string> apply(const Config& config) override;
  bool has_interface(const std::string& name) override;
  MemberResult put_member(const MemberChange& change) override;
  void log(const std::string& line) override;

  using Shapes = std::vector<std::unique_ptr<Shape>>;

  void wait_for_events();
  void handle_signal();
  void handle_links();
  void end_unwanted_instances();
  void start_missing_instances();
  void look_at_links(const std::function<void()>& look);
  void tick();
  bool gets_on() const;
  void feed_watchdog();
  void feed_meanwhile();
  std::string status_line() const;
  Shape* find(const std::string& interface, Direction direction) const;
  Shape* find(const ShapeConfig& config) const;
  Shape* find_by_other_name(const ShapeConfig& config, const std::vector<ShapeConfig>& all);
  std::vector<Shape*> find_all(const std::vector<ShapeConfig>& configs);
  std::unique_ptr<Shape> make_shape(const ShapeConfig& config, std::size_t shapes);
  void stop(std::span<const std::unique_ptr<Shape>> shapes);
  void end(Shapes shapes);

  using Messages = std::vector<std::string>;
  bool may_change(const PeerCredentials& peer) const;
  Messages put_in_force(Config next);
  static std::vector<Shape*> prepare(const std::vector<ShapeConfig>& configs,
                                     const std::vector<Shape*>& present, Messages& messages);
  Shapes start_new(const std::vector<ShapeConfig>& configs, const std::vector<Shape*>& present);
  void note_members_in_force();
  std::vector<Shape*> shapes_of(const MemberChange& change) const;
  void repeat_member_changes(std::size_t first_shape);
  void repeat_member_changes(const ShapeConfig& pattern, Shape& instance);
  void clear_the_way(const std::vector<ShapeConfig>& configs, const std::vector<Shape*>& present);
  void put_in_force(const std::vector<Shape*>& changed, Messages& messages);
  void end_all_but(const std::vector<Shape*>& present, Messages& messages);

  Config config_;
  const CommandLine command_line_;
  CompiledMatches& matches_;
  const Instant started_;
  bool stopping_ = false;
  bool feeding_ = false;  // in run(): a service manager may have a watchdog
  Instant fed_{};         // or not, for want of progress

  LinkMonitor link_monitor_;  // before the shapes, so that no change of their devices is missed
  Netlink netlink_;
  MemorySource& memory_;
  SharedDivert divert_;  // of workers and shapes
  WorkerSet workers_;    // before the shapes that they serve
  Shapes shapes_;        // whole ones at any time at which a worker is waited for
  Patterns patterns_;
  MemberChanges member_changes_;
  Budgets budgets_;
  LiveConfig live_;
  std::optional<gid_t> operators_;  // of [daemon] operators, where there is such a group
  bool look_again_ = false;         // for instances, at the next tick
  ServiceManager service_manager_;
  std::optional<ControlSocket> control_socket_;
  FileDescriptor signals_;
  FileDescriptor ticker_;
  FileDescriptor events_;
};

}  // namespace headgate
