#include "linux/hook_matches.hpp"

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include <algorithm>
#include <stdexcept>
#include <system_error>

#include "linux/divert_memory.h"
#include "linux/match_translator.hpp"

namespace headgate {

namespace {

bool takes_all(const HookClass& one) {
  return !one.match && one.selectors == Selectors{};
}

ClassToTranslate to_translate(const HookClass& one) {
  ClassToTranslate result{.dscp = one.selectors.dscp, .marks = one.selectors.marks, .cgroups = one.cgroups};
  if (one.match) result.match = *one.match;
  if (one.selectors.source.networks) result.source = one.source->tries();
  if (one.selectors.destination.networks) result.destination = one.destination->tries();
  return result;
}

TranslatedMatches translate(std::span<const HookClass> classes) {
  if (classes.size() > DIVERT_CLASSES_MAX)
    throw std::runtime_error("there are more than " + std::to_string(DIVERT_CLASSES_MAX) + " classes");
  std::vector<ClassToTranslate> all;
  std::transform(classes.begin(), classes.end(), std::back_inserter(all), to_translate);
  auto translated = translate_matches(all);
  if (!translated) throw std::runtime_error("their matches come to more than a program may have");
  return std::move(*translated);
}

FileDescriptor load(const std::vector<KernelInstruction>& code) {
  const auto* const instructions = reinterpret_cast<const bpf_insn*>(code.data());
  FileDescriptor program(
      bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "find_class", "GPL", instructions, code.size(), nullptr));
  if (!program)
    throw std::runtime_error(std::string("the kernel refuses their program: ") +
                             std::system_category().message(errno));
  return program;
}

UnshapedClasses unshaped_of(std::span<const HookClass> classes) {
  UnshapedClasses bits(DIVERT_CLASSES_MAX / 64);
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (classes[i].unshaped) bits[i / 64] |= std::uint64_t{1} << (i % 64);
  return bits;
}

}  // namespace

void load_networks(std::span<HookClass> classes, SharedNetworkMaps& maps) {
  const auto load_one = [&maps](const NetworkSelector& selector, std::shared_ptr<const NetworkMaps>& loaded) {
    if (selector.networks && !loaded) loaded = maps.get(selector.networks);
  };
  for (HookClass& one : classes) {
    load_one(one.selectors.source, one.source);
    load_one(one.selectors.destination, one.destination);
  }
}

// Up to the first class that takes all that is left.
bool HookMatches::may_let_go(std::span<const HookClass> classes) {
  if (std::any_of(classes.begin(), classes.end(), [](const HookClass& one) { return one.control; }))
    return false;
  for (const HookClass& one : classes) {
    if (one.unshaped) return true;
    if (takes_all(one)) return false;
  }
  return true;
}

HookMatches::HookMatches(std::span<const HookClass> classes, int packets, int programs)
    : unshaped_(unshaped_of(classes)),
      program_(load(whole_program(translate(classes),
                                  {.input = packets, .programs = programs, .next_entry = DIVERT_MATCHED}))) {}

}  // namespace headgate
