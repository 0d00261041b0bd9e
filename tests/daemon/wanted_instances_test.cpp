#include "wanted_instances.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headgate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ShapeConfig shape(const std::string& interface, Direction direction = Direction::egress) {
  ShapeConfig config;
  config.interface = interface;
  config.direction = direction;
  return config;
}

Link link(int index, const std::string& name, std::vector<std::string> alternative_names = {}) {
  Link link;
  link.index = index;
  link.name = name;
  link.alternative_names = std::move(alternative_names);
  return link;
}

TEST(WantedInstances, AreTheLinksThatMatch) {
  EXPECT_THAT(wanted_instances({shape("veth*")},
                               {link(1, "lo"), link(2, "eth0"), link(3, "veth1"), link(4, "veth2")}),
              ElementsAre(WantedInstance{0, "veth1", 3}, WantedInstance{0, "veth2", 4}));
}

TEST(WantedInstances, AreNoneWithoutALinkOrAPattern) {
  EXPECT_THAT(wanted_instances({shape("veth*")}, {}), IsEmpty());
  EXPECT_THAT(wanted_instances({shape("veth1")}, {link(3, "veth1")}), IsEmpty());
  EXPECT_THAT(wanted_instances({}, {link(3, "veth1")}), IsEmpty());
}

TEST(WantedInstances, LeaveOutTheLoopbackAndOwnDevices) {
  EXPECT_THAT(wanted_instances({shape("*")}, {link(1, "lo"), link(7, "hg0"), link(8, "hg0p"), link(9, "a")}),
              ElementsAre(WantedInstance{0, "a", 9}));
}

TEST(WantedInstances, AnExactNameBeatsAPatternWhereverItStands) {
  const std::vector<Link> links = {link(3, "veth1"), link(4, "veth2")};
  EXPECT_THAT(wanted_instances({shape("veth*"), shape("veth1")}, links),
              ElementsAre(WantedInstance{0, "veth2", 4}));
  EXPECT_THAT(wanted_instances({shape("veth1"), shape("veth*")}, links),
              ElementsAre(WantedInstance{1, "veth2", 4}));
}

TEST(WantedInstances, AnAlternativeNameIsAnExactNameToo) {
  EXPECT_THAT(wanted_instances({shape("veth*"), shape("wan0")}, {link(3, "veth1", {"wan0"})}), IsEmpty());
}

TEST(WantedInstances, AreNotMatchedByAlternativeNames) {
  EXPECT_THAT(wanted_instances({shape("veth*")}, {link(3, "eth0", {"veth9"})}), IsEmpty());
}

TEST(WantedInstances, OfSeveralPatternsTheFirstDecides) {
  const std::vector<Link> links = {link(3, "veth1"), link(4, "veth22")};
  EXPECT_THAT(wanted_instances({shape("veth?"), shape("*")}, links),
              ElementsAre(WantedInstance{0, "veth1", 3}, WantedInstance{1, "veth22", 4}));
  EXPECT_THAT(wanted_instances({shape("*"), shape("veth?")}, links),
              ElementsAre(WantedInstance{0, "veth1", 3}, WantedInstance{0, "veth22", 4}));
}

TEST(WantedInstances, DirectionsAreMatchedApart) {
  EXPECT_THAT(wanted_instances({shape("veth1"), shape("veth*", Direction::ingress)}, {link(3, "veth1")}),
              ElementsAre(WantedInstance{1, "veth1", 3}));
}

TEST(WantedInstances, AnInlineShapeHasTheIngressOfItsInterface) {
  ShapeConfig wire = shape("veth1", Direction::ingress);
  wire.forward_to = "veth2";
  EXPECT_THAT(
      wanted_instances({shape("veth*", Direction::ingress), wire}, {link(3, "veth1"), link(4, "veth2")}),
      ElementsAre(WantedInstance{0, "veth2", 4}));
}

TEST(WantedInstances, LeaveOutWhatAShapeHoldsByAnotherName) {
  EXPECT_THAT(wanted_instances({shape("eth0"), shape("veth*")}, {link(3, "veth1")}, {{3, Direction::egress}}),
              IsEmpty());
  EXPECT_THAT(
      wanted_instances({shape("eth0"), shape("veth*")}, {link(3, "veth1")}, {{3, Direction::ingress}}),
      ElementsAre(WantedInstance{1, "veth1", 3}));
}

TEST(WantedInstances, AnInstanceIsItsPatternWithANameOfItsOwn) {
  ShapeConfig pattern = shape("veth*", Direction::ingress);
  pattern.workers = 2;
  ShapeConfig expected = pattern;
  expected.interface = "veth1";
  expected.pattern = "veth*";
  EXPECT_EQ(instance_of(pattern, "veth1"), expected);
}

TEST(WantedInstances, PatternsAreNoNamedShapes) {
  EXPECT_EQ(named_shapes({shape("eth0"), shape("veth*"), shape("eth1")}),
            (std::vector<ShapeConfig>{shape("eth0"), shape("eth1")}));
}

}  // namespace
}  // namespace headgate
