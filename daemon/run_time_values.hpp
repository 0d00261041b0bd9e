// What was said at run time of the configuration's keys, over what the files say: "set" and "limit".
//
// A value holds until its time is over, or another is said of its key, and through reloads as long as the files say of the key
// what they said when it was first changed. A restart forgets all.
//
// Main thread. A value type: a copy is what can be gone back to.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config_document.hpp"
#include "headgate/clock.hpp"

namespace headgate {

// Who said it and until when; both for people.
struct Saying {
  std::string who;
  std::optional<Instant> until;
};

class RunTimeValues {
 public:
  static constexpr std::size_t kMost = 4096;  // keys, and values for a time of each

  // `files` is what the files say. An empty key is a shape of its own, of which `value` is the table's text. An empty value
  // leaves out what the files say of the key. Throws a sentence for the administrator where there are too many.
  void say(const ConfigDocument& files, const TableName& table, const std::string& key,
           const std::string& value, const Saying& saying);

  // Also what was said of its keys. False: there is no such shape of run time.
  bool forget_shape(const TableName& shape);
  bool has_shape(const TableName& shape) const { return values_.contains({shape, ""}); }

  // True: some were.
  bool forget_past(Instant now);
  std::optional<Instant> next_end() const;

  // Keeps what goes on over other files; says what does not.
  void put_over(const ConfigDocument& files, std::vector<std::string>& messages);

  void apply_to(ConfigDocument& document) const;

  // What holds without an end, as a file; empty: nothing. That a key is left out cannot be said in a file on top of others.
  std::string to_file() const;

  struct Said {
    const TableName& table;
    const std::string& key;
    const std::string& value;
    const Saying& saying;
  };
  std::vector<Said> all() const;  // what holds now
  bool empty() const { return values_.empty(); }

 private:
  struct Value {
    std::string text;
    Saying saying;
  };
  struct Key {
    std::string in_files;       // when it was first said
    std::vector<Value> values;  // the last one holds; only the first may be without an end
  };
  std::map<std::pair<TableName, std::string>, Key> values_;
};

}  // namespace headgate
