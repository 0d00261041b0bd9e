#include "linux/divert_programs.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <system_error>

#include "linux/bpf_support.hpp"
#include "linux/notes_table.hpp"
#include "linux/system_call.hpp"

#include "divert.skel.h"

namespace headgate {

namespace {

// A kernel without IPsec refuses a program that asks for it.
bool kernel_has_ipsec() {
  static const bool has =
      libbpf_probe_bpf_helper(BPF_PROG_TYPE_SCHED_CLS, BPF_FUNC_skb_get_xfrm_state, nullptr) != 0;
  return has;
}

// A kernel without cgroups does not know maps of them.
int take_cgroups(bpf_map& map, int descriptor) {
  return descriptor >= 0 ? bpf_map__reuse_fd(&map, descriptor) : bpf_map__set_autocreate(&map, false);
}

std::uint32_t block_for(std::size_t workers) {
  return static_cast<std::uint32_t>(DIVERT_RESTORED_MAX / std::bit_ceil(std::max<std::size_t>(workers, 1)));
}

divert_shape* map_shapes(int map, std::size_t shapes) {
  void* const memory =
      mmap(nullptr, shapes * sizeof(divert_shape), PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
  if (memory == MAP_FAILED) check_system_call("map the shapes of the BPF programs", -1);
  return static_cast<divert_shape*>(memory);
}

}  // namespace

DivertPrograms::DivertPrograms(const DivertProgramsOptions& options)
    : shapes_max_(options.shapes),
      has_room_in_marks_((options.own_mark & NotesTable::kPlaceBits) == 0),
      block_(block_for(options.workers)),
      skeleton_(nullptr),
      let_go_taken_(options.let_go) {
  keep_bpf_complaints();
  skeleton_ = divert_bpf::open();
  if (skeleton_ == nullptr) fail_to_load(errno);
  skeleton_->rodata->own_mark = options.own_mark;
  skeleton_->rodata->own_mark_bits = has_room_in_marks_ ? ~NotesTable::kPlaceBits : ~0U;
  skeleton_->rodata->has_ipsec = kernel_has_ipsec();
  skeleton_->rodata->has_cgroups = options.cgroups >= 0;
  bpf_map__set_max_entries(skeleton_->maps.shapes, options.shapes);
  bpf_map__set_max_entries(skeleton_->maps.let_go, options.let_go);
  try {
    if (const int result = take_cgroups(*skeleton_->maps.cgroups, options.cgroups); result < 0)
      fail_to_load(-result);
    if (const int result = divert_bpf::load(skeleton_); result < 0) fail_to_load(-result);
    shapes_ = map_shapes(bpf_map__fd(skeleton_->maps.shapes), shapes_max_);
    const std::uint32_t place = DIVERT_MATCHED;
    const int program = bpf_program__fd(skeleton_->progs.divert_matched);
    check_system_call("hand a program to the BPF program",
                      bpf_map_update_elem(bpf_map__fd(skeleton_->maps.programs), &place, &program, BPF_ANY));
  } catch (...) {
    if (shapes_ != nullptr) munmap(shapes_, shapes_max_ * sizeof(divert_shape));
    divert_bpf::destroy(skeleton_);
    throw;
  }
  places_taken_[0] = true;
}

DivertPrograms::~DivertPrograms() {
  munmap(shapes_, shapes_max_ * sizeof(divert_shape));
  divert_bpf::destroy(skeleton_);
}

int DivertPrograms::divert(Direction direction) const {
  return bpf_program__fd(direction == Direction::egress ? skeleton_->progs.divert_egress
                                                        : skeleton_->progs.divert_ingress);
}

int DivertPrograms::refuse_foreign() const {
  return bpf_program__fd(skeleton_->progs.refuse_foreign);
}

int DivertPrograms::consume_copied() const {
  return bpf_program__fd(skeleton_->progs.consume_copied);
}

int DivertPrograms::copy_cut() const {
  return bpf_program__fd(skeleton_->progs.copy_cut);
}

int DivertPrograms::drop_captured() const {
  return bpf_program__fd(skeleton_->progs.drop_captured);
}

int DivertPrograms::consume_captured() const {
  return bpf_program__fd(skeleton_->progs.consume_captured);
}

int DivertPrograms::return_shaped() const {
  return bpf_program__fd(skeleton_->progs.return_shaped);
}

std::uint32_t DivertPrograms::take_place() {
  for (std::uint32_t looks = 0; looks < shapes_max_; ++looks) {
    last_place_ = (last_place_ + 1) % shapes_max_;
    if (places_taken_[last_place_]) continue;
    places_taken_[last_place_] = true;
    shapes_[last_place_] = {};
    return last_place_;
  }
  throw std::runtime_error("there are as many shapes as there may be: " + std::to_string(shapes_max_ - 1));
}

void DivertPrograms::free_place(std::uint32_t place) {
  const std::uint32_t find_class = DIVERT_FIND_CLASS + place;
  bpf_map_delete_elem(bpf_map__fd(skeleton_->maps.programs), &find_class);
  shapes_[place] = {};
  places_taken_[place] = false;
}

void DivertPrograms::set_hook(const divert_hook& hook, std::uint32_t place) {
  check_system_call("tell the BPF programs of a shape",
                    bpf_map_update_elem(bpf_map__fd(skeleton_->maps.hooks), &hook, &place, BPF_ANY));
}

void DivertPrograms::remove_hook(const divert_hook& hook) {
  bpf_map_delete_elem(bpf_map__fd(skeleton_->maps.hooks), &hook);
}

std::uint32_t DivertPrograms::add_ring(int ring_map) {
  const auto found = std::find(rings_taken_.begin(), rings_taken_.end(), false);
  if (found == rings_taken_.end())
    throw std::runtime_error("there are as many workers as may have a BPF ring buffer: " +
                             std::to_string(DIVERT_RINGS_MAX));
  const auto ring = static_cast<std::uint32_t>(found - rings_taken_.begin());
  check_system_call(
      "hand a ring buffer to the BPF programs",
      bpf_map_update_elem(bpf_map__fd(skeleton_->maps.ring_buffers), &ring, &ring_map, BPF_ANY));
  *found = true;
  return ring;
}

void DivertPrograms::remove_ring(std::uint32_t ring) {
  bpf_map_delete_elem(bpf_map__fd(skeleton_->maps.ring_buffers), &ring);
  rings_taken_[ring] = false;
}

std::span<divert_restored> DivertPrograms::restored() const {
  return skeleton_->bss->restored;
}

// The first place is everybody's.
DivertPrograms::Block DivertPrograms::restored_block(std::uint32_t ring) const {
  const std::uint32_t first = ring * block_;
  if (!has_room_in_marks_ || first + block_ > DIVERT_RESTORED_MAX) return {};
  return first == 0 ? Block{.first = 1, .count = block_ - 1} : Block{.first = first, .count = block_};
}

std::shared_ptr<const HookMatches> DivertPrograms::load_matches(std::span<const HookClass> classes) {
  std::erase_if(loaded_, [](const Loaded& one) { return one.matches.expired(); });
  for (const Loaded& one : loaded_)
    if (std::equal(one.classes.begin(), one.classes.end(), classes.begin(), classes.end()))
      if (auto matches = one.matches.lock()) return matches;
  auto matches = std::make_shared<const HookMatches>(classes, bpf_map__fd(skeleton_->maps.packets),
                                                     bpf_map__fd(skeleton_->maps.programs));
  loaded_.push_back({.classes = {classes.begin(), classes.end()}, .matches = matches});
  return matches;
}

void DivertPrograms::set_find_class(std::uint32_t place, int program) {
  const std::uint32_t at = DIVERT_FIND_CLASS + place;
  check_system_call("hand a program to the BPF program",
                    bpf_map_update_elem(bpf_map__fd(skeleton_->maps.programs), &at, &program, BPF_ANY));
}

std::optional<std::uint32_t> DivertPrograms::take_let_go_counters(std::uint32_t count) {
  const auto first =
      std::search_n(let_go_taken_.begin(), let_go_taken_.end(), static_cast<int>(count), false);
  if (first == let_go_taken_.end()) return std::nullopt;
  std::fill_n(first, count, true);
  return static_cast<std::uint32_t>(first - let_go_taken_.begin());
}

void DivertPrograms::free_let_go_counters(std::uint32_t first, std::uint32_t count) {
  std::fill_n(let_go_taken_.begin() + first, count, false);
}

std::vector<let_go_count> DivertPrograms::read_let_go(std::uint32_t first, std::uint32_t count) const {
  std::vector<let_go_count> of_processors(static_cast<std::size_t>(libbpf_num_possible_cpus()));
  std::vector<let_go_count> counts(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t at = first + i;
    if (bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.let_go), &at, of_processors.data()) < 0) continue;
    for (const let_go_count& one : of_processors) {
      counts[i].packets += one.packets;
      counts[i].bytes += one.bytes;
    }
  }
  return counts;
}

DivertPrograms::ControlClocks DivertPrograms::control_clocks(std::uint32_t place) const {
  ControlClocks clocks{};
  check_system_call("read the clocks of control traffic",
                    bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.control_clocks), &place, clocks.data()));
  return clocks;
}

void DivertPrograms::set_control_clocks(std::uint32_t place, const ControlClocks& clocks) {
  check_system_call(
      "set the clocks of control traffic",
      bpf_map_update_elem(bpf_map__fd(skeleton_->maps.control_clocks), &place, clocks.data(), BPF_ANY));
}

ShapePlace::ShapePlace(DivertPrograms& programs) : programs_(programs), number_(programs.take_place()) {}

ShapePlace::~ShapePlace() {
  for (const divert_hook& hook : hooks_) programs_.remove_hook(hook);
  programs_.free_place(number_);
}

divert_shape& ShapePlace::shape() const {
  return programs_.shapes_[number_];
}

void ShapePlace::find_by(int device, std::uint32_t kind) {
  const divert_hook hook{.device = static_cast<std::uint32_t>(device), .kind = kind};
  programs_.set_hook(hook, number_);
  hooks_.push_back(hook);
}

}  // namespace headgate
