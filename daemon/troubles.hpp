// What is wrong with many interfaces, in a few words: each reason once, with the first of those that have it.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace headgate {

class Troubles {
 public:
  void add(const std::string& interface, const std::string& reason);

  bool empty() const { return by_reason_.empty(); }
  // "veth3: its MTU changed to 9000; veth1, veth2 and 7 others: …; and 2 further reasons". Empty: nothing is wrong.
  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> by_reason_;  // in order of appearance
};

}  // namespace headgate
