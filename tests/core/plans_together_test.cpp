// Plans whose members are together: one bucket and one queue for all addresses of a customer.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/class_plans.hpp"
#include "core/classifier.hpp"
#include "support/lone_shaper.hpp"
#include "support/manual_clock.hpp"
#include "support/naive_bucket.hpp"
#include "support/packet_builder.hpp"
#include "support/shaper_harness.hpp"

namespace headgate {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

constexpr std::uint64_t kSeed = 1;
constexpr std::size_t kFrameBytes = 100;

// Those of one customer, and of another.
const std::vector<std::string> kOurs = {"10.0.0.5", "10.0.9.3", "10.0.9.14", "2001:db8:5::1",
                                        "2001:db8:5:7::9"};
const std::vector<std::string> kOthers = {"10.0.0.6", "2001:db8:6::1"};

// "10.0.9.0/28"
Prefix prefix(const std::string& text) {
  const std::size_t slash = text.find('/');
  const std::string address = text.substr(0, slash);
  const bool ipv4 = address.find(':') == std::string::npos;
  std::array<std::uint8_t, 16> bytes{};
  if (ipv4) bytes[10] = bytes[11] = 0xff;
  EXPECT_EQ(inet_pton(ipv4 ? AF_INET : AF_INET6, address.c_str(), bytes.data() + (ipv4 ? 12 : 0)), 1) << text;
  const int before = ipv4 ? kIpv4PrefixBits : 0;
  const int length = slash == std::string::npos ? 128 : before + std::stoi(text.substr(slash + 1));
  return cut_to(bytes, static_cast<std::uint8_t>(length));
}

PlanConfig plan(std::string name, std::uint64_t rate, bool together, std::uint64_t queue = 100) {
  PlanConfig config;
  config.name = std::move(name);
  config.rate = packets_per_second(rate);
  config.queue.packets = queue;
  config.together = together;
  return config;
}

void set_members(ClassConfig& config, const std::map<std::string, PlanNumber>& members) {
  std::map<Prefix, PlanNumber> ordered;
  for (const auto& [text, plan] : members) ordered[prefix(text)] = plan;
  std::vector<Member> list;
  for (const auto& [prefix, plan] : ordered) list.push_back({prefix, plan});
  config.members.members = std::make_shared<const std::vector<Member>>(std::move(list));
}

constexpr PlanNumber kAcme = 0;   // together
constexpr PlanNumber kGold = 1;   // each on its own
constexpr PlanNumber kOther = 2;  // together

std::map<std::string, PlanNumber> members_of_acme() {
  return {{"10.0.0.5", kAcme}, {"10.0.9.0/28", kAcme}, {"2001:db8:5::/48", kAcme}};
}

// 10 packets a second each; acme 100 together, gold 50 each, other 200 together.
ClassConfig customers(const std::map<std::string, PlanNumber>& members = members_of_acme()) {
  ClassConfig config = shaped_class("customers", packets_per_second(10));
  config.plans = {plan("acme", 100, true), plan("gold", 50, false), plan("other", 200, true)};
  set_members(config, members);
  return config;
}

struct Sent {
  Instant ideal;
  std::string address;
  std::uint32_t serial = 0;
};

// Frames to addresses, by the classifier and shaper that a port has.
class Link {
 public:
  explicit Link(ClassConfig config, const TreeConfig& tree = {}, std::uint32_t max_flows = 65'536)
      : classifier_(classifier_of(config)),
        shaper({.max_flows = max_flows, .hash_seed = kSeed}, {config}, kTestStart, tree),
        tree_(tree) {}

  void arrive(const std::string& address, Shaper::Frames frames = Shaper::Frames::copied) {
    ArrivingPacket packet = make(address);
    shaper.admit({&packet, 1}, now, frames);
    if (frames == Shaper::Frames::lent) lent_.push_back(std::move(last_frame_));
    expect_law(shaper.statistics(now));
  }

  ArrivingPacket make(const std::string& address) {
    const bool ipv4 = address.find(':') == std::string::npos;
    PacketBuilder builder;
    ipv4 ? builder.ipv4("192.0.2.1", address) : builder.ipv6("2001:db8::1", address);
    last_frame_ = builder.udp(4000, 53).frame_size(frame_bytes).build();
    const std::uint32_t serial = serial_++;
    std::memcpy(last_frame_.data() + last_frame_.size() - sizeof serial, &serial, sizeof serial);
    addresses_.push_back(address);
    ArrivingPacket packet;
    packet.frame = last_frame_;
    packet.arrival = now;
    packet.charged_bytes = static_cast<std::uint32_t>(last_frame_.size());
    classifier_->classify(packet);
    shaper.shaper.gather(packet);
    return packet;
  }

  void change(const std::string& member, PlanNumber plan) {
    const Prefix network = prefix(member);
    Shaper::MemberUpdate update{.member = {network, plan}};
    update.key = only_key_of(network, classifier_->classes()[0].key);
    if (update.key) update.hash = hash_key(*update.key, class_hash_seed("customers", kSeed));
    shaper.shaper.change_member(0, update, now);
  }

  void reload(const ClassConfig& config) {
    classifier_ = classifier_of(config);
    shaper.reconfigure(
        {config}, [this](ArrivingPacket& packet) { classifier_->classify(packet); }, now, {}, tree_);
    expect_law(shaper.statistics(now));
  }

  std::vector<Sent> run(std::optional<Instant> end = std::nullopt) {
    std::vector<Sent> all;
    while (const auto next = shaper.next_release()) {
      if (end && *next > *end) break;
      now = std::max(now, *next);
      std::array<DuePacket, 16> due;
      const std::size_t count = shaper.release(now, due);
      for (const DuePacket& each : std::span(due).first(count)) {
        const std::vector<std::byte> frame = stored_frame(shaper, each);
        std::uint32_t serial = 0;
        std::memcpy(&serial, frame.data() + frame.size() - sizeof serial, sizeof serial);
        all.push_back({each.ideal, addresses_[serial], serial});
      }
      shaper.complete_sent(std::span(due).first(count), now);
      expect_law(shaper.statistics(now));
      // A turn in a tree that nobody takes is over at the next instant.
      if (count == 0) now += Duration(1);
    }
    if (end) now = std::max(now, *end);
    return all;
  }

  ClassStatistics statistics() { return shaper.statistics(now).classes[0]; }

  std::size_t flow_records() { return statistics().flows; }

  Instant now = kTestStart;
  std::size_t frame_bytes = kFrameBytes;

 private:
  static std::unique_ptr<Classifier> classifier_of(const ClassConfig& config) {
    return std::make_unique<Classifier>(std::vector{config}, Classifier::Matchers(1), kSeed);
  }

  std::unique_ptr<Classifier> classifier_;

 public:
  LoneShaper shaper;

 private:
  TreeConfig tree_;
  std::vector<std::byte> last_frame_;
  std::list<std::vector<std::byte>> lent_;
  std::vector<std::string> addresses_;  // by serial number
  std::uint32_t serial_ = 0;
};

std::vector<Duration> times(const std::vector<Sent>& sent) {
  std::vector<Duration> since;
  since.reserve(sent.size());
  for (const Sent& one : sent) since.push_back(one.ideal - kTestStart);
  return since;
}

std::vector<std::uint32_t> serials(const std::vector<Sent>& sent) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(sent.size());
  for (const Sent& one : sent) numbers.push_back(one.serial);
  return numbers;
}

// Of each address.
void expect_order(const std::vector<Sent>& sent) {
  std::map<std::string, std::uint32_t> last;
  for (const Sent& one : sent) {
    const auto [place, is_first] = last.try_emplace(one.address, one.serial);
    if (is_first) continue;
    EXPECT_LT(place->second, one.serial) << one.address;
    place->second = one.serial;
  }
}

std::vector<FlowStatistics> flows_of(Link& link) {
  std::vector<FlowStatistics> flows;
  link.shaper.visit_flows(0, 0, 1'000'000, [&](const FlowStatistics& one) { flows.push_back(one); });
  return flows;
}

TEST(PlansTogether, AllAddressesHaveOneBucketInTheOrderInWhichTheyCome) {
  Link link(customers());
  for (int i = 0; i < 2; ++i)
    for (const std::string& address : kOurs) link.arrive(address);
  const std::vector<Sent> sent = link.run();
  EXPECT_THAT(serials(sent), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  for (std::size_t i = 0; i < sent.size(); ++i)
    EXPECT_EQ(sent[i].ideal - kTestStart, i * milliseconds(10)) << i;
}

TEST(PlansTogether, TheyAreOneFlowThatStandsForThePlan) {
  Link link(customers());
  for (const std::string& address : kOurs) link.arrive(address);
  const std::vector<FlowStatistics> flows = flows_of(link);
  ASSERT_EQ(flows.size(), 1u);
  EXPECT_EQ(flows[0].key, plan_key("acme"));
  EXPECT_EQ(flows[0].plan, kAcme);
  EXPECT_EQ(flows[0].queued.packets, kOurs.size());
  EXPECT_EQ(link.flow_records(), 1u);
}

TEST(PlansTogether, AnotherCustomerIsUntouched) {
  Link link(customers());
  for (int i = 0; i < 50; ++i)
    for (const std::string& address : kOurs) link.arrive(address);
  for (const std::string& address : kOthers)
    for (int i = 0; i < 2; ++i) link.arrive(address);
  std::map<std::string, std::vector<Duration>> of;
  for (const Sent& one : link.run()) of[one.address].push_back(one.ideal - kTestStart);
  for (const std::string& address : kOthers)
    EXPECT_THAT(of[address], ElementsAre(milliseconds(0), milliseconds(100))) << address;
}

TEST(PlansTogether, TheQueueIsThatOfThePlan) {
  ClassConfig config = customers();
  config.plans[kAcme].queue.packets = 3;
  Link link(config);
  for (int i = 0; i < 4; ++i)
    for (const std::string& address : kOurs) link.arrive(address);
  EXPECT_EQ(link.statistics().queued.packets, 1u + 3u) << "one leaves at once";
  EXPECT_EQ(dropped_for(link.statistics(), DropReason::queue_full).packets, 20u - 4u);
}

TEST(PlansTogether, TheFlowStaysWhileAnyAddressIsActive) {
  ClassConfig config = customers();
  config.plans[kAcme].burst.packets = 2;
  Link link(config);
  link.arrive("10.0.0.5");
  link.run();
  for (int i = 0; i < 100; ++i) {
    link.now += std::chrono::seconds(30);
    link.arrive(i % 2 ? "10.0.9.3" : "2001:db8:5::1");
    link.run();
    ASSERT_EQ(link.flow_records(), 1u);
  }
  EXPECT_EQ(flows_of(link)[0].sent.packets, 101u);
  link.now += std::chrono::seconds(61);
  EXPECT_EQ(link.flow_records(), 0u);
}

TEST(PlansTogether, WhatWaitsGoesWithAnAddressThatJoins) {
  Link link(customers());
  for (int i = 0; i < 5; ++i) link.arrive("10.0.0.6");  // 0 to 4
  for (int i = 0; i < 3; ++i) link.arrive("10.0.0.5");  // 5 to 7
  link.run(kTestStart + milliseconds(1));               // 0 and 5
  link.change("10.0.0.6", kAcme);
  link.arrive("10.0.0.6");  // 8
  const std::vector<Sent> sent = link.run();
  EXPECT_THAT(serials(sent), ElementsAre(6, 7, 1, 2, 3, 4, 8));
  EXPECT_EQ(sent.back().ideal - sent.front().ideal, milliseconds(60));
  EXPECT_EQ(flows_of(link).size(), 1u) << "the address has none of its own any more";
}

TEST(PlansTogether, WhatWaitsGoesWithAnAddressThatLeaves) {
  Link link(customers());
  for (int i = 0; i < 4; ++i) {
    link.arrive("10.0.9.3");  // even
    link.arrive("10.0.0.5");  // odd
  }
  link.run(kTestStart + milliseconds(1));  // 0
  link.change("10.0.9.3", kGold);
  link.arrive("10.0.9.3");  // 8
  std::map<std::string, std::vector<std::uint32_t>> of;
  const std::vector<Sent> sent = link.run();
  for (const Sent& one : sent) of[one.address].push_back(one.serial);
  EXPECT_THAT(of["10.0.9.3"], ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(of["10.0.0.5"], ElementsAre(1, 3, 5, 7));
  EXPECT_LE(sent.back().ideal - kTestStart, milliseconds(1 + 60)) << "50 a second on its own";
}

TEST(PlansTogether, ANetworkMovesWithAllThatWaitsInIt) {
  Link link(customers());
  for (int i = 0; i < 3; ++i)
    for (const std::string& address : kOurs) link.arrive(address);
  link.change("10.0.9.0/28", kOther);
  link.arrive("10.0.9.3");
  std::vector<std::pair<PlanNumber, std::uint64_t>> queued;
  for (const FlowStatistics& one : flows_of(link)) queued.push_back({one.plan, one.queued.packets});
  EXPECT_THAT(queued, testing::UnorderedElementsAre(std::pair(kAcme, 9u), std::pair(kOther, 7u)));
  expect_order(link.run());
}

TEST(PlansTogether, FramesThatAreLentMoveToo) {
  Link link(customers());
  link.frame_bytes = 1000;
  for (int i = 0; i < 4; ++i) {
    link.arrive("10.0.9.3", Shaper::Frames::lent);
    link.arrive("2001:db8:5::1", Shaper::Frames::lent);
  }
  link.change("2001:db8:5::/48", kNoPlan);
  link.arrive("10.0.9.3");
  EXPECT_EQ(flows_of(link).size(), 2u);
  link.shaper.schedule.keep_lent();
  const std::vector<Sent> sent = link.run();
  EXPECT_EQ(sent.size(), 9u);
  expect_order(sent);
}

TEST(PlansTogether, MovesReachAShapeThatIsSuspended) {
  Link link(customers());
  for (int i = 0; i < 3; ++i)
    for (const char* const address : {"10.0.0.5", "10.0.0.6"}) link.arrive(address);
  link.shaper.shaper.suspend();
  link.change("10.0.0.6", kAcme);
  link.statistics();
  link.shaper.shaper.resume(link.now);
  const std::vector<Sent> sent = link.run();
  EXPECT_EQ(sent.size(), 6u);
  EXPECT_EQ(sent.back().ideal - sent.front().ideal, milliseconds(50));
  expect_order(sent);
}

TEST(PlansTogether, AReloadBringsThemTogetherAndApart) {
  ClassConfig apart = customers();
  apart.plans[kAcme].together = false;
  Link link(apart);
  for (int i = 0; i < 3; ++i)
    for (const std::string& address : kOurs) link.arrive(address);
  EXPECT_EQ(flows_of(link).size(), kOurs.size());
  link.reload(customers());
  for (const std::string& address : kOurs) link.arrive(address);
  const std::vector<FlowStatistics> flows = flows_of(link);
  ASSERT_EQ(flows.size(), 1u);
  EXPECT_EQ(flows[0].queued.packets, 4 * kOurs.size());
  std::vector<Sent> sent = link.run(link.now + milliseconds(95));
  EXPECT_EQ(sent.size(), 10u);
  link.reload(apart);
  EXPECT_EQ(link.statistics().queued.packets, 10u);
  const std::vector<Sent> rest = link.run();
  sent.insert(sent.end(), rest.begin(), rest.end());
  EXPECT_EQ(sent.size(), 4 * kOurs.size());
  expect_order(sent);
  link.arrive("10.0.0.6");
  EXPECT_EQ(flows_of(link).size(), 1 + kOurs.size());
}

TEST(PlansTogether, APlanKeepsItsFlowWhenAReloadMovesIt) {
  Link link(customers());
  for (int i = 0; i < 10; ++i) link.arrive("10.0.0.5");
  link.run(kTestStart + milliseconds(35));
  ClassConfig next = customers();
  std::swap(next.plans[kAcme], next.plans[kOther]);
  set_members(next, {{"10.0.0.5", kOther}, {"10.0.0.9", kAcme}});
  link.reload(next);
  const std::vector<FlowStatistics> flows = flows_of(link);
  ASSERT_EQ(flows.size(), 1u);
  EXPECT_EQ(flows[0].plan, kOther);
  EXPECT_EQ(flows[0].sent.packets, 4u);
  EXPECT_THAT(times(link.run()), ElementsAre(milliseconds(40), milliseconds(50), milliseconds(60),
                                             milliseconds(70), milliseconds(80), milliseconds(90)));
}

TEST(PlansTogether, WhatWaitsInAPlanThatIsGoneGoesOn) {
  Link link(customers());
  for (int i = 0; i < 3; ++i)
    for (const std::string& address : kOurs) link.arrive(address);
  ClassConfig next = customers({});
  next.plans.clear();
  link.reload(next);
  EXPECT_EQ(flows_of(link).size(), kOurs.size());
  const std::vector<Sent> sent = link.run();
  EXPECT_EQ(sent.size(), 3 * kOurs.size());
  expect_order(sent);
  EXPECT_EQ(link.statistics().dropped, DropCounts{});
}

TEST(PlansTogether, InATreeTheyAreOneKeyAmongTheOthers) {
  ClassConfig config = customers();
  config.rate = {};
  config.place.ceiling = BitRate{kFrameBytes * 8 * 20};  // 20 packets a second
  config.plans[kAcme].rate = packets_per_second(1000);
  Link link(config);
  for (int i = 0; i < 10; ++i) {
    for (const std::string& address : kOurs) link.arrive(address);
    link.arrive("10.0.0.6");
  }
  std::map<std::string, int> of;
  for (const Sent& one : link.run(kTestStart + milliseconds(500)))
    ++of[one.address == "10.0.0.6" ? "other" : "ours"];
  EXPECT_GE(of["other"], 4);
  EXPECT_LE(of["ours"], 7);
}

// All that there is of one bucket over all members, against a bucket as plain as can be, at every step.
TEST(PlansTogether, DeparturesAreThoseOfOneBucketForAllMembers) {
  std::mt19937 random(17);
  const auto up_to = [&random](unsigned most) {
    return std::uniform_int_distribution<unsigned>(0, most)(random);
  };
  std::map<std::string, PlanNumber> members = members_of_acme();
  members["10.1.0.0/24"] = kOther;
  members["10.1.0.64/26"] = kGold;
  ClassConfig config = customers(members);
  config.plans[kAcme].burst.packets = 3;
  config.plans[kOther].queue.packets = 7;
  std::vector<std::string> addresses = kOurs;
  for (const char* more : {"10.0.0.6", "2001:db8:6::1", "10.1.0.1", "10.1.0.2", "10.1.0.65", "10.1.0.66"})
    addresses.emplace_back(more);
  const auto bucket_of = [&](std::size_t number) -> std::string {
    if (number < kOurs.size()) return "acme";
    return number == 7 || number == 8 ? "other" : addresses[number];
  };
  std::map<std::string, NaiveBucket> buckets;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::string name = bucket_of(i);
    const PlanNumber plan = name == "acme" ? kAcme : name == "other" ? kOther : i >= 9 ? kGold : kNoPlan;
    if (plan == kNoPlan)
      buckets.try_emplace(name, config.rate, config.burst, config.queue);
    else
      buckets.try_emplace(name, config.plans[plan].rate, config.plans[plan].burst, config.plans[plan].queue);
  }
  Link link(config);
  std::vector<Sent> sent;
  std::map<std::uint32_t, Instant> expected;  // by serial number
  std::uint32_t serial = 0;
  for (int step = 0; step < 8'000; ++step) {
    const std::size_t number = up_to(static_cast<unsigned>(addresses.size() - 1));
    const auto departure = buckets.at(bucket_of(number)).arrive(link.now, {1, kFrameBytes});
    if (departure) expected[serial] = *departure;
    link.arrive(addresses[number]);
    ++serial;
    const std::vector<Sent> more = link.run(link.now + Duration(up_to(5'000'000)));
    sent.insert(sent.end(), more.begin(), more.end());
  }
  const std::vector<Sent> rest = link.run();
  sent.insert(sent.end(), rest.begin(), rest.end());
  EXPECT_GT(dropped_for(link.statistics(), DropReason::queue_full).packets, 0u);
  ASSERT_EQ(sent.size(), expected.size());
  for (const Sent& one : sent) ASSERT_EQ(one.ideal, expected.at(one.serial)) << one.serial;
}

struct MoveCase {
  std::string name;
  std::uint64_t link = 0;  // packets a second; 0: none, and no tree
  std::uint64_t faster =
      1;  // so many times faster are the plans: then it is the link that holds them, in rounds
};
class PlansTogetherMoves : public testing::TestWithParam<MoveCase> {};

// Whatever moves while packets wait: nothing is lost but for want of room, addresses stay in order, and what leaves by a plan
// leaves at its rate.
TEST_P(PlansTogetherMoves, KeepTheLawTheOrderAndTheRate) {
  std::mt19937 random(23);
  const auto up_to = [&random](unsigned most) {
    return std::uniform_int_distribution<unsigned>(0, most)(random);
  };
  ClassConfig config = customers({});
  TreeConfig tree;
  if (GetParam().link > 0) tree.rate = BitRate{GetParam().link * kFrameBytes * 8};
  config.rate = packets_per_second(10 * GetParam().faster);
  for (PlanConfig& plan : config.plans)
    plan.rate = packets_per_second(plan.rate.packets->packets * GetParam().faster);
  Link link(config, tree);
  const std::vector<std::string> networks = {"10.0.0.0/24", "10.0.0.0/30",   "10.0.0.1",      "10.0.0.2",
                                             "10.0.0.5",    "2001:db8::/32", "2001:db8:5::1", "::/0"};
  const std::vector<std::string> addresses = {"10.0.0.1", "10.0.0.2",      "10.0.0.5",
                                              "10.9.9.9", "2001:db8:5::1", "2001:db8:6::1"};
  std::map<std::string, PlanNumber> members;
  std::vector<Sent> sent;
  std::map<std::string, Instant> last_by_plan;
  const auto plan_of = [&](const std::string& address) {
    MemberTable table({}, 3, 64);
    for (const auto& [network, plan] : members) table.put({prefix(network), plan});
    return table.plan_of(prefix(address).address);
  };
  const auto take = [&](const std::vector<Sent>& more, bool judged) {
    for (const Sent& one : more) {
      const PlanNumber plan = plan_of(one.address);
      if (judged && (plan == kAcme || plan == kOther)) {
        const auto [last, is_first] = last_by_plan.try_emplace(config.plans[plan].name, one.ideal);
        if (!is_first) {
          EXPECT_GE(one.ideal - last->second, milliseconds(plan == kAcme ? 10 : 5) / GetParam().faster)
              << one.serial;
          last->second = one.ideal;
        }
      }
      sent.push_back(one);
    }
  };
  std::uint32_t offered = 0;
  for (int step = 0; step < 8'000; ++step) {
    const std::string& address = addresses[up_to(static_cast<unsigned>(addresses.size() - 1))];
    if (up_to(9) == 0) {
      const std::string& network = networks[up_to(static_cast<unsigned>(networks.size() - 1))];
      const unsigned drawn = up_to(3);
      const auto plan = drawn == 3 ? kNoPlan : static_cast<PlanNumber>(drawn);
      if (plan == kNoPlan)
        members.erase(network);
      else
        members[network] = plan;
      link.change(network, plan);
    } else if (up_to(199) == 0) {
      if (up_to(1) == 0) config.plans[kGold].together = !config.plans[kGold].together;
      set_members(config, members);
      link.reload(config);
    }
    link.arrive(address);
    ++offered;
    take(link.run(link.now + Duration(up_to(8'000'000))), true);
  }
  take(link.run(), true);
  expect_order(sent);
  const Count dropped = total(link.statistics().dropped);
  EXPECT_EQ(dropped.packets, dropped_for(link.statistics(), DropReason::queue_full).packets);
  EXPECT_EQ(sent.size() + dropped.packets, offered);
  EXPECT_GT(sent.size(), offered / 4);
}

INSTANTIATE_TEST_SUITE_P(, PlansTogetherMoves,
                         testing::Values(MoveCase{"ByTheWheel"}, MoveCase{"InATree", 1'000'000},
                                         MoveCase{"InRounds", 200, 100}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace headgate
