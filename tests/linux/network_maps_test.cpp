#include "linux/network_maps.hpp"

#include <bpf/bpf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <random>
#include <set>
#include <string>

#include "linux/network_lab.hpp"

namespace headgate {
namespace {

class NetworkMapsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::NetworkLab::permitted()) GTEST_SKIP() << "NOT TESTED: this needs root";
  }

  // As a program finds it.
  template <typename Number>
  static bool has(int trie, Number address) {
    struct {
      std::uint32_t bits = 8 * sizeof(Number);
      std::array<std::uint8_t, sizeof(Number)> bytes{};
    } key;
    for (std::size_t i = sizeof(Number); i-- > 0; address = static_cast<Number>(address >> 8))
      key.bytes[i] = static_cast<std::uint8_t>(address);
    std::uint8_t value = 0;
    return trie >= 0 && bpf_map_lookup_elem(trie, &key, &value) == 0;
  }
  static std::size_t entries(int trie) {
    std::array<std::uint8_t, 20> key{};
    std::size_t count = 0;
    for (void* last = nullptr; bpf_map_get_next_key(trie, last, key.data()) == 0; last = key.data()) ++count;
    return count;
  }
};

std::shared_ptr<const NetworkSet> set_of(Networks networks, const std::string& text = "") {
  return std::make_shared<const NetworkSet>(std::move(networks), std::vector<std::string>{text});
}

TEST_F(NetworkMapsTest, HaveNoTrieOfAFamilyWithoutNetworks) {
  const NetworkMaps none(*set_of({}));
  EXPECT_EQ(none.tries().ipv4, -1);
  EXPECT_EQ(none.tries().ipv6, -1);
  const NetworkMaps v4(*set_of({.ipv4 = {{1, 1}}, .ipv6 = {}}));
  EXPECT_GE(v4.tries().ipv4, 0);
  EXPECT_EQ(v4.tries().ipv6, -1);
}

TEST_F(NetworkMapsTest, HaveAllAddressesAsOneNetwork) {
  const NetworkMaps all(*set_of({.ipv4 = {{0, ~Ipv4Number{0}}}, .ipv6 = {{0, ~Ipv6Number{0}}}}));
  EXPECT_EQ(entries(all.tries().ipv4), 1U);
  EXPECT_EQ(entries(all.tries().ipv6), 1U);
  for (const Ipv4Number address : {Ipv4Number{0}, Ipv4Number{1}, ~Ipv4Number{0}})
    EXPECT_TRUE(has(all.tries().ipv4, address));
  EXPECT_TRUE(has(all.tries().ipv6, ~Ipv6Number{0}));
}

TEST_F(NetworkMapsTest, AgreeWithTheSetAtTheEndsOfEveryRange) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20; ++round) {
    Networks networks;
    for (int i = 0; i < 100; ++i) {
      const unsigned host_bits = random() % 33;
      const auto ones = static_cast<Ipv4Number>((std::uint64_t{1} << (host_bits / 2)) - 1);
      const auto first = static_cast<Ipv4Number>(random()) & ~ones;
      networks.ipv4.push_back({first, first | ones});
      const Ipv6Number wide =
          (Ipv6Number{random()} << 64 | random()) & ~((Ipv6Number{1} << 3 * host_bits) - 1);
      networks.ipv6.push_back({wide, wide | ((Ipv6Number{1} << 3 * host_bits) - 1)});
    }
    const Networks given = networks;
    const auto set = set_of(std::move(networks));
    const NetworkMaps maps(*set);
    for (const auto& range : given.ipv4) {
      for (const Ipv4Number address : {range.first, range.last, range.first - 1, range.last + 1})
        ASSERT_EQ(has(maps.tries().ipv4, address), set->has_ipv4(address)) << address;
    }
    for (const auto& range : given.ipv6) {
      for (const Ipv6Number address : {range.first, range.last, range.first - 1, range.last + 1})
        ASSERT_EQ(has(maps.tries().ipv6, address), set->has_ipv6(address));
    }
  }
}

TEST_F(NetworkMapsTest, LoadsAHundredThousandNetworks) {
  Networks networks;
  for (Ipv4Number i = 0; i < 100'000; ++i) networks.ipv4.push_back({i * 40'000, i * 40'000 + 255});
  const auto set = set_of(std::move(networks));
  const auto begin = std::chrono::steady_clock::now();
  const NetworkMaps maps(*set);
  const auto taken = std::chrono::steady_clock::now() - begin;
  RecordProperty("ms",
                 static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(taken).count()));
  EXPECT_LT(taken, std::chrono::seconds(10)) << "one after the other";
  for (Ipv4Number i = 0; i < 100'000; i += 997) {
    EXPECT_TRUE(has(maps.tries().ipv4, i * 40'000 + 255));
    EXPECT_FALSE(has(maps.tries().ipv4, i * 40'000 + 256 * 64));
  }
}

TEST_F(NetworkMapsTest, AreSharedByEqualSetsAsLongAsAnybodyHasThem) {
  int loaded = 0;
  SharedNetworkMaps shared([&loaded] { ++loaded; });
  const auto one = set_of({.ipv4 = {{1, 2}}, .ipv6 = {}}),
             same = set_of({.ipv4 = {{1, 1}, {2, 2}}, .ipv6 = {}});
  const auto other = set_of({.ipv4 = {{1, 3}}, .ipv6 = {}});
  auto maps = shared.get(one);
  EXPECT_EQ(shared.get(same), maps);
  EXPECT_NE(shared.get(other), maps);
  EXPECT_EQ(loaded, 2);
  std::weak_ptr<const NetworkMaps> gone = maps;
  maps.reset();
  EXPECT_TRUE(gone.expired());
  shared.get(one);
  EXPECT_EQ(loaded, 3);
}

}  // namespace
}  // namespace headgate
