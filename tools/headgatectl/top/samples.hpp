// What top knows: links, their classes, and the flows of the class that is open, each with what it did lately.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "top/history.hpp"

namespace headgate::top {

// A link, a class or a flow. Its texts are as headgated gives them, not yet fit for a terminal.
struct Row {
  std::string key;                   // tells it from the others of its level, from one look to the next
  std::string name;                  // what is shown
  std::string limit;                 // "1000pps", "bypass"; empty: none
  std::string trouble;               // a sentence on what is wrong; empty: nothing
  std::vector<std::string> details;  // lines for the row that is selected
  std::uint64_t queued = 0;          // packets
  std::uint64_t flows = 0;
  bool opens = false;  // there is a level below it
  History history;
};

using Rows = std::vector<Row>;

class Samples {
 public:
  using Json = nlohmann::ordered_json;

  // Replies to "show" and "flows". What a reply does not hold any more is forgotten. Throw nlohmann's exception for
  // one that lacks a part.
  void add_show(const Json& reply);
  void add_flows(const std::string& class_name, const Json& reply);

  const Rows& links() const { return links_; }            // keys: "eth0/egress"
  const Rows& classes_of(const std::string& link) const;  // keys: "eth0/egress/clients"; empty: it is gone

  // Flows are known of one class, that of the last reply.
  bool knows_flows_of(const std::string& class_name) const { return class_name == open_class_; }
  const Rows& flows_of(const std::string& class_name) const;
  std::uint64_t flows_in_all() const { return flows_in_all_; }  // those beyond the largest included

  double seconds() const { return seconds_; }            // between the last two looks; 0: not known
  const std::string& daemon() const { return daemon_; }  // which one answers: version, process, for how long

 private:
  void add_shape(const Json& shape, Rows& links, std::map<std::string, Rows>& classes);

  std::string daemon_;
  Rows links_;
  std::map<std::string, Rows> classes_;  // by link
  std::string open_class_;
  Rows flows_;
  std::uint64_t flows_in_all_ = 0;
  double seconds_ = 0;
  std::vector<double> delay_bounds_;
  Json show_, flows_reply_;  // heads of the last replies: which process, and when
};

}  // namespace headgate::top
