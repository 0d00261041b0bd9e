#include "live_config.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

#include "config/file_text.hpp"
#include "config/quantity.hpp"
#include "config/quantity_text.hpp"
#include "config/reading.hpp"
#include "control/config_difference.hpp"

namespace headgate {
namespace {

constexpr char kSavedDropIn[] = "/90-saved.toml";

// What cannot be ended is tried again after so long.
constexpr Duration kRetryTime = std::chrono::seconds(10);
enum Ending : std::size_t { kTrial, kValues, kMembers };

ChangeResult refused(std::string why) {
  return {.ok = false, .messages = {std::move(why)}};
}

std::string for_so_long(const std::optional<Duration>& time) {
  return time ? " for " + to_text(*time) : "";
}

std::optional<Instant> end_of(const std::optional<Duration>& time, Instant now) {
  return time ? std::optional(now + *time) : std::nullopt;
}

TableName table_of(const LimitRequest& request) {
  return {.interface = request.interface,
          .direction = request.direction,
          .group = {},
          .class_name = {},
          .plan = {}};
}

// A bit rate alone is the link's: what it limits takes turns, and its queues stay short. Else the rate is that of a bucket.
std::string shape_text(const LimitRequest& request) {
  std::string text = "interface = " + toml_text(request.interface) + "\ndirection = \"" +
                     std::string(to_text(request.direction)) + "\"\n";
  Rate rate;
  const bool is_link_rate =
      request.key.empty() && read_rate(request.rate, rate).ok() && rate.bits && !rate.packets;
  if (is_link_rate) return text + "rate = " + toml_text(request.rate) + "\n";
  text += "[[class]]\nname = \"limit\"\nrate = " + toml_text(request.rate) + "\n";
  return request.key.empty() ? text : text + "key = " + toml_text(request.key) + "\n";
}

std::string seconds_left(Instant until, Instant now) {
  const auto left = std::chrono::duration_cast<std::chrono::seconds>(until - now);
  return std::to_string(std::max<std::int64_t>(left.count(), 0)) + " s";
}

bool same_member(const MemberChange& a, const MemberChange& b) {
  return a.interface == b.interface && a.direction == b.direction && a.class_name == b.class_name &&
         a.member == b.member;
}

}  // namespace

LiveConfig::LiveConfig(ConfigHost& host, std::string path, ConfigTexts texts, Config config)
    : host_(host),
      path_(std::move(path)),
      state_(
          std::make_shared<const State>(State{.texts = std::make_shared<const ConfigTexts>(std::move(texts)),
                                              .values = {},
                                              .config = std::move(config)})) {}

// Why nothing can be changed now; empty: it can.
std::string LiveConfig::refusal(bool ends_trial) const {
  if (path_.empty()) {
    return "headgated was configured on its command line and cannot be changed while it runs: start it "
           "with a file, headgated --config FILE";
  }
  if (!trial_ || ends_trial) return {};
  return "a trial of " + trial_->file + " by " + trial_->who +
         " is under way: keep it with headgatectl confirm, or end it with headgatectl undo";
}

void LiveConfig::log(const std::string& what, const std::string& who) {
  host_.log(who + ": " + what);
}

void LiveConfig::remember(Step step) {
  steps_.push_back(std::move(step));
  if (steps_.size() > kMostUndone) steps_.pop_front();
}

// Reading may take its time, and the host goes on with its ticks meanwhile.
ConfigResult LiveConfig::read_in_peace(const ConfigDocument& document) {
  struct ReadingNow {
    explicit ReadingNow(bool& flag) : flag_(flag) { flag_ = true; }
    ~ReadingNow() { flag_ = false; }
    bool& flag_;
  } const reading(reading_);
  return host_.read(document);
}

// In force, or refused as it is.
ChangeResult LiveConfig::put(State next) {
  ConfigDocument document(*next.texts);
  next.values.apply_to(document);
  ConfigResult read = read_in_peace(document);
  ChangeResult result;
  for (const ConfigWarning& warning : read.warnings)
    result.messages.push_back("warning: " + warning.to_string());
  if (!read.ok()) {
    result.messages.clear();
    for (const ConfigError& error : read.errors) result.messages.push_back(error.to_string());
    return result;
  }
  next.config = std::move(read.config);
  try {
    for (std::string& message : host_.apply(next.config)) result.messages.push_back(std::move(message));
  } catch (const std::exception& error) {
    result.messages.emplace_back(error.what());
    return result;
  }
  state_ = std::make_shared<const State>(std::move(next));
  result.ok = true;
  return result;
}

ChangeResult LiveConfig::change(ConfigTexts texts, RunTimeValues values, const std::string& what,
                                const std::string& who) {
  const StatePointer before = state_;
  const bool same_texts = texts == *before->texts;
  ChangeResult result =
      put({.texts = same_texts ? before->texts : std::make_shared<const ConfigTexts>(std::move(texts)),
           .values = std::move(values),
           .config = {}});
  if (!result.ok) return result;
  log(what, who);
  const bool changed_nothing = same_texts && state_->config == before->config;
  if (!changed_nothing) remember({.what = what, .before = before});
  return result;
}

ChangeResult LiveConfig::reload(const std::string& who) {
  if (path_.empty()) return refused("nothing to reload: headgated was configured on its command line");
  if (std::string why = refusal(); !why.empty()) return refused(std::move(why));
  ConfigTextsResult read = read_config_texts(path_);
  if (!read.ok()) {
    ChangeResult result;
    for (const ConfigError& error : read.errors) result.messages.push_back(error.to_string());
    return result;
  }
  RunTimeValues values = state_->values;
  std::vector<std::string> given_up;
  values.put_over(ConfigDocument(read.texts), given_up);
  ChangeResult result = change(std::move(read.texts), std::move(values), "reload", who);
  if (result.ok) result.messages.insert(result.messages.end(), given_up.begin(), given_up.end());
  return result;
}

ChangeResult LiveConfig::set(const SetRequest& request, const std::string& who, Instant now) {
  if (std::string why = refusal(); !why.empty()) return refused(std::move(why));
  const ConfigDocument files(*state_->texts);
  RunTimeValues values = state_->values;
  std::string what = "set " + to_text(request.table);
  for (const auto& [key, value] : request.values) {
    try {
      values.say(files, request.table, key, value, {.who = who, .until = end_of(request.time, now)});
    } catch (const std::exception& error) {
      return refused(error.what());
    }
    what += " " + key + "=" + value;
  }
  return change(*state_->texts, std::move(values), what + for_so_long(request.time), who);
}

ChangeResult LiveConfig::limit(const LimitRequest& request, const std::string& who, Instant now) {
  if (std::string why = refusal(); !why.empty()) return refused(std::move(why));
  const TableName table = table_of(request);
  const ConfigDocument files(*state_->texts);
  if (files.has(table)) {
    return refused(to_text(table) + " is shaped by " + files.file_of(table) +
                   " already: change that with headgatectl set, or there");
  }
  if (!host_.has_interface(request.interface))
    return refused("there is no interface " + quoted(request.interface) + "; ip link shows those there are");
  RunTimeValues values = state_->values;
  if (!request.time) values.forget_shape(table);
  try {
    values.say(files, table, "", shape_text(request), {.who = who, .until = end_of(request.time, now)});
  } catch (const std::exception& error) {
    return refused(error.what());
  }
  const std::string key = request.key.empty() ? "" : " by " + request.key;
  return change(*state_->texts, std::move(values),
                "limit " + to_text(table) + " to " + request.rate + key + for_so_long(request.time), who);
}

ChangeResult LiveConfig::unlimit(const LimitRequest& request, const std::string& who) {
  if (std::string why = refusal(); !why.empty()) return refused(std::move(why));
  const TableName table = table_of(request);
  RunTimeValues values = state_->values;
  if (values.forget_shape(table))
    return change(*state_->texts, std::move(values), "unlimit " + to_text(table), who);
  const std::string file = ConfigDocument(*state_->texts).file_of(table);
  return refused(to_text(table) + (file.empty()
                                       ? " has no limit"
                                       : " is shaped by " + file + ": take it out of there and reload"));
}

ChangeResult LiveConfig::try_text(const TryRequest& request, const std::string& who, Instant now) {
  if (std::string why = refusal(); !why.empty()) return refused(std::move(why));
  const StatePointer before = state_;
  ConfigTexts texts = *before->texts;
  texts.front() = {request.file, request.text};
  RunTimeValues values = before->values;
  std::vector<std::string> given_up;
  values.put_over(ConfigDocument(texts), given_up);
  ChangeResult result =
      change(std::move(texts), std::move(values), "try " + request.file + for_so_long(request.time), who);
  if (!result.ok) return result;
  trial_ = Trial{.until = now + request.time, .who = who, .before = before, .file = request.file};
  result.messages.insert(result.messages.end(), given_up.begin(), given_up.end());
  return result;
}

ChangeResult LiveConfig::confirm(const std::string& who) {
  if (!trial_) return refused("no trial is under way");
  log("confirm " + trial_->file, who);
  ChangeResult result{
      .ok = true,
      .messages = {trial_->file + " stays in force until a reload or a restart: write it to " + path_ +
                   " to keep it"}};
  trial_.reset();
  return result;
}

// What was in force is put in force as it was read then, so that no file that has gone meanwhile is in the way.
void LiveConfig::go_back_to(StatePointer before, const std::string& why) {
  host_.apply(before->config);
  state_ = std::move(before);
  host_.log(why);
}

ChangeResult LiveConfig::undo(const std::string& who, Instant now) {
  if (std::string why = refusal(true); !why.empty()) return refused(std::move(why));
  if (!trial_ && steps_.empty())
    return refused("nothing to undo: the last ten changes at run time can be undone");
  const std::string what = trial_ ? "try " + trial_->file : steps_.back().what;
  try {
    if (trial_) {
      end_trial(who + ": undo " + what);
    } else {
      undo_step(steps_.back(), who, now);
      steps_.pop_back();
    }
  } catch (const std::exception& error) {
    return refused(error.what());
  }
  return {.ok = true, .messages = {"undone: " + what}};
}

// Throws where that is refused.
void LiveConfig::undo_step(const Step& step, const std::string& who, Instant now) {
  if (!step.member) {
    go_back_to(step.before, who + ": undo " + step.what);
    return;
  }
  const MemberResult result = put_back(*step.member);
  if (!result.ok) throw std::runtime_error(result.refusal);
  take_timed(step.member->change);
  timed_members_.insert(timed_members_.end(), step.timed.begin(), step.timed.end());
  log("undo " + step.what, who);
  attempt(troubles_[kMembers], [&] { end_members(now); });
}

std::string LiveConfig::plan_name(const MemberChange& change, PlanNumber plan) const {
  for (const ShapeConfig& shape : state_->config.shapes) {
    if (shape.interface != change.interface || shape.direction != change.direction) continue;
    for (const ClassConfig& one : shape.classes)
      if (one.name == change.class_name && plan < one.plans.size()) return one.plans[plan].name;
  }
  return {};
}

// Refused where there is no such plan any more.
MemberResult LiveConfig::put_back(const MemberBefore& before) {
  MemberChange change = before.change;
  change.time.reset();
  change.plan = kNoPlan;
  for (PlanNumber plan = 0; !before.plan.empty(); ++plan) {
    const std::string name = plan_name(change, plan);
    if (name.empty()) return {.refusal = "there is no plan " + quoted(before.plan) + " any more"};
    if (name != before.plan) continue;
    change.plan = plan;
    break;
  }
  return host_.put_member(change);
}

// What is to end of that member is so no more; the last one stands last.
std::vector<LiveConfig::TimedMember> LiveConfig::take_timed(const MemberChange& change) {
  std::vector<TimedMember> taken;
  std::erase_if(timed_members_, [&](const TimedMember& one) {
    const bool is_it = same_member(one.before.change, change);
    if (is_it) taken.push_back(one);
    return is_it;
  });
  return taken;
}

// It has that plan already: now for good, or for longer.
MemberResult LiveConfig::note_unchanged(const MemberChange& change, MemberResult result, Instant now) {
  std::vector<TimedMember> timed = take_timed(change);
  if (!change.time || timed.empty()) return result;
  timed.back().until = std::max(timed.back().until, now + *change.time);
  timed_members_.insert(timed_members_.end(), timed.begin(), timed.end());
  return result;
}

MemberResult LiveConfig::change_member(const MemberChange& change, const std::string& who, Instant now) {
  if (change.time && timed_members_.size() >= kMostTimedMembers) {
    return {.refusal = "as many changes of members as are possible, " + std::to_string(kMostTimedMembers) +
                       ", wait for their end"};
  }
  MemberResult result = host_.put_member(change);
  if (!result.ok) return result;
  if (result.before == change.plan) return note_unchanged(change, std::move(result), now);
  const MemberBefore before{.change = change, .plan = plan_name(change, result.before)};
  Step step{.what = "a change of a plan's member by " + who, .member = before, .timed = take_timed(change)};
  if (change.time) {
    timed_members_.insert(timed_members_.end(), step.timed.begin(), step.timed.end());
    timed_members_.push_back({.before = before, .until = now + *change.time});
  }
  remember(std::move(step));
  return result;
}

DiffResult LiveConfig::diff(Instant now) {
  DiffResult result;
  if (std::string why = refusal(true); !why.empty()) {
    result.errors.push_back(std::move(why));
    return result;
  }
  const ConfigTextsResult texts = read_config_texts(path_);
  ConfigResult files;
  files.errors = texts.errors;
  if (texts.ok()) files = read_in_peace(ConfigDocument(texts.texts));
  for (const ConfigError& error : files.errors) result.errors.push_back(error.to_string());
  if (!files.ok()) return result;
  result.differences = differences(files.config, state_->config);
  for (Difference& difference : result.differences) {
    for (const RunTimeValues::Said& said : state_->values.all()) {
      const bool is_it = to_text(said.table) == difference.where && said.key == difference.key;
      if (!is_it) continue;
      difference.why = "set by " + said.saying.who;
      if (said.saying.until) difference.why += ", for " + seconds_left(*said.saying.until, now) + " more";
    }
    if (difference.why.empty() && trial_)
      difference.why = "trial of " + trial_->file + ", for " + seconds_left(trial_->until, now) + " more";
  }
  return result;
}

SaveResult LiveConfig::save() {
  SaveResult result;
  result.refusal = refusal();
  if (!result.refusal.empty()) return result;
  result.path = drop_in_directory(path_) + kSavedDropIn;
  result.text = state_->values.to_file();
  for (const RunTimeValues::Said& said : state_->values.all()) {
    const std::string name = to_text(said.table) + (said.key.empty() ? "" : " " + said.key);
    if (said.saying.until) result.left_out.push_back(name + ", which is set for a time only");
    if (!said.key.empty() && said.value.empty())
      result.left_out.push_back(name + ", which is left out: take it out of the file");
  }
  if (result.text.empty()) return result;
  std::string before;
  if (read_file_text(result.path, FileUse::again, before).empty()) {
    try {
      result.text = merged_drop_ins(before, result.text);
    } catch (const std::exception&) {
      result.refusal = result.path + " is no configuration: headgatectl check says what is wrong with it";
      return result;
    }
  }
  result.text = "# Written by headgatectl save.\n" + result.text;
  if (const std::string error = why_unreadable(result); !error.empty())
    result.refusal = "the files could not be read with it: " + error;
  return result;
}

// The files with this drop-in. Empty: they can be read.
std::string LiveConfig::why_unreadable(const SaveResult& saved) {
  ConfigTexts texts = *state_->texts;
  std::erase_if(texts, [&](const ConfigText& text) { return text.name == saved.path; });
  const auto behind = std::find_if(texts.begin() + 1, texts.end(),
                                   [&](const ConfigText& text) { return text.name > saved.path; });
  texts.insert(behind, {saved.path, saved.text});
  const ConfigResult read = read_in_peace(ConfigDocument(texts));
  return read.ok() ? "" : read.errors.front().to_string();
}

void LiveConfig::tick(Instant now) {
  if (reading_) return;
  attempt(troubles_[kTrial], [&] {
    if (trial_ && trial_->until <= now)
      end_trial("the trial of " + trial_->file + " was not confirmed, and is over");
  });
  attempt(troubles_[kMembers], [&] { end_members(now); });
  if (next_try_ > now) return;
  attempt(troubles_[kValues], [&] { end_values(now); });
  next_try_ = troubles_[kValues].empty() ? Instant{} : now + kRetryTime;
}

// Said once while it lasts.
void LiveConfig::attempt(std::string& trouble, const std::function<void()>& end) {
  try {
    end();
    trouble.clear();
  } catch (const std::exception& error) {
    if (std::exchange(trouble, error.what()) != error.what())
      host_.log("what is over cannot be ended, and is tried again: " + trouble);
  }
}

void LiveConfig::end_trial(const std::string& why) {
  go_back_to(trial_->before, why);
  std::erase_if(steps_, [this](const Step& step) { return step.before == trial_->before; });
  trial_.reset();
}

// The steps that can be undone stay: each is looked at anew when it is in force again.
void LiveConfig::end_values(Instant now) {
  const auto next_end = state_->values.next_end();
  if (trial_ || !next_end || *next_end > now) return;
  State next = *state_;
  next.values.forget_past(now);
  const ChangeResult result = put(std::move(next));
  if (!result.ok) throw std::runtime_error(result.messages.empty() ? "refused" : result.messages.front());
  host_.log("what was set for a time is over");
}

// Beneath one that goes on, what ends goes without a word: the later one goes back to what was before both. What is refused
// is tried again, and keeps no other one from ending. Throws the first refusal.
void LiveConfig::end_members(Instant now) {
  std::string refusal;
  for (auto one = timed_members_.begin(); one != timed_members_.end();) {
    if (one->until > now) {
      ++one;
      continue;
    }
    const auto later = std::find_if(one + 1, timed_members_.end(), [&](const TimedMember& other) {
      return same_member(other.before.change, one->before.change);
    });
    if (later != timed_members_.end()) {
      later->before.plan = one->before.plan;
    } else if (const MemberResult result = put_back(one->before); !result.ok) {
      if (refusal.empty()) refusal = result.refusal;
      ++one;
      continue;
    }
    one = timed_members_.erase(one);
  }
  if (!refusal.empty()) throw std::runtime_error(refusal);
}

}  // namespace headgate
