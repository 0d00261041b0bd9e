// The names that completion offers: what headgated has now, what the host has, what the configuration knows.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

namespace headgate {

// Of the reply to a "show" request: "eth0/egress/dns", and "dns" where that is unique.
std::set<std::string> class_names(const nlohmann::ordered_json& reply);

// Of a class as it is called above, of all classes where it is "". With "none", which is no plan.
std::set<std::string> plan_names(const nlohmann::ordered_json& reply, const std::string& class_name);

// Those of the host that can be shaped.
std::set<std::string> interface_names();

// "rate=": the keys of a class in the configuration.
std::set<std::string> key_names();

}  // namespace headgate
