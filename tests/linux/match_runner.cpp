#include "linux/match_runner.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "linux/system_call.hpp"

namespace headgate::test {

namespace {

static_assert(sizeof(bpf_insn) == sizeof(KernelInstruction));
static_assert(sizeof(match_input) % 8 == 0, "the entries of an array map are multiples of 8 bytes");

FileDescriptor make_array(std::size_t entry_bytes, std::size_t entries) {
  bpf_map_create_opts options{};
  options.sz = sizeof options;
  options.map_flags = BPF_F_MMAPABLE;
  return FileDescriptor(check_system_call(
      "make an array",
      bpf_map_create(BPF_MAP_TYPE_ARRAY, "match_test", 4, static_cast<std::uint32_t>(entry_bytes),
                     static_cast<std::uint32_t>(entries), &options)));
}

std::size_t page_bytes() {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

void* map_array(const FileDescriptor& array, std::size_t bytes) {
  void* memory = mmap(nullptr, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, array.get(), 0);
  if (memory == MAP_FAILED) throw std::runtime_error("map an array");
  return memory;
}

// Puts the address of the next input in register 6.
std::vector<bpf_insn> next_input(int position_map, int input_map) {
  const auto ld_map = [](std::uint8_t to, int map) {
    return bpf_insn{
        .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = to, .src_reg = BPF_PSEUDO_MAP_FD, .imm = map};
  };
  constexpr std::uint8_t kAdd = BPF_ALU64 | BPF_ADD | BPF_K, kCopy = BPF_ALU64 | BPF_MOV | BPF_X,
                         kSet = BPF_ALU64 | BPF_MOV | BPF_K, kLoad = BPF_LDX | BPF_MEM | BPF_W,
                         kStore = BPF_STX | BPF_MEM | BPF_W, kUnless0 = BPF_JMP | BPF_JNE | BPF_K,
                         kCall = BPF_JMP | BPF_CALL, kExit = BPF_JMP | BPF_EXIT;
  return {
      {.code = kSet, .dst_reg = 0},
      {.code = kStore, .dst_reg = 10, .src_reg = 0, .off = -4},
      {.code = kCopy, .dst_reg = 2, .src_reg = 10},
      {.code = kAdd, .dst_reg = 2, .imm = -4},
      ld_map(1, position_map),
      {},
      {.code = kCall, .imm = BPF_FUNC_map_lookup_elem},
      {.code = kUnless0, .dst_reg = 0, .off = 1},
      {.code = kExit},
      {.code = kLoad, .dst_reg = 1, .src_reg = 0},
      {.code = kStore, .dst_reg = 10, .src_reg = 1, .off = -4},
      {.code = kAdd, .dst_reg = 1, .imm = 1},
      {.code = kStore, .dst_reg = 0, .src_reg = 1},
      {.code = kCopy, .dst_reg = 2, .src_reg = 10},
      {.code = kAdd, .dst_reg = 2, .imm = -4},
      ld_map(1, input_map),
      {},
      {.code = kCall, .imm = BPF_FUNC_map_lookup_elem},
      {.code = kUnless0, .dst_reg = 0, .off = 1},
      {.code = kExit},
      {.code = kCopy, .dst_reg = 6, .src_reg = 0},
  };
}

std::vector<KernelInstruction> test_program(const TranslatedMatches& matches, int position_map,
                                            int input_map) {
  const std::vector<bpf_insn> begin = next_input(position_map, input_map);
  std::vector<KernelInstruction> program(begin.size());
  std::memcpy(static_cast<void*>(program.data()), begin.data(), begin.size() * sizeof(bpf_insn));
  program.insert(program.end(), matches.code.begin(), matches.code.end());
  program.push_back({.code = BPF_STX | BPF_MEM | BPF_W,
                     .destination = 6,
                     .source = 0,
                     .offset = offsetof(match_input, verdict)});
  program.push_back({.code = BPF_ALU64 | BPF_MOV | BPF_K});
  program.push_back({.code = BPF_JMP | BPF_EXIT});
  return program;
}

}  // namespace

LoadedProgram load_program(std::span<const KernelInstruction> code) {
  constexpr std::uint32_t kStatistics = 4, kAll = 1;
  const auto* instructions = reinterpret_cast<const bpf_insn*>(code.data());
  std::vector<char> text(4096);
  bpf_prog_load_opts options{};
  options.sz = sizeof options;
  const auto load = [&](std::uint32_t level) {
    text.assign(text.size(), '\0');
    options.log_level = level;
    options.log_buf = text.data();
    options.log_size = static_cast<std::uint32_t>(text.size());
    return bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "match_test", "GPL", instructions, code.size(), &options);
  };
  const int descriptor = load(kStatistics);
  if (descriptor >= 0) return {FileDescriptor(descriptor), std::string(text.data())};
  text.resize(16 << 20);
  load(kAll);
  const std::string all(text.data());
  throw std::runtime_error("the verifier refuses it: " +
                           all.substr(all.size() > 3000 ? all.size() - 3000 : 0));
}

MatchRunner::MatchRunner(const TranslatedMatches& matches)
    : position_map_(make_array(sizeof(std::uint32_t), 1)),
      input_map_(make_array(sizeof(match_input), kBatch)),
      position_(static_cast<std::uint32_t*>(map_array(position_map_, sizeof(std::uint32_t)))),
      inputs_(static_cast<match_input*>(map_array(input_map_, kBatch * sizeof(match_input)))),
      program_(load_program(test_program(matches, position_map_.get(), input_map_.get()))) {}

MatchRunner::~MatchRunner() {
  munmap(position_, whole_pages(sizeof(std::uint32_t)));
  munmap(inputs_, whole_pages(kBatch * sizeof(match_input)));
}

std::uint32_t MatchRunner::run(std::size_t count) {
  std::array<char, 64> packet{};
  *position_ = 0;
  bpf_test_run_opts options{};
  options.sz = sizeof options;
  options.data_in = packet.data();
  options.data_size_in = packet.size();
  options.repeat = static_cast<int>(count);
  check_system_call("run the program", bpf_prog_test_run_opts(program_.descriptor.get(), &options));
  if (*position_ != count) throw std::runtime_error("the program did not run as often as it should");
  return options.duration;
}

namespace {

constexpr std::uint32_t kBehind = 3;  // entry of the program array

FileDescriptor make_map(bpf_map_type type, std::size_t value_bytes, std::uint32_t entries) {
  return FileDescriptor(check_system_call(
      "make a map",
      bpf_map_create(type, "match_test", 4, static_cast<std::uint32_t>(value_bytes), entries, nullptr)));
}

std::vector<match_input> inputs_of_all_processors() {
  return std::vector<match_input>(static_cast<std::size_t>(libbpf_num_possible_cpus()));
}

int run_once(const FileDescriptor& program) {
  std::array<char, 64> packet{};
  bpf_test_run_opts options{};
  options.sz = sizeof options;
  options.data_in = packet.data();
  options.data_size_in = packet.size();
  check_system_call("run the program", bpf_prog_test_run_opts(program.get(), &options));
  return static_cast<int>(options.retval);
}

}  // namespace

NetworkTrie::NetworkTrie(const std::vector<Network>& networks, std::size_t address_bytes) {
  bpf_map_create_opts options{};
  options.sz = sizeof options;
  options.map_flags = BPF_F_NO_PREALLOC;
  const auto key_bytes = static_cast<std::uint32_t>(4 + address_bytes);
  map_ = FileDescriptor(check_system_call(
      "make a trie", bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, "match_test", key_bytes, 1, 100, &options)));
  for (const Network& network : networks) {
    std::array<std::uint8_t, 20> key{};
    std::memcpy(key.data(), &network.bits, 4);
    std::memcpy(key.data() + 4, network.address.data(), address_bytes);
    const std::uint8_t value = 1;
    check_system_call("add to a trie", bpf_map_update_elem(map_.get(), key.data(), &value, BPF_ANY));
  }
}

ProgramChain::ProgramChain(const TranslatedMatches& matches)
    : input_map_(make_map(BPF_MAP_TYPE_PERCPU_ARRAY, sizeof(match_input), 1)),
      programs_(make_map(BPF_MAP_TYPE_PROG_ARRAY, sizeof(std::uint32_t), kBehind + 1)),
      program_(load_program(whole_program(
          matches, {.input = input_map_.get(), .programs = programs_.get(), .next_entry = kBehind}))) {}

void ProgramChain::describe_to_all_processors(const match_input& input) {
  std::vector<match_input> inputs = inputs_of_all_processors();
  std::fill(inputs.begin(), inputs.end(), input);
  const std::uint32_t key = 0;
  check_system_call("write the input", bpf_map_update_elem(input_map_.get(), &key, inputs.data(), BPF_ANY));
}

void ProgramChain::put_program_behind(int result) {
  const std::vector<KernelInstruction> code{{.code = BPF_ALU64 | BPF_MOV | BPF_K, .immediate = result},
                                            {.code = BPF_JMP | BPF_EXIT}};
  const LoadedProgram program = load_program(code);
  const int descriptor = program.descriptor.get();
  check_system_call("put a program behind it",
                    bpf_map_update_elem(programs_.get(), &kBehind, &descriptor, BPF_ANY));
}

int ProgramChain::run() {
  return run_once(program_.descriptor);
}

std::uint32_t ProgramChain::verdict() const {
  constexpr std::uint32_t kUntouched = 0x1234'5678;
  std::vector<match_input> inputs = inputs_of_all_processors();
  const std::uint32_t key = 0;
  check_system_call("read the input", bpf_map_lookup_elem(input_map_.get(), &key, inputs.data()));
  for (const match_input& input : inputs) {
    if (input.verdict != kUntouched) return input.verdict;
  }
  return kUntouched;
}

}  // namespace headgate::test
