#include "completion_names.hpp"

#include <net/if.h>

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "config/keys.hpp"
#include "config/names.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

// Patterns stand for the interfaces that match them.
void for_each_class(const Json& reply, const std::function<void(const std::string& full, const Json&)>& act) {
  for (const char* member : {"patterns", "shapes"}) {
    for (const Json& shape : reply.at(member)) {
      const std::string before =
          shape.at("interface").get<std::string>() + "/" + shape.at("direction").get<std::string>() + "/";
      for (const Json& one : shape.at("classes")) act(before + one.at("name").get<std::string>(), one);
    }
  }
}

}  // namespace

std::set<std::string> class_names(const Json& reply) {
  std::set<std::string> names;
  std::map<std::string, int> bare;
  for_each_class(reply, [&](const std::string& full, const Json& one) {
    names.insert(full);
    ++bare[one.at("name")];
  });
  for (const auto& [name, times] : bare) {
    if (times == 1) names.insert(name);
  }
  return names;
}

std::set<std::string> plan_names(const Json& reply, const std::string& class_name) {
  std::set<std::string> names = {"none"};
  for_each_class(reply, [&](const std::string& full, const Json& one) {
    if (!class_name.empty() && class_name != full && class_name != one.at("name")) return;
    for (const Json& plan : one.at("plans")) names.insert(plan.at("name"));
  });
  return names;
}

std::set<std::string> interface_names() {
  std::set<std::string> names;
  const std::unique_ptr<struct if_nameindex, void (*)(struct if_nameindex*)> all(if_nameindex(),
                                                                                 if_freenameindex);
  for (const auto* each = all.get(); each && each->if_name; ++each) {
    if (check_interface_name(each->if_name).ok()) names.insert(each->if_name);
  }
  return names;
}

std::set<std::string> key_names() {
  std::set<std::string> names;
  for (const ClassKey& key : class_keys()) {
    if (key.read && key.name != "name") names.insert(std::string(key.name) + "=");
  }
  return names;
}

}  // namespace headgate
