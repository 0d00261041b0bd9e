// A DaemonControl with fixed statistics: two shapes, a class name that occurs twice, all kinds of counts.
#pragma once

#include <arpa/inet.h>
#include <algorithm>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/control_handler.hpp"

namespace headgate {

inline FlowKey ipv4_key(const char* source, const char* destination, std::uint8_t protocol = 0,
                        std::uint16_t source_port = 0, std::uint16_t destination_port = 0) {
  FlowKey key;
  auto set = [](std::array<std::uint8_t, 16>& side, const char* text) {
    if (!text) return;
    side[10] = side[11] = 0xff;
    inet_pton(AF_INET, text, side.data() + 12);
  };
  set(key.source, source);
  set(key.destination, destination);
  key.protocol = protocol;
  key.source_port = source_port;
  key.destination_port = destination_port;
  return key;
}

class FakeDaemon : public DaemonControl {
 public:
  FakeDaemon();

  DaemonStatus status() override { return status_now; }

  std::optional<std::vector<FlowStatistics>> flows(const FlowsQuery& query) override {
    queries.push_back(query);
    auto found =
        flows_of.find(query.interface + (query.direction == Direction::egress ? "/egress/" : "/ingress/") +
                      query.class_name);
    if (found == flows_of.end()) found = flows_of.find(query.class_name);
    if (found == flows_of.end()) return std::nullopt;
    std::vector<FlowStatistics> result = found->second;
    if (result.size() > query.limit) result.resize(query.limit);
    for (FlowStatistics& flow : found->second) flow.sent += growth_per_query;
    status_now.uptime += time_per_query;
    return result;
  }

  ExplainResult explain(const ExplainQuery& query) override {
    explain_queries.push_back(query);
    return explain_result;
  }

  ChangeResult reload(const std::string&) override {
    ++reloads;
    return reload_result;
  }
  ChangeResult set(const SetRequest& request, const std::string& who) override {
    sets.push_back(request);
    makers.push_back(who);
    return change_result;
  }
  ChangeResult limit(const LimitRequest& request, const std::string&) override {
    limits.push_back(request);
    return change_result;
  }
  ChangeResult unlimit(const LimitRequest& request, const std::string&) override {
    unlimits.push_back(request);
    return change_result;
  }
  ChangeResult try_text(const TryRequest& request, const std::string&) override {
    trials.push_back(request);
    return change_result;
  }
  ChangeResult confirm(const std::string&) override { return change_result; }
  ChangeResult undo(const std::string&) override { return change_result; }
  DiffResult diff() override { return diff_result; }
  SaveResult save() override { return save_result; }

  CaptureResult capture(const CaptureQuery& query) override {
    capture_queries.push_back(query);
    if (!capture_refusal.empty()) return {nullptr, capture_refusal};
    tap = std::make_shared<PacketTap>(query.class_name, query.events);
    return {std::make_shared<CaptureStream>(tap, query.interface + "/egress/" + query.class_name, Duration{}),
            ""};
  }

  std::vector<const ShapeConfig*> shapes() const override {
    std::vector<const ShapeConfig*> shapes;
    for (const ShapeStatistics& shape : status_now.shapes)
      if (shape.config.pattern.empty()) shapes.push_back(&shape.config);
    for (const PatternStatistics& pattern : status_now.patterns) shapes.push_back(&pattern.sum.config);
    return shapes;
  }

  MemberResult change_member(const MemberChange& change, const std::string&) override {
    member_changes.push_back(change);
    return member_result;
  }

  DaemonStatus status_now;
  std::vector<MemberChange> member_changes;
  MemberResult member_result{.ok = true};
  std::vector<CaptureQuery> capture_queries;
  std::vector<ExplainQuery> explain_queries;
  ExplainResult explain_result;
  std::shared_ptr<PacketTap> tap;  // of the last capture
  std::string capture_refusal;
  std::map<std::string, std::vector<FlowStatistics>> flows_of;  // by the name in full; else by "clients"
  std::vector<FlowsQuery> queries;
  Count growth_per_query;     // what each flow has sent more from one look to the next
  Duration time_per_query{};  // and the time that goes by meanwhile
  ChangeResult reload_result{true, {"1 class changed"}};
  std::vector<SetRequest> sets;
  std::vector<std::string> makers;  // who set
  std::vector<LimitRequest> limits;
  std::vector<LimitRequest> unlimits;
  std::vector<TryRequest> trials;
  ChangeResult change_result{true, {"changed: eth0/egress"}};
  DiffResult diff_result;
  SaveResult save_result;
  int reloads = 0;
};

inline FakeDaemon::FakeDaemon() {
  using namespace std::chrono_literals;

  ClassConfig dns;
  dns.name = "dns";
  dns.match = "udp port 53";
  dns.bypass = true;

  ClassConfig clients;
  clients.name = "clients";
  clients.match = "net 10.0.0.0/8";
  clients.key.destination_address = true;
  clients.rate.packets = PacketRate{1000};
  clients.queue.packets = 100;

  ClassConfig video;
  video.name = "video";
  video.selectors.dscp = std::uint64_t{1} << 34 | std::uint64_t{1} << 3;
  video.selectors.source.networks =
      std::make_shared<const NetworkSet>(Networks{.ipv4 = {{0x0a000000, 0x0affffff}}, .ipv6 = {}},
                                         std::vector<std::string>{"10.0.0.0/8", "/etc/headgate/clients"});
  video.selectors.marks = {{.value = 0x10, .mask = 0xff}, {.value = 7}};
  video.selectors.cgroups = {"system.slice/backup.service"};
  video.key.source_address = video.key.destination_address = video.key.ports = true;
  video.rate = {PacketRate{5000}, BitRate{20'000'000}};
  video.queue.packets = 50;

  ShapeStatistics eth0;
  eth0.interface = "eth0";
  eth0.diverting = true;
  eth0.divert = DivertMethod::tcx;
  eth0.config.interface = "eth0";
  eth0.config.capture = CaptureMethod::bpf;
  eth0.config.classes = {dns, clients};
  eth0.lost_ring = 3;
  eth0.unshaped = {7, 2, 1500ms};
  eth0.hooks = {.unshapable = {5, 700}, .control_traffic = {40, 3'200}, .foreign = {2, 180}};
  ClassStatistics dns_counts{"dns", 0, {50, 5'000}, {50, 5'000}, {}, {}, {}};
  ClassStatistics clients_counts{"clients",
                                 20,
                                 {60'000, 3'600'000},
                                 {20'000, 1'200'000},
                                 {},
                                 {100, 6'000},
                                 {97'000us, 99'500us, 100'012'345ns}};
  clients_counts.dropped[static_cast<std::size_t>(DropReason::queue_full)] = {39'897, 2'393'820};
  clients_counts.dropped[static_cast<std::size_t>(DropReason::send_failed)] = {3, 180};
  clients_counts.delays.packets[1] = clients_counts.delays.packets.back() = 10;
  clients_counts.delays.packets[11] = 90;
  clients_counts.delays.packets[12] = 19'890;
  clients_counts.delays.microseconds = 1'940'500'000;
  eth0.shaper.unmatched = {1'000, 64'000};
  eth0.shaper.classes = {dns_counts, clients_counts};
  eth0.shaper.received = {61'050, 3'669'000};
  eth0.shaper.sent = {21'050, 1'269'000};
  eth0.shaper.dropped = clients_counts.dropped;
  eth0.shaper.queued = {100, 6'000};

  ShapeStatistics eth1;
  eth1.interface = "eth1";
  eth1.direction = Direction::ingress;
  eth1.state = "the interface is down";
  eth1.divert = DivertMethod::clsact;
  eth1.config.interface = "eth1";
  eth1.config.capture = CaptureMethod::bpf;
  eth1.config.direction = Direction::ingress;
  eth1.config.classes = {clients, video};
  eth1.shaper.classes = {ClassStatistics{"clients", 0, {}, {}, {}, {}, {}},
                         ClassStatistics{"video", 2, {}, {}, {}, {}, {}}};

  status_now = {"0.1.0", "/etc/headgate/headgate.toml", 1234, 7'980'250ms, {}, {eth0, eth1}, {}};

  flows_of["clients"] = {
      {ipv4_key(nullptr, "10.0.0.2"), kNoPlan, {12'000, 720'000}, {100, 6'000}, {60, 3'600}},
      {ipv4_key(nullptr, "10.0.0.3"), kNoPlan, {8'000, 480'000}, {39'797, 2'387'820}, {40, 2'400}}};
  flows_of["video"] = {{ipv4_key("10.0.0.1", "10.0.0.2", 17, 5000, 53), kNoPlan, {5, 300}, {}, {1, 60}}};
}

// "veth*" with two instances, of which the second is open; a third, that is gone, has counted 5 packets.
inline void add_pattern(FakeDaemon& daemon) {
  ClassConfig tenants;
  tenants.name = "tenants";
  tenants.key.destination_address = true;
  tenants.rate.packets = PacketRate{500};
  tenants.queue.packets = 100;
  const auto make = [&tenants](const char* interface, std::uint64_t flows, const Count& count) {
    ShapeStatistics shape;
    shape.interface = shape.config.interface = interface;
    shape.config.pattern = "veth*";
    shape.config.capture = CaptureMethod::bpf;
    shape.config.classes = {tenants};
    shape.divert = DivertMethod::tcx;
    shape.diverting = true;
    shape.shaper.classes = {ClassStatistics{"tenants", flows, count, count, {}, {}, {}}};
    shape.shaper.received = shape.shaper.sent = count;
    return shape;
  };
  daemon.status_now.shapes.push_back(make("veth1", 2, {60, 6'000}));
  daemon.status_now.shapes.push_back(make("veth2", 1, {10, 1'000}));
  daemon.status_now.shapes.back().diverting = false;
  daemon.status_now.shapes.back().state = "the interface is down";
  PatternStatistics pattern;
  pattern.sum = make("veth*", 3, {75, 7'500});
  pattern.sum.diverting = false;
  pattern.sum.state = "veth2: the interface is down; veth-odd: cannot be shaped: it has no frames";
  pattern.interfaces = {"veth1", "veth2"};
  pattern.diverting = 1;
  pattern.not_shaped = {{"veth-odd", "it has no frames"}};
  daemon.status_now.patterns.push_back(std::move(pattern));
  daemon.flows_of["tenants"] = {{ipv4_key(nullptr, "10.1.0.2"), kNoPlan, {60, 6'000}, {}, {}},
                                {ipv4_key(nullptr, "10.1.0.3"), kNoPlan, {9, 900}, {}, {}}};
}

// The class "clients" of eth0 has plans, and its first flow one of them.
inline void add_plans(FakeDaemon& daemon) {
  ShapeStatistics& eth0 = daemon.status_now.shapes[0];
  ClassConfig& clients = eth0.config.classes[1];
  clients.plans = {{.name = "gold", .rate = {std::nullopt, BitRate{10'000'000}}, .members_file = ""},
                   {.name = "silver", .rate = {std::nullopt, BitRate{2'000'000}}, .members_file = ""}};
  eth0.shaper.classes[1].members = {50'000, 1};
  daemon.flows_of["clients"][0].plan = 0;
}

// The class "clients" of eth1 is by source: what comes from two clients, of which eth0 knows one, and from a plan whose members
// are together.
inline void add_the_other_way(FakeDaemon& daemon) {
  add_plans(daemon);
  ClassConfig& up = daemon.status_now.shapes[1].config.classes[0];
  up.key = {.source_address = true};
  up.plans = {
      {.name = "acme", .rate = {std::nullopt, BitRate{1'000'000}}, .together = true, .members_file = ""}};
  daemon.status_now.shapes[1].shaper.classes[0].flows = 3;
  daemon.status_now.shapes[0].config.classes[1].plans.push_back(up.plans[0]);
  FlowKey acme = ipv4_key("10.9.9.9", nullptr);
  acme.protocol = kProtocolOfPlans;
  acme.source_port = kPortOfPlans;
  daemon.flows_of["eth1/ingress/clients"] = {
      {ipv4_key("10.0.0.2", nullptr), kNoPlan, {100, 6'000}, {}, {1, 60}},
      {acme, 0, {50, 3'000}, {2, 120}, {}},
      {ipv4_key("10.0.0.77", nullptr), kNoPlan, {10, 600}, {}, {}}};
  daemon.flows_of["clients"].push_back({acme, 2, {400, 24'000}, {}, {}});
}

}  // namespace headgate
