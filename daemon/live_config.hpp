// The configuration in force, and how it is changed while headgated runs: what the files said when they were last read, what
// run time says over them, a trial that ends by itself, and what can be undone.
//
// Each change is all or nothing: where it is refused, what was in force stays. Each is in the log with who made it.
//
// Main thread.
#pragma once

#include <array>
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
  // Plans by name: their numbers change with the files.
  struct MemberBefore {
    MemberChange change;  // its plan does not count
    std::string plan;     // empty: none
  };
  struct TimedMember {
    MemberBefore before;
    Instant until;
  };
  struct Step {
    std::string what;
    StatePointer before = nullptr;         // null: a change of a member
    std::optional<MemberBefore> member{};  // then: what undoes it
    std::vector<TimedMember> timed{};      // and what was to end of that member
  };
  struct Trial {
    Instant until;
    std::string who;
    StatePointer before;
    std::string file;
  };

  std::string refusal(bool ends_trial = false) const;
  ChangeResult change(ConfigTexts texts, RunTimeValues values, const std::string& what,
                      const std::string& who);
  ConfigResult read_in_peace(const ConfigDocument& document);
  ChangeResult put(State next);
  void go_back_to(StatePointer before, const std::string& why);
  void undo_step(const Step& step, const std::string& who, Instant now);
  std::string why_unreadable(const SaveResult& saved);
  void remember(Step step);
  void log(const std::string& what, const std::string& who);
  void end_trial(const std::string& why);
  void end_values(Instant now);
  void end_members(Instant now);
  void attempt(std::string& trouble, const std::function<void()>& end);

  std::string plan_name(const MemberChange& change, PlanNumber plan) const;
  MemberResult put_back(const MemberBefore& before);
  std::vector<TimedMember> take_timed(const MemberChange& change);
  MemberResult note_unchanged(const MemberChange& change, MemberResult result, Instant now);

  ConfigHost& host_;
  const std::string path_;
  StatePointer state_;
  std::deque<Step> steps_;  // the last one last
  std::optional<Trial> trial_;
  std::vector<TimedMember> timed_members_;  // of one member the last one holds
  bool reading_ = false;
  Instant next_try_{};                   // of what could not be ended
  std::array<std::string, 3> troubles_;  // why a trial, values, members could not be ended; empty: they could
};

}  // namespace headgate
