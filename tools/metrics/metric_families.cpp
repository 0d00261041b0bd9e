#include "metric_families.hpp"

#include <nlohmann/json.hpp>

namespace headgate {
namespace {

using enum MetricType;

constexpr MetricFamily kDaemonMetrics[] = {
    {"headgate_uptime_seconds", gauge, "Time since headgated was started.", "/uptime_s"},
    {"headgate_kernel_lacks", gauge,
     "Number of things that the kernel does not have and headgated would use.", "/kernel_lacks", size_of},
};

constexpr MetricFamily kInterfaceMetrics[] = {
    {"headgate_open", gauge,
     "1 while packets of the interface go on unshaped, because headgated does not take them out of the "
     "kernel.",
     "", one_if_open},
    {"headgate_troubled", gauge, "1 while something is wrong with the interface; headgatectl show says what.",
     "/state", one_if_said},
    {"headgate_starved", gauge, "1 while the workers of the interface have too little processor time.",
     "/starved", one_if_true},
    {"headgate_interface_packets_received", counter,
     "Packets that came to headgated, of all classes and of none, those of removed classes included.",
     "/received/packets"},
    {"headgate_interface_bytes_received", counter, "Bytes of these.", "/received/bytes"},
    {"headgate_interface_packets_sent", counter, "Packets that headgated sent, of all classes and of none.",
     "/sent/packets"},
    {"headgate_interface_bytes_sent", counter, "Bytes of these.", "/sent/bytes"},
    {"headgate_interface_dropped_bytes", counter, "Bytes of packets that headgated dropped.",
     "/dropped/bytes"},
    {"headgate_interface_queued_packets", gauge, "Packets that wait now.", "/queued/packets"},
    {"headgate_interface_queued_bytes", gauge, "Bytes of these.", "/queued/bytes"},
    {"headgate_unmatched_packets", counter, "Packets that no class matched, sent unshaped.",
     "/unmatched/packets"},
    {"headgate_unmatched_bytes", counter, "Bytes of these.", "/unmatched/bytes"},
    {"headgate_unshaped_packets", counter,
     "Packets that the dead-man switch let pass by headgated; in no other count.", "/unshaped/packets"},
    {"headgate_openings", counter, "How often the dead-man switch was open.", "/unshaped/times"},
    {"headgate_open_seconds", counter, "Time for which the dead-man switch was open.", "/unshaped/seconds"},
    {"headgate_unshapable_packets", counter,
     "Packets that passed by headgated because they cannot be taken out of the kernel; in no other count.",
     "/unshapable/packets"},
    {"headgate_control_traffic_packets", counter,
     "Packets of control traffic that passed by headgated within its limit; in no other count.",
     "/control_traffic/packets"},
    {"headgate_foreign_packets", counter,
     "Frames that another program sent on headgate's own devices, dropped; in no other count.",
     "/foreign/packets"},
    {"headgate_schedule_shifts", counter,
     "How often a departure came so late that what is behind it was moved, too.", "/schedule_shifts/times"},
    {"headgate_schedule_shift_seconds", counter, "By how much in all.", "/schedule_shifts/seconds"},
    {"headgate_link_rate_bytes_per_second", gauge, "Rate of the link, as configured.", "/rate",
     bytes_per_second},
    {"headgate_pattern_interfaces", gauge, "Interfaces that match the pattern and are shaped.", "/interfaces",
     size_of},
    {"headgate_pattern_diverting_interfaces", gauge, "How many of these do not stand open.",
     "/diverting_interfaces"},
    {"headgate_pattern_refused_interfaces", gauge, "Interfaces that match the pattern and cannot be shaped.",
     "/not_shaped", size_of},
};

constexpr MetricFamily kGroupMetrics[] = {
    {"headgate_group_ceiling_bytes_per_second", gauge, "Ceiling of the group, as configured.", "/ceiling",
     bytes_per_second},
};

constexpr MetricFamily kBudgetMetrics[] = {
    {"headgate_budget_rate_bytes_per_second", gauge,
     "What this host may send now; without a sample it has no limit.", "/rate_bps", bytes_of_bits},
    {"headgate_budget_want_bytes_per_second", gauge, "What this host wants to send.", "/want_bps",
     bytes_of_bits},
    {"headgate_budget_share_bytes_per_second", gauge, "This host's fair share, as Redis told last.",
     "/told/share_bps", bytes_of_bits},
    {"headgate_budget_used_bytes_per_second", gauge,
     "What all hosts together may use, the floors of absent ones included, as Redis told last.",
     "/told/used_bps", bytes_of_bits},
    {"headgate_budget_hosts", gauge, "Hosts that have a part, as Redis told last.", "/told/hosts"},
    {"headgate_budget_cut_off", gauge, "1 while this host has no lease.", "/lease_ends_in_s", one_if_null},
    {"headgate_budget_answer_age_seconds", gauge, "Time since Redis answered.", "/answered_ago_s"},
    {"headgate_budget_total_bytes_per_second", gauge, "Rate of all hosts together, as configured.",
     "/config/rate", bytes_per_second},
    {"headgate_budget_floor_bytes_per_second", gauge, "Floor of each host, as configured.", "/config/floor",
     bytes_per_second},
    {"headgate_budget_disagreement", gauge, "1 while the files of the hosts say different terms of it.",
     "/told/agreed", one_if_false},
};

constexpr MetricFamily kAnyClassMetrics[] = {
    {"headgate_packets_received", counter, "Packets of the class that came to headgated.",
     "/received/packets"},
    {"headgate_bytes_received", counter, "Bytes of these.", "/received/bytes"},
    {"headgate_packets_sent", counter, "Packets of the class that were sent.", "/sent/packets"},
    {"headgate_bytes_sent", counter, "Bytes of these.", "/sent/bytes"},
};

constexpr MetricFamily kShapedClassMetrics[] = {
    {"headgate_dropped_bytes", counter, "Bytes of packets of the class that were dropped.", "/dropped/bytes"},
    {"headgate_queued_packets", gauge, "Packets of the class that wait now.", "/queued/packets"},
    {"headgate_queued_bytes", gauge, "Bytes of these.", "/queued/bytes"},
    {"headgate_flows", gauge, "Flows of the class that are remembered.", "/flows"},
    {"headgate_packets_guaranteed", counter,
     "Packets that left by the guarantee of their class; the rest borrowed.", "/guaranteed/packets"},
    {"headgate_bytes_guaranteed", counter, "Bytes of these.", "/guaranteed/bytes"},
    {"headgate_packets_marked", counter, "Packets sent with congestion experienced, set by queue management.",
     "/marked/packets"},
    {"headgate_packets_remarked", counter,
     "Packets that exceeded what is policed and left with another code point.", "/remarked/packets"},
    {"headgate_held", gauge,
     "1 while a ceiling, of the class, of a group or of the link, keeps its packets back.", "/held_by",
     one_if_said},
    {"headgate_class_rate_bytes_per_second", gauge, "Rate of each bucket of the class, as configured.",
     "/rate", bytes_per_second},
    {"headgate_class_rate_packets_per_second", gauge, "Rate of each bucket of the class, as configured.",
     "/rate", packets_per_second},
    {"headgate_guarantee_bytes_per_second", gauge, "Guarantee of the class, as configured.", "/guarantee",
     bytes_per_second},
    {"headgate_ceiling_bytes_per_second", gauge, "Ceiling of the class, as configured.", "/ceiling",
     bytes_per_second},
};

constexpr MetricFamily kPlanMetrics[] = {
    {"headgate_plan_members", gauge, "Members of the plan that are in force.", "/members"},
    {"headgate_plan_rate_bytes_per_second", gauge, "Rate of each bucket by the plan, as configured.", "/rate",
     bytes_per_second},
    {"headgate_plan_rate_packets_per_second", gauge, "Rate of each bucket by the plan, as configured.",
     "/rate", packets_per_second},
};

}  // namespace

std::span<const MetricFamily> daemon_metrics() {
  return kDaemonMetrics;
}

std::span<const MetricFamily> interface_metrics() {
  return kInterfaceMetrics;
}

std::span<const MetricFamily> group_metrics() {
  return kGroupMetrics;
}

std::span<const MetricFamily> budget_metrics() {
  return kBudgetMetrics;
}

std::span<const MetricFamily> any_class_metrics() {
  return kAnyClassMetrics;
}

std::span<const MetricFamily> shaped_class_metrics() {
  return kShapedClassMetrics;
}

std::span<const MetricFamily> plan_metrics() {
  return kPlanMetrics;
}

}  // namespace headgate
