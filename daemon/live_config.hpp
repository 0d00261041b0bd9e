// The configuration in force, and how it is changed while headgated runs: what the files said when they were last read, what
// run time says over them, a trial that ends by itself, and what can be undone.
//
// Each change is all or nothing: where it is refused, what was in force stays. Each is in the log with who made it.
//
// Main thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config_document.hpp"
#include "control/live_requests.hpp"
#include "headgate/clock.hpp"
#include "run_time_values.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// What LiveConfig needs of the daemon.
class ConfigHost {
 public:
  virtual ~ConfigHost() = default;
  virtual ConfigResult read(const ConfigDocument& document) = 0;
  // Puts a configuration in force, or throws a sentence for the administrator and changes nothing. Returns what changed.
  virtual std::vector<std::string> apply(const Config& config) = 0;
  virtual bool has_interface(const std::string& name) = 0;
  virtual MemberResult put_member(const MemberChange& change) = 0;
  virtual void log(const std::string& line) = 0;
};

class LiveConfig {
 public:
  static constexpr std::size_t kMostUndone = 10;
  static constexpr std::size_t kMostTimedMembers = 4096;

  // `path`: the file; empty: headgated was configured on its command line, and nothing can be changed. `texts` gave `config`,
  // which is in force. `host` outlives this.
  LiveConfig(ConfigHost& host, std::string path, ConfigTexts texts, Config config);

  ChangeResult reload(const std::string& who);
  ChangeResult set(const SetRequest& request, const std::string& who, Instant now);
  ChangeResult limit(const LimitRequest& request, const std::string& who, Instant now);
  ChangeResult unlimit(const LimitRequest& request, const std::string& who);
  ChangeResult try_text(const TryRequest& request, const std::string& who, Instant now);
  ChangeResult confirm(const std::string& who);
  ChangeResult undo(const std::string& who, Instant now);
  MemberResult change_member(const MemberChange& change, const std::string& who, Instant now);

  // Of what the files say now, without what run time says.
  DiffResult diff(Instant now);
  // The drop-in that says what run time says.
  SaveResult save();

  // Ends what is over. About once a second.
  void tick(Instant now);

 private:
  struct State {
    std::shared_ptr<const ConfigTexts> texts;
    RunTimeValues values;
    Config config;  // as read from both
  };
  using StatePointer = std::shared_ptr<const State>;
  struct Step {
    std::string what;
    StatePointer before;               // null: a change of a member
    std::optional<MemberChange> back;  // then: what undoes it
  };
  struct Trial {
    Instant until;
    std::string who;
    StatePointer before;
    std::string file;
  };
  struct TimedMember {
    MemberChange back;
    Instant until;
  };

  std::string refusal(bool ends_trial = false) const;
  ChangeResult change(ConfigTexts texts, RunTimeValues values, const std::string& what,
                      const std::string& who);
  ConfigResult read_in_peace(const ConfigDocument& document);
  ChangeResult put(State next);
  void go_back_to(StatePointer before, const std::string& why);
  void undo_step(const Step& step, const std::string& who);
  void remember(Step step);
  void log(const std::string& what, const std::string& who);
  void end_trial(const std::string& why);
  void end_values(Instant now);
  void end_members(Instant now);

  ConfigHost& host_;
  const std::string path_;
  StatePointer state_;
  std::deque<Step> steps_;  // the last one last
  std::optional<Trial> trial_;
  std::vector<TimedMember> timed_members_;
  bool reading_ = false;
  std::string trouble_;  // why what is over could not be ended; empty: it could
};

}  // namespace headgate
