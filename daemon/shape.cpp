#include "shape.hpp"

#include <net/if.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "config/compiled_matches.hpp"
#include "config/quantity_text.hpp"
#include "config/shape_classifier.hpp"
#include "core/class_plans.hpp"
#include "core/shaper_settings.hpp"
#include "ethernet_needs.hpp"
#include "linux/shape_lock.hpp"
#include "shape_explanation.hpp"

namespace headgate {

namespace {

constexpr std::uint32_t kFlowRecordsPerCall = 4096;
constexpr Duration kFlowsPatience = std::chrono::milliseconds(500);
constexpr Duration kTapPatience = std::chrono::milliseconds(200);

constexpr char kNotTaken[] = "its workers have not taken the classes of the last reload yet";

// At the latest at `patience`.
bool is_ready_at(const std::future<void>& answer, Instant patience) {
  const Duration left = std::max(patience - MonotonicClock().now(), Duration::zero());
  return answer.wait_for(left) == std::future_status::ready;
}

bool is_ready(const std::future<void>& answer) {
  return answer.wait_for(Duration::zero()) == std::future_status::ready;
}

bool all_ready(const std::vector<std::future<void>>& answers, Instant patience) {
  return std::all_of(answers.begin(), answers.end(),
                     [&](const auto& answer) { return is_ready_at(answer, patience); });
}

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

// The capture is the one that the shape has, whatever was said.
void refuse_what_only_the_kernel_knows(const ShapeConfig& config) {
  if (config.capture == CaptureMethod::bpf) return;
  for (const ClassConfig& one : config.classes) {
    if (one.selectors.marks.empty() && one.selectors.cgroups.empty()) continue;
    throw std::runtime_error(
        title_of(config) + ": class " + one.name + ": " + (one.selectors.marks.empty() ? "cgroup" : "mark") +
        " needs capture = \"bpf\", and this shape captures by \"" + std::string(to_text(config.capture)) +
        "\": this kernel has no BPF ring buffers, or headgated was started so");
  }
}

CgroupPlaces places_of(const ShapeConfig& config, SharedDivert& common) {
  refuse_what_only_the_kernel_knows(config);
  std::vector<std::string> paths;
  for (const ClassConfig& one : config.classes)
    paths.insert(paths.end(), one.selectors.cgroups.begin(), one.selectors.cgroups.end());
  if (paths.empty()) return {};
  common.programs();  // says what is missing, if it is a permission
  if (common.cgroups().map() < 0)
    throw std::runtime_error(title_of(config) + ": cgroup: this kernel has no cgroups");
  try {
    return common.cgroups().hold(paths);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(title_of(config) + ": " + error.what());
  }
}

std::shared_ptr<const Classifier> classifier_of(const ShapeConfig& config, std::uint64_t hash_seed,
                                                CompiledMatches& matches, const CgroupPlaces& cgroups) {
  try {
    return make_classifier(config, hash_seed, matches, cgroups);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(title_of(config) + ": " + error.what());
  }
}

std::vector<HookClass> make_hook_classes(const ShapeConfig& config, CompiledMatches& matches,
                                         const Classifier& classifier) {
  std::vector<HookClass> classes;
  for (const ClassConfig& one : config.classes) {
    classes.push_back({.match = one.match.empty() ? nullptr : matches.get(one.match).code,
                       .selectors = one.selectors,
                       .cgroups = classifier.cgroup_bits(classes.size()),
                       .control = one.control,
                       .unshaped = one.bypass});
  }
  return classes;
}

ShapeParts make_parts(const DaemonConfig& daemon, const ShapeConfig& config, WorkerSet& workers,
                      MemorySource& memory, const SharedSeats* seats, std::uint64_t hash_seed) {
  ShaperLimits limits = limits_of(daemon, config);
  limits.hash_seed = hash_seed;
  const std::vector<WorkerThread*> threads =
      seats != nullptr ? seats->threads : workers.choose(config.workers, wants_real_time(config));
  ShapeParts parts;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if (seats != nullptr) limits.budget = seats->budgets[i];
    parts.push_back(std::make_unique<ShapePart>(*threads[i], config.precision, limits, classes_of(config),
                                                tree_of(config), memory));
  }
  return parts;
}

}  // namespace

ShaperLimits limits_of(const DaemonConfig& daemon, const ShapeConfig& config) {
  return {.memory = DataSize{daemon.memory.bytes / config.workers},
          .max_flows = std::max(daemon.max_flows / config.workers, 1U),
          .frame_prefix = prefix_bytes_of(config),
          .idle = daemon.idle};
}

Shape::Shape(SharedDivert& common, const DaemonConfig& daemon, const ShapeConfig& config,
             CompiledMatches& matches, WorkerSet& workers, MemorySource& memory, const CaptureShare& share,
             Attachment::Log log, const SharedSeats* seats)
    : common_(common),
      matches_(matches),
      share_(share),
      log_(std::move(log)),
      config_(config),
      hash_seed_(random_seed()),
      cgroups_(places_of(config, common_)),
      classifier_(classifier_of(config, hash_seed_, matches_, cgroups_)),
      hook_classes_(make_hook_classes(config, matches_, *classifier_)),
      parts_(make_parts(daemon, config, workers, memory, seats, hash_seed_)),
      asked_readings_(parts_.size()),
      last_readings_(parts_.size()) {}

Shape::~Shape() {
  stop(clock_.now());
}

void Shape::start(bool may_wait) {
  Netlink netlink;
  const std::string missing = missing_interface(netlink);
  if (!missing.empty() && may_wait) {
    open_since("there is no interface " + missing + " yet");
  } else {
    try {
      attach();
    } catch (const std::system_error& error) {
      // What was there a moment ago has gone meanwhile: as if it had gone a moment later.
      if (!may_wait || error.code() != std::errc::no_such_device) throw;
      open_since(error.what());
    }
  }
  running_ = true;
}

void Shape::begin_stop() {
  if (attachment_) attachment_->begin_end();
}

// What could not be sent, because nothing was attached to send it, goes with the parts.
void Shape::stop(Instant give_up) {
  // A worker that is late may still need all of this.
  if (in_force_.valid()) parts_.front()->thread.wait_for(in_force_);
  if (!std::exchange(running_, false)) return;
  if (attachment_) {
    attachment_->begin_end();
    attachment_->end(Attachment::Queued::send, give_up);
  }
  attempt([this] { past_losses_ = losses(); });
  attachment_.reset();
  if (!config_.forward_to.empty()) {
    attempt([this] {
      TrafficDivert::remove_wire(config_.interface);
      remove_kept_wire();
    });
  }
  for (const Capture& capture : captures_) capture.tap->end();
  state_ = "stopped";
}

// An earlier attachment kept it; the interface may have another name by now. Not where somebody else has taken it over.
void Shape::remove_kept_wire() const {
  if (wired_index_ == 0) return;
  Netlink netlink;
  const auto link = netlink.find_link(wired_index_);
  if (link && !ShapeLock::find_holder(link->index, config_.direction)) TrafficDivert::remove_wire(link->name);
}

std::string Shape::missing_interface(Netlink& netlink) const {
  if (!netlink.find_link(config_.interface)) return config_.interface;
  if (!config_.forward_to.empty() && !netlink.find_link(config_.forward_to)) return config_.forward_to;
  return {};
}

int Shape::interface_index(Netlink& netlink) const {
  if (const auto link = netlink.find_link(config_.interface)) return link->index;
  return attachment_ ? attachment_->divert().interface_index() : 0;
}

void Shape::attach() {
  attachment_ = std::make_unique<Attachment>(common_, config_, classifier_, parts_, share_, log_);
  try {
    attachment_->ask_cgroups(bits_of(cgroups_));
    note_link_header();
    lets_go_ = false;
    let_go();
    attachment_->start();
    state_.clear();
    note_wire();
    watch_hooks();
  } catch (...) {
    attachment_.reset();
    throw;
  }
}

// A trace has packets of one kind.
void Shape::note_link_header() {
  if (std::exchange(link_header_, attachment_->link_header()) == link_header_) return;
  for (const Capture& capture : captures_) capture.tap->end();
}

// One that was laid at another interface before goes: it would carry for ever what nobody shapes.
void Shape::note_wire() {
  if (config_.forward_to.empty()) return;
  const int index = attachment_->divert().interface_index();
  if (wired_index_ != index) attempt([this] { remove_kept_wire(); });
  wired_index_ = index;
}

void Shape::try_to_attach() {
  try {
    attach();
    if (diverting()) log_(title() + ": shaping again");
  } catch (const std::exception& error) {
    open_since(error.what());
  }
}

// The host is open at once; workers that put new classes in force are not waited for, the next look ends it.
void Shape::end_attachment(const std::string& reason) {
  attachment_->detach();
  bypass_.clear();
  open_since(reason);
  if (!is_in_force()) return;
  attachment_->keep_wire();
  attachment_->begin_end();
  attachment_->end(Attachment::Queued::keep, clock_.now());
  past_losses_ = losses();
  attachment_.reset();
}

void Shape::open_since(const std::string& reason) {
  if (state_ == reason) return;
  state_ = reason;
  log_(title() + ": traffic passes unshaped: " + reason);
}

bool Shape::is_in_force() const {
  return !in_force_.valid() || is_ready(in_force_);
}

bool Shape::takes_new_classes() const {
  return !is_in_force() && MonotonicClock().now() - handed_over_ < kLongestChange;
}

void Shape::prepare(const ShapeConfig& config) {
  if (!is_in_force()) throw std::runtime_error(title() + ": " + kNotTaken + "; try again");
  if (attachment_ != nullptr) {
    if (const std::string error = attachment_->capture_error(); !error.empty())
      throw std::runtime_error(title() + ": cannot be changed, capture ended: " + error);
  }
  if (attachment_ != nullptr && attachment_->link_header() == LinkHeader::none) refuse_ethernet_needs(config);
  std::vector<Reconfiguration::Part> parts;
  for (const auto& part : parts_)
    parts.push_back({.change = part->shaper.prepare(classes_of(config), tree_of(config)),
                     .waiter = &part->worker().waiter()});
  CgroupPlaces cgroups = places_of(config, common_);
  const auto classifier = classifier_of(config, hash_seed_, matches_, cgroups);
  std::vector<HookClass> hook_classes = make_hook_classes(config, matches_, *classifier);
  prepare_networks(hook_classes);
  prepared_ = Prepared{.config = config,
                       .cgroups = std::move(cgroups),
                       .hook_classes = std::move(hook_classes),
                       .reconfiguration = std::make_unique<Reconfiguration>(classifier, std::move(parts))};
}

// What goes on by the kernel's verdict still does where no class asks for other packets than before.
void Shape::begin_put_in_force() {
  takes_all_out_ =
      prepared_->hook_classes != hook_classes_ || (attachment_ && !attachment_->lets_go_as_asked());
  if (attachment_ && takes_all_out_) attachment_->begin_take_all_out();
}

void Shape::put_in_force() {
  config_ = std::move(prepared_->config);
  member_rooms_.clear();
  reconfiguration_ = std::move(prepared_->reconfiguration);
  past_cgroups_ = std::exchange(cgroups_, std::move(prepared_->cgroups));
  hook_classes_ = std::move(prepared_->hook_classes);
  prepared_.reset();
  in_force_ = reconfiguration_->done();
  handed_over_ = clock_.now();
  classifier_ = reconfiguration_->classifier();
  lets_go_ = lets_go_ && !takes_all_out_;
  for (const auto& part : parts_) part->set_precision(config_.precision);
  if (attachment_) {
    if (takes_all_out_) {
      attachment_->take_all_out();
    } else {
      attachment_->count_let_go();  // for the classes before
    }
    attachment_->ask_cgroups(bits_of(past_cgroups_) | bits_of(cgroups_));
    attachment_->reconfigure(config_, *reconfiguration_);
  } else {
    put_in_force_unattached(*reconfiguration_);
  }
}

// Each worker puts them in force for its part; when the last one has, each takes in what the others laid out for it.
void Shape::put_in_force_unattached(Reconfiguration& reconfiguration) {
  using Step = Reconfiguration::Step;
  const auto take_in = [this, &reconfiguration] {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      parts_[i]->worker().ask([&part = *parts_[i], &reconfiguration, i](Instant now) {
        reconfiguration.take_in(i, part.shaper, now);
        reconfiguration.end(Step::take_in);
      });
    }
  };
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    parts_[i]->worker().ask([&part = *parts_[i], &reconfiguration, take_in, i](Instant now) {
      part.taps.reconfigure(reconfiguration.classifier()->classes());
      reconfiguration.put_in_force(i, part.shaper, now);
      if (reconfiguration.end(Step::put_in_force)) take_in();
    });
  }
}

bool Shape::wait_until_in_force(Instant patience) {
  return !in_force_.valid() || is_ready_at(in_force_, patience);
}

bool Shape::concerns(const Link& link) const {
  if (link.is_called(config_.interface) || link.is_called(config_.forward_to)) return true;
  if (!attachment_) return false;
  const TrafficDivert& divert = attachment_->divert();
  return link.index == divert.interface_index() || link.index == divert.transmit_index() ||
         link.index == divert.device_index() || link.index == divert.peer_index();
}

// Said once while it lasts.
bool Shape::attempt(const std::function<void()>& action) {
  try {
    action();
    return true;
  } catch (const std::exception& error) {
    if (trouble_ != error.what()) log_(title() + ": " + error.what());
    trouble_ = error.what();
    return false;
  }
}

void Shape::maintain(Netlink& netlink) {
  attempt([&] { repair(netlink); });
}

void Shape::look_after(Netlink& netlink) {
  const auto all = [&] {
    repair(netlink);
    prepared_.reset();  // of a reload that was refused for another shape
    report();
  };
  if (attempt(all)) trouble_.clear();
}

void Shape::repair(Netlink& netlink) {
  if (!running_) return;
  if (attachment_) {
    const std::string reason = why_not_intact(netlink);
    if (reason.empty()) {
      watch_hooks();
    } else {
      end_attachment(reason);
    }
  }
  if (!attachment_ && is_in_force() && missing_interface(netlink).empty()) try_to_attach();
}

// Where others stand ahead of us on a divert device, what is diverted may be lost: the host is open until they have gone.
void Shape::watch_hooks() {
  const TrafficDivert::Hooks hooks = attachment_->divert().hooks();
  if (!hooks.missing.empty()) {
    end_attachment(hooks.missing);
  } else if (!hooks.obstruction.empty()) {
    attachment_->detach();
    bypass_.clear();
    open_since(hooks.obstruction);
  } else if (!diverting()) {
    resume();
  } else {
    note_bypass(hooks.bypass);
  }
}

void Shape::resume() {
  try {
    attachment_->resume();
    state_.clear();
    log_(title() + ": shaping again");
  } catch (const std::exception& error) {
    end_attachment(error.what());
  }
}

void Shape::note_bypass(const std::string& bypass) {
  if (bypass_ == bypass) return;
  bypass_ = bypass;
  log_(title() + ": " + (bypass.empty() ? "nothing runs ahead of headgate's program any more" : bypass));
}

namespace {

// Whether somebody else has the name by now that an interface was found by. Two never have one name.
std::string why_another(Netlink& netlink, const std::string& name, const Link& found) {
  if (found.is_called(name)) return {};
  const std::optional<Link> named = netlink.find_link(name);
  if (!named) return {};
  return name + " is another interface by now, the one before is called " + found.name;
}

}  // namespace

std::string Shape::why_not_intact(Netlink& netlink) const {
  if (const std::string error = attachment_->capture_error(); !error.empty())
    return "capture ended: " + error;
  const TrafficDivert& divert = attachment_->divert();
  const std::optional<Link> interface = netlink.find_link(divert.interface_index());
  if (!interface) return "interface " + config_.interface + " was deleted";
  if (std::string reason = why_another(netlink, config_.interface, *interface); !reason.empty())
    return reason;
  if (interface->mtu != divert.mtu()) return "its MTU changed to " + std::to_string(interface->mtu);
  const bool same = divert.transmit_index() == interface->index;
  const std::optional<Link> out = same ? interface : netlink.find_link(divert.transmit_index());
  if (!out) return "where it sends was deleted";
  if (!config_.forward_to.empty()) {
    if (std::string reason = why_another(netlink, config_.forward_to, *out); !reason.empty()) return reason;
  }
  if (out->mtu != divert.transmit_mtu()) return out->name + "'s MTU changed to " + std::to_string(out->mtu);
  return {};
}

// Packets wait unread for longer than the kernel's patience: it lets further ones pass by.
bool Shape::switch_is_open() const {
  return diverting() && attachment_->divert().unread_for(MonotonicClock().now()) > WorkerHealth::kPatience;
}

void Shape::log_openings() {
  const UnshapedStatistics unshaped = losses().unshaped;
  if (switch_is_open() && !std::exchange(open_switch_logged_, true)) {
    log_(title() + ": packets are not read or not sent in time; the kernel lets them pass unshaped");
  }
  if (unshaped.times == openings_logged_) return;
  openings_logged_ = unshaped.times;
  open_switch_logged_ = false;
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(unshaped.open).count();
  log_(title() + ": shaping again; packets passed unshaped for " + std::to_string(milliseconds) +
       " ms in all, " + std::to_string(unshaped.times) + (unshaped.times == 1 ? " time" : " times") +
       " so far");
}

// Why departures come too late, while the host is not open for it.
std::string Shape::starvation() const {
  for (const auto& part : parts_)
    if (!part->thread.starvation().empty()) return part->thread.starvation();
  return {};
}

// Of instances, which are served by the same workers, it is said once, of their pattern.
void Shape::log_starvation() {
  if (!config_.pattern.empty()) return;
  const std::string now = starvation();
  if (!now.empty() && starvation_logged_.empty()) log_(title() + ": " + now);
  starvation_logged_ = now;
}

// Not before all workers have the classes by which packets go on, and not while somebody wants to see them.
void Shape::let_go() {
  if (!attachment_ || !is_in_force()) return;
  const bool may = !captures_unshaped();
  if (may == lets_go_) return;
  lets_go_ = may;
  if (may) {
    attachment_->let_go_by(hook_classes_);
  } else {
    attachment_->take_all_out();
  }
}

// Packets are told of them as long as some worker may classify by them.
void Shape::forget_past_cgroups() {
  if (past_cgroups_.empty() || !is_in_force()) return;
  if (attachment_) attachment_->ask_cgroups(bits_of(cgroups_));
  past_cgroups_.clear();
}

void Shape::note_cgroup_mount() {
  const bool missing = !cgroups_.empty() && !common_.cgroups().is_mounted();
  if (missing && !no_cgroup_mount_logged_) {
    log_(title() +
         ": cgroup v2 is mounted nowhere that headgated can see; classes with cgroup take nothing "
         "until it is");
  }
  no_cgroup_mount_logged_ = missing;
}

// Beside those in force, so that what does not change is shared. What fails is tried again when it is needed, and reported.
void Shape::prepare_networks(std::vector<HookClass>& classes) {
  if (config_.capture != CaptureMethod::bpf || !HookMatches::may_let_go(classes)) return;
  try {
    load_networks(classes, common_.networks());
  } catch (const std::exception&) {
    for (HookClass& one : classes) one.source = one.destination = nullptr;
  }
}

void Shape::report() {
  log_openings();
  log_starvation();
  remove_closed_taps(clock_.now());
  forget_past_cgroups();
  note_cgroup_mount();
  let_go();
  if (!attachment_) return;
  for (const std::string& notice : hook_notices_.new_in(attachment_->divert().counts()))
    log_(title() + ": " + notice);
  attachment_->look_at_switch();
}

// Asks all workers, which answer by part.
std::vector<std::future<void>> Shape::change_taps(const TapChange& change) {
  std::vector<std::future<void>> answers;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    answers.push_back(
        parts_[i]->worker().ask([&part = *parts_[i], attachment = attachment_.get(), change, i](Instant) {
          change(part.taps);
          if (attachment != nullptr) attachment->observe_taps(i);
        }));
  }
  return answers;
}

void Shape::capture(const std::shared_ptr<PacketTap>& tap) {
  const Instant patience = clock_.now() + kTapPatience;
  remove_closed_taps(patience);
  const bool hangs = std::any_of(captures_.begin(), captures_.end(),
                                 [](const Capture& capture) { return !capture.removed.empty(); });
  if (hangs) throw std::runtime_error("a worker of " + title() + " does not answer");
  if (!is_in_force()) throw std::runtime_error(title() + ": " + kNotTaken);
  const auto added = std::make_shared<std::atomic<std::size_t>>(0);
  captures_.push_back({tap});
  let_go();
  const auto answers = change_taps([added, tap, classifier = classifier_](PacketTaps& taps) {
    *added += taps.add(tap, classifier->classes()) ? 1 : 0;
  });
  const bool answered = all_ready(answers, patience);
  if (answered && *added == parts_.size()) return;
  tap->close();
  throw std::runtime_error(answered ? "there are as many captures of " + title() + " as there may be"
                                    : "a worker of " + title() + " does not answer");
}

bool Shape::captures_unshaped() const {
  return std::any_of(captures_.begin(), captures_.end(), [this](const Capture& capture) {
    const auto class_config =
        std::find_if(config_.classes.begin(), config_.classes.end(),
                     [&](const ClassConfig& one) { return one.name == capture.tap->class_name(); });
    return !capture.tap->closed() && class_config != config_.classes.end() && class_config->bypass;
  });
}

std::size_t Shape::captures() const {
  return static_cast<std::size_t>(std::count_if(
      captures_.begin(), captures_.end(), [](const Capture& capture) { return !capture.tap->closed(); }));
}

// Workers are asked once; what they have answered at `patience` is freed, the rest later.
void Shape::remove_closed_taps(Instant patience) {
  for (Capture& capture : captures_) {
    if (!capture.tap->closed() || !capture.removed.empty()) continue;
    capture.removed = change_taps([tap = capture.tap](PacketTaps& taps) { taps.remove(*tap); });
  }
  std::erase_if(captures_, [&](const Capture& capture) {
    return !capture.removed.empty() && all_ready(capture.removed, patience);
  });
}

Shape::Losses Shape::losses() const {
  Losses sum = past_losses_;
  if (attachment_) {
    const Attachment::Lost lost = attachment_->lost();
    sum.ring += lost.ring;
    sum.device += lost.device;
    const UnshapedStatistics unshaped = attachment_->divert().unshaped();
    sum.unshaped.packets += unshaped.packets;
    sum.unshaped.times += unshaped.times;
    sum.unshaped.open += unshaped.open;
    sum.hooks += attachment_->divert().counts();
  }
  return sum;
}

void Shape::ask_for_statistics() {
  if (attachment_) attachment_->count_let_go();
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    // One that it has answered too late is older than it seems.
    const std::future<void>& done = asked_readings_[i].done;
    if (!done.valid() || is_ready(done)) ask_for_reading(i);
  }
}

void Shape::ask_for_reading(std::size_t part) {
  const bool alone = parts_.size() == 1 && config_.pattern.empty();
  const auto reading = std::make_shared<ShaperReading>();
  asked_readings_[part] = {
      reading, parts_[part]->worker().ask([&shaper = parts_[part]->shaper, reading, alone](Instant now) {
        *reading = alone ? ShaperReading{shaper.statistics(now), {}} : reading_of(shaper, now);
      })};
}

// False: it has not been answered.
bool Shape::take_reading(std::size_t part, Instant patience) {
  AskedReading& asked = asked_readings_[part];
  if (!asked.done.valid() || !is_ready_at(asked.done, patience)) return false;
  last_readings_[part] = std::move(*asked.reading);
  asked = {};
  return true;
}

std::string Shape::with_trouble(std::string state) const {
  if (!is_in_force()) state += (state.empty() ? "" : "; ") + std::string(kNotTaken);
  if (state.empty() && switch_is_open())
    state = "packets are not read or not sent in time; the dead-man switch lets them pass";
  if (state.empty()) state = bypass_;
  return state.empty() ? starvation() : state;
}

ShapeStatistics Shape::statistics(Instant patience) {
  std::string state = state_;
  for (std::size_t i = 0; i < parts_.size(); ++i)
    if (!take_reading(i, patience)) state = "a worker does not answer; these are its last figures";
  const Losses lost = losses();
  const bool open = switch_is_open();
  return ShapeStatistics{.interface = config_.interface,
                         .direction = config_.direction,
                         .diverting = diverting() && !open,
                         .state = with_trouble(state),
                         .starved = !starvation().empty(),
                         .limits = attachment_ ? attachment_->limits() : std::vector<std::string>{},
                         .divert = attachment_ ? attachment_->divert().method() : common_.wanted_method(),
                         .shaper = sum_of(last_readings_),
                         .lost_ring = lost.ring,
                         .lost_device = lost.device,
                         .unshaped = lost.unshaped,
                         .hooks = lost.hooks,
                         .config = config_};
}

std::vector<FlowStatistics> Shape::largest_flows(const std::string& class_name, std::size_t limit) {
  if (limit == 0 || !is_in_force()) return {};
  if (flows_read_.valid() && !is_ready(flows_read_)) return {};
  struct Reading {
    std::vector<FlowStatistics> largest;  // a heap with the smallest on top
    std::optional<std::uint32_t> next = 0;
  };
  const auto size = [](const FlowStatistics& flow) {
    return flow.sent.packets + flow.dropped.packets + flow.queued.packets;
  };
  const auto larger = [size](const FlowStatistics& a, const FlowStatistics& b) { return size(a) > size(b); };
  const auto reading = std::make_shared<Reading>();
  const auto keep_if_large = [reading, limit, larger](const FlowStatistics& flow) {
    auto& heap = reading->largest;
    if (heap.size() == limit) {
      if (!larger(flow, heap.front())) return;
      std::pop_heap(heap.begin(), heap.end(), larger);
      heap.pop_back();
    }
    heap.push_back(flow);
    std::push_heap(heap.begin(), heap.end(), larger);
  };
  const Instant patience = clock_.now() + kFlowsPatience;
  for (const auto& part : parts_) {
    reading->next = 0;
    const auto read_some = [=, &shaper = part->shaper](Instant) {
      const std::optional<ClassIndex> index = shaper.find_class(class_name);
      reading->next = index ? shaper.visit_flows(*index, *reading->next, kFlowRecordsPerCall, keep_if_large)
                            : std::nullopt;
    };
    while (reading->next) {
      flows_read_ = part->worker().ask(read_some);
      if (!is_ready_at(flows_read_, patience)) return {};
      flows_read_.get();
    }
  }
  std::sort_heap(reading->largest.begin(), reading->largest.end(), larger);
  return reading->largest;
}

Explanation Shape::explain(std::span<const std::byte> frame, std::uint32_t mark) {
  if (!is_in_force()) throw std::runtime_error(title() + ": " + kNotTaken + "; try again");
  explained_.resize(parts_.size());
  return headgate::explain({.classifier = *classifier_,
                            .hook_classes = hook_classes_,
                            .parts = parts_,
                            .attachment = attachment_.get(),
                            .link_header = link_header_,
                            .asked = explained_},
                           frame, mark);
}

void Shape::change_member(const std::string& class_name, const Member& member, std::size_t members,
                          const std::function<std::vector<Member>()>& all) {
  const auto config = std::find_if(config_.classes.begin(), config_.classes.end(),
                                   [&](const ClassConfig& one) { return one.name == class_name; });
  if (config == config_.classes.end() || config->plans.empty()) return;
  const auto class_index = static_cast<ClassIndex>(config - config_.classes.begin());
  const std::size_t in_force = config->members.members ? config->members.members->size() : 0;
  std::size_t& room = member_rooms_.try_emplace(class_name, member_room(in_force)).first->second;
  const bool is_short = members > room;
  if (is_short) room = member_room(members);
  const std::optional<FlowKey> key = only_key_of(member.prefix, config->key);
  const std::uint32_t hash = key ? hash_key(*key, class_hash_seed(class_name, hash_seed_)) : 0;
  for (const auto& part : parts_) {
    Shaper::MemberUpdate update{.member = member, .key = key, .hash = hash, .table = nullptr};
    if (is_short) update.table = std::make_unique<MemberTable>(all(), config->plans.size(), room);
    part->worker().change_member({&part->shaper, class_index, std::move(update)});
  }
}

void Shape::note_members(const std::function<std::vector<Member>(const ClassConfig&)>& all) {
  for (ClassConfig& config : config_.classes) {
    if (member_rooms_.contains(config.name))
      config.members.members = std::make_shared<const std::vector<Member>>(all(config));
  }
}

}  // namespace headgate
