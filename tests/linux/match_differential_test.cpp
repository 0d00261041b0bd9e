// Translated matches in the kernel against the classifier, which runs libpcap's own interpreter, over packets made at random from a fixed seed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pcap/pcap.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/match_expression.hpp"
#include "config/match_program.hpp"
#include "core/classifier.hpp"
#include "core/packet_notes.hpp"
#include "linux/match_packets.hpp"
#include "linux/match_runner.hpp"
#include "linux/match_translator.hpp"
#include "linux/network_lab.hpp"
#include "linux/network_maps.hpp"
#include "pipeline/frame_prefix.hpp"

namespace headgate::test {
namespace {

// They are slower under the sanitizers.
#ifdef NDEBUG
constexpr std::size_t kBatches = 6;
constexpr unsigned kLists = 300;
#else
constexpr std::size_t kBatches = 1;
constexpr unsigned kLists = 10;
#endif

std::string alternatives(const std::string& first, const std::string& more, int count, int step) {
  std::string text = first + more + "1";
  for (int i = 1; i < count; ++i) text += " or " + more + std::to_string(1 + i * step);
  return text;
}

const std::vector<std::string>& expressions() {
  static const std::vector<std::string> all{
      "ip",
      "ip6",
      "udp",
      "tcp",
      "icmp",
      "icmp6",
      "udp port 53",
      "tcp port 443",
      "port domain or ntp",
      "net 10.0.0.0/8",
      "net 10",
      "host 10.0.0.1 or 10.0.0.2",
      "src net 10.1.0.0/16",
      "dst host 192.0.2.1 and tcp port http",
      "portrange 6000-6008",
      "tcp portrange 6000-6008 or udp src portrange 1-2000",
      "udp dst portrange 5000-5999",
      "tcp dst port 80 or 443",
      "ip proto 50",
      "ip proto \\icmp",
      "ether host 02:00:00:00:00:01",
      "ether src 02-00-00-00-00-02",
      "ether broadcast",
      "multicast",
      "ip multicast",
      "ip6 host 2001:db8::1",
      "host fe80::dead:beef",
      "net 2001:db8::/32",
      "ip6 net fd77::/64",
      "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
      "tcp[tcpflags] & (tcp-syn|tcp-ack) = tcp-syn",
      "tcp[tcpflags] & tcp-push != 0",
      "tcp[13] = 16",
      "net 10.0.0.0/8 and tcp[tcpflags] & tcp-ack != 0",
      "icmp[icmptype] = icmp-echo",
      "icmp6[icmp6type] = icmp6-echo",
      "icmp6[0] >= 133 and icmp6[0] <= 137",
      "len > 100",
      "greater 64 and less 400",
      "len % 2 = 1",
      "len / 3 > 100",
      "ip[8] < 5",
      "ip[8:1] = 64",
      "ip[1] & 0xfc = 0xb8",
      "ip[0] & 0xf != 5",
      "ip[2:2] > 500",
      "ip[4:2] & 1 = 1",
      "ip[6:2] & 0x1fff = 0",
      "ip[16:4] = 0x0a000001",
      "ip[8] % 3 = 1",
      "ip[9] ^ 6 = 0",
      "ip[8] << 2 > 200",
      "ip[12:4] << 3 > 1000",
      "ip[12:4] >> ip[8] & 7 = 1",
      "ip[12:4] << ip[8] = 0",
      "1000 / ip[8] > 20",
      "ip[12:4] % ip[1] = 0",
      "ip[12:4] * ip[16:4] > 12345678",
      "ip[8] | ip[9] = 70",
      "ip[ip[8]:2] = 0x0101",
      "ip[12:4] = ip[16:4]",
      "ether[ether[14]] = 4",
      "ether[ether[15]:4] > 77",
      "ether[12:2] = 0x86dd",
      "ether[6:4] = 0x02000000",
      "ether[200:4] > 0x80000000",
      "ether[252:4] > 0x80000000",
      "ether[253:4] > 0x80000000",
      "ether[300] = 0x10",
      "ether[5000] = 1",
      "ether[0xffffffff] = 1 or udp",
      "ip[242:4] > 7",
      "udp[4:2] >= 100",
      "udp[8:4] = 0x00010203",
      "udp[2:2] = 53 or udp[0:2] = 53",
      "tcp[((tcp[12:1] & 0xf0) >> 2):4] = 0x00010203",
      "tcp[240] = 1",
      "udp[255:2] > 3",
      "sctp port 80",
      "esp or ah",
      "igmp or pim or vrrp",
      "not tcp port 22",
      "not (tcp port 22 or udp port 53)",
      "!(udp and port 53) && ip",
      "ip and not net 10.0.0.0/8 and not dst port 443",
      "ip6[6] = 17",
      "ip6[4:2] > 100",
      "ip6[40:4] > 0x0fa00035",
      "ip6 protochain 6",
      "ip protochain 17",
      "ip protochain 17 or tcp",
      "udp port 53 and ip6 protochain 17",
      "arp or rarp",
      "arp host 10.0.0.1",
      "mpls",
      "pppoes and udp",
      "iso or stp or atalk",
      "ether proto 0x0800",
      "port 53 and host 10.0.0.1 and len < 400 and ip[8] > 3",
      alternatives("host ", "10.0.0.", 90, 1),
      alternatives("not udp and host ", "10.0.0.", 60, 3),
      alternatives("port ", "", 100, 53),
      "not (" + alternatives("port ", "", 60, 1) + ") and len > 64",
      "(" + alternatives("src net ", "10.0.0.", 40, 1) + ") and not (" + alternatives("port ", "", 50, 1) +
          ")",
  };
  return all;
}

// As MatchProgram and MatchTree run it, but as if only the first `bytes` of the packet could be read.
MatchVerdict run_clipped(const ClassicMatch& match, std::span<const std::byte> frame, std::size_t bytes) {
  if (match.kind == ClassicMatch::Kind::program) {
    if (match.program.empty()) return MatchVerdict::no;
    const unsigned result =
        bpf_filter(reinterpret_cast<const bpf_insn*>(match.program.data()),
                   reinterpret_cast<const unsigned char*>(frame.data()), static_cast<unsigned>(frame.size()),
                   static_cast<unsigned>(std::min(bytes, frame.size())));
    return result == 0 ? MatchVerdict::outside : result == 1 ? MatchVerdict::no : MatchVerdict::yes;
  }
  const MatchVerdict goes_on = match.kind == ClassicMatch::Kind::any ? MatchVerdict::no : MatchVerdict::yes;
  MatchVerdict verdict = goes_on;
  for (const ClassicMatch& child : match.children) {
    verdict = run_clipped(child, frame, bytes);
    if (verdict != goes_on) break;
  }
  if (match.kind != ClassicMatch::Kind::negation || verdict == MatchVerdict::outside) return verdict;
  return verdict == MatchVerdict::yes ? MatchVerdict::no : MatchVerdict::yes;
}

const CgroupPlaces& test_places() {
  static const CgroupPlaces places = [] {
    CgroupPlaces made;
    for (unsigned number = 0; number < 32; number += 31 / 3)
      made.push_back(
          std::make_shared<const CgroupPlace>(CgroupPlace{.path = std::to_string(number), .number = number}));
    return made;
  }();
  return places;
}

struct TestClass {
  std::string expression;
  CompiledMatch compiled;

  explicit TestClass(const std::string& text) : expression(text), compiled(compile_match(text)) {
    if (!compiled.matcher) throw std::invalid_argument(compiled.error);
  }
};

// For the classifier and, as the daemon loads it, for the translator.
struct TestNetworks {
  std::shared_ptr<const NetworkSet> set = std::make_shared<const NetworkSet>(
      Networks{.ipv4 = {{0x0a00'0000, 0x0a00'00ff}, {0x0a00'0101, 0x0a00'01fe}, {0xc000'0201, 0xc000'0201}},
               .ipv6 = {{Ipv6Number{0xfd77} << 112, (Ipv6Number{0xfd78} << 112) - 1}}},
      std::vector<std::string>{});
  NetworkMaps maps{*set};
};

// What the kernel notes beside a packet.
struct TestNotes {
  std::uint32_t mark = 0;
  std::uint32_t cgroups = 0;
};

// Of a class, beside its expression.
struct TestSelectors {
  std::uint64_t dscp = 0;
  const TestNetworks* source = nullptr;
  const TestNetworks* destination = nullptr;
  std::vector<MarkSelector> marks{};
  std::vector<std::string> cgroups{};  // those of test_places()
};

// The same classes for both.
class TestClasses {
 public:
  void add(const TestClass& each, const TestSelectors& wanted = {}) {
    configs_.emplace_back();
    configs_.back().name = std::to_string(configs_.size());
    configs_.back().bypass = true;
    Selectors& selectors = configs_.back().selectors;
    selectors.dscp = wanted.dscp;
    selectors.marks = wanted.marks;
    selectors.cgroups = wanted.cgroups;
    matchers_.push_back(each.compiled.matcher);
    translatable_.push_back({.dscp = wanted.dscp, .marks = wanted.marks});
    translatable_.back().match = *each.compiled.code;
    if (wanted.source != nullptr) {
      selectors.source.networks = wanted.source->set;
      translatable_.back().source = wanted.source->maps.tries();
    }
    if (wanted.destination != nullptr) {
      selectors.destination.networks = wanted.destination->set;
      translatable_.back().destination = wanted.destination->maps.tries();
    }
    text_ += each.expression + "\n";
    classifier_.emplace(configs_, matchers_, 1, kDefaultControlLimit, test_places());
    translatable_.back().cgroups = classifier_->cgroup_bits(configs_.size() - 1);
  }

  // As user space has it, by libpcap's interpreter.
  std::uint32_t classified(std::span<const std::byte> frame, const TestNotes& noted = {}) const {
    const PacketNotes notes{.mark = noted.mark};
    Frame memory(kWholePrefixBytes);
    std::memcpy(memory.data(), &notes, sizeof notes);
    memory.insert(memory.end(), frame.begin(), frame.end());
    ArrivingPacket packet;
    packet.frame = std::span<const std::byte>(memory).subspan(kWholePrefixBytes);
    packet.prefix_bytes = kWholePrefixBytes;
    packet.cgroups = noted.cgroups;
    classifier_->classify(packet);
    return packet.class_index;
  }

  // Whether any class asks for what has not been copied.
  bool read_behind_copy(std::span<const std::byte> frame) const {
    if (frame.size() <= MATCH_INPUT_BYTES) return false;
    return std::any_of(translatable_.begin(), translatable_.end(), [&](const ClassToTranslate& each) {
      return run_clipped(*each.match, frame, MATCH_INPUT_BYTES) == MatchVerdict::outside;
    });
  }

  const std::vector<ClassToTranslate>& translatable() const { return translatable_; }
  const std::string& text() const { return text_; }

 private:
  std::vector<ClassConfig> configs_;
  Classifier::Matchers matchers_;
  std::vector<ClassToTranslate> translatable_;
  std::string text_;
  std::optional<Classifier> classifier_;
};
static_assert(MATCH_UNMATCHED == kUnmatched);

std::string describe_frame(std::span<const std::byte> frame) {
  std::string text = std::to_string(frame.size()) + " bytes:";
  for (const std::byte byte : frame.first(std::min<std::size_t>(frame.size(), 300))) {
    char hex[4];
    std::snprintf(hex, sizeof hex, " %02x", std::to_integer<unsigned>(byte));
    text += hex;
  }
  return text;
}

struct Tally {
  std::size_t packets = 0;
  std::size_t taken_out = 0;
  std::size_t in_class = 0;
};

class MatchDifferential : public testing::Test {
 protected:
  void SetUp() override {
    if (!NetworkLab::permitted()) GTEST_SKIP() << "NOT TESTED: this needs root";
  }

  void compare(const TestClasses& classes, std::uint32_t seed, std::size_t batches);
  void compare_ordinary(const TestClasses& classes, MatchRunner& runner, bool decided,
                        PacketMutator& packets);
  void compare_super_packets(const TestClasses& classes, MatchRunner& runner, PacketMutator& packets);

  // Of few different bits, so that classes take some.
  TestNotes note(match_input& input) {
    const TestNotes notes{.mark = random_bits() % 4 << 30 | random_bits() % 4,
                          .cgroups = random_bits() & random_bits()};
    input.mark = notes.mark;
    input.cgroups = notes.cgroups;
    return notes;
  }

  std::uint32_t random_bits() { return static_cast<std::uint32_t>(notes_random_()); }

  std::mt19937 notes_random_{11};
  Tally ordinary_;
  Tally super_packets_;
};

void MatchDifferential::compare(const TestClasses& classes, std::uint32_t seed, std::size_t batches) {
  SCOPED_TRACE(classes.text());
  const auto translated = translate_matches(classes.translatable());
  ASSERT_TRUE(translated.has_value());
  MatchRunner runner(*translated);
  PacketMutator packets(seed);
  for (std::size_t batch = 0; batch < batches && !HasFailure(); ++batch)
    compare_ordinary(classes, runner, translated->undecided.empty(), packets);
  compare_super_packets(classes, runner, packets);
}

void MatchDifferential::compare_ordinary(const TestClasses& classes, MatchRunner& runner, bool decided,
                                         PacketMutator& packets) {
  std::vector<Frame> frames;
  std::vector<TestNotes> notes;
  for (match_input& input : runner.inputs()) {
    frames.push_back(packets.next());
    describe(frames.back(), input);
    notes.push_back(note(input));
  }
  runner.run(frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const std::span<const std::byte> frame = frames[i];
    const std::uint32_t verdict = runner.inputs()[i].verdict;
    const std::uint32_t expected = classes.classified(frame, notes[i]);
    ++ordinary_.packets;
    if (verdict == MATCH_TAKE_OUT) ++ordinary_.taken_out;
    if (verdict < MATCH_UNMATCHED) ++ordinary_.in_class;
    const bool may_be_taken_out = !decided || classes.read_behind_copy(frame);
    if (verdict == MATCH_TAKE_OUT && may_be_taken_out) continue;
    ASSERT_EQ(verdict, expected) << describe_frame(frame);
  }
}

void MatchDifferential::compare_super_packets(const TestClasses& classes, MatchRunner& runner,
                                              PacketMutator& packets) {
  constexpr std::size_t kCount = 256;
  std::vector<TestSuperPacket> super_packets;
  std::vector<TestNotes> notes;
  for (match_input& input : runner.inputs().first(kCount)) {
    super_packets.push_back(packets.next_super_packet());
    super_packets.back().describe(input);
    notes.push_back(note(input));
  }
  runner.run(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::uint32_t verdict = runner.inputs()[i].verdict;
    const std::vector<Frame> segments = super_packets[i].segments();
    ASSERT_GE(segments.size(), 2U) << describe_frame(super_packets[i].frame);
    ++super_packets_.packets;
    if (verdict == MATCH_TAKE_OUT) ++super_packets_.taken_out;
    if (verdict < MATCH_UNMATCHED) ++super_packets_.in_class;
    for (std::size_t s = 0; s < segments.size() && verdict != MATCH_TAKE_OUT; ++s) {
      ASSERT_EQ(verdict, classes.classified(segments[s], notes[i]))
          << "segment " << s << " of " << describe_frame(super_packets[i].frame);
    }
  }
}

TEST_F(MatchDifferential, OneClass) {
  std::uint32_t seed = 1;
  for (const std::string& expression : expressions()) {
    TestClasses one;
    one.add(TestClass(expression));
    compare(one, seed++, kBatches);
    if (HasFailure()) return;
  }
  std::printf("%zu packets, %zu of them in the class, %zu taken out\n", ordinary_.packets, ordinary_.in_class,
              ordinary_.taken_out);
  std::printf("%zu super-packets, %zu of them in the class, %zu taken out\n", super_packets_.packets,
              super_packets_.in_class, super_packets_.taken_out);
}

TEST_F(MatchDifferential, ManyClasses) {
  std::vector<TestClass> all;
  for (const std::string& expression : expressions()) all.emplace_back(expression);
  const TestNetworks networks;
  std::mt19937 random(7);
  const auto one_in = [&random](unsigned chances) { return random() % chances == 0; };
  for (unsigned list = 0; list < kLists && !HasFailure(); ++list) {
    TestClasses some;
    for (std::size_t count = 2 + random() % 8; count > 0; --count) {
      TestSelectors selectors{.dscp = one_in(4) ? std::uint64_t{random()} << 32 | random() : 0,
                              .source = one_in(6) ? &networks : nullptr,
                              .destination = one_in(6) ? &networks : nullptr};
      const std::uint32_t bits = static_cast<std::uint32_t>(random());
      if (one_in(5))
        selectors.marks = {{.value = bits & 0xc000'0001, .mask = 0xc000'0001}, {.value = bits % 4}};
      if (one_in(5)) selectors.cgroups = {test_places()[bits % test_places().size()]->path, "0"};
      some.add(all[random() % all.size()], selectors);
    }
    compare(some, 1000 + list, 1);
  }
  std::printf("%zu packets, %zu of them in a class, %zu taken out\n", ordinary_.packets, ordinary_.in_class,
              ordinary_.taken_out);
  std::printf("%zu super-packets, %zu of them in a class, %zu taken out\n", super_packets_.packets,
              super_packets_.in_class, super_packets_.taken_out);
}

}  // namespace
}  // namespace headgate::test
