// A limiter for each key: a client, an address, a tenant. The number of keys is bounded.
//
// A key begins with a copy of `fresh`. It is forgotten only when others need its place, and only when it gains nothing by that:
// when its limiter is as a new one again. A key that still has debt or a used window stays. When all places are taken and
// nobody may go, a new key is refused as no_room, and those that are known go on.
//
// Time is one for all keys, the latest that any of them has seen: so nobody gains by a clock that goes back. Limiter is any of
// this library's with allow() and as_new_at(). Not thread-safe: one mutex around it, or one Keyed for each thread.
//
// A known key takes one look-up in a hash table; a new one, and a forgotten one, O(log keys) beside it, averaged over the
// calls. Memory: for each key the limiter, the key and about 100 bytes. Where strangers choose the keys, Hash should be one
// that they cannot aim at. Errors: std::bad_alloc, and nothing was charged.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <unordered_map>
#include <utility>

#include "headgate/answer.hpp"

namespace headgate {

template <typename Key, typename Limiter, typename Hash = std::hash<Key>, typename Equal = std::equal_to<Key>>
class Keyed {
 public:
  Keyed(std::size_t most_keys, Limiter fresh) : most_keys_(most_keys), fresh_(std::move(fresh)) {}
  Keyed(const Keyed&) = delete;
  Keyed& operator=(const Keyed&) = delete;

  // May n units of this key pass now?
  Answer allow(const Key& key, std::uint64_t n, Instant now) {
    Limiter* limiter = find(key, now);
    return limiter == nullptr ? Answer{Refusal::no_room} : limiter->allow(n, latest_);
  }

  // The key's limiter, to be used until the next call of any function here, at now(); nullptr: there is no room.
  Limiter* find(const Key& key, Instant now) {
    settle(now);
    auto found = entries_.find(key);
    if (found == entries_.end()) {
      if (entries_.size() >= most_keys_ && !forget_one()) return nullptr;
      found = entries_.try_emplace(key, fresh_).first;
      try {
        idle_.insert({found->second.idle_at, &found->first});
      } catch (...) {
        entries_.erase(found);
        throw;
      }
    }
    lent_ = &*found;
    return &found->second.limiter;
  }

  // Forgets all keys that gain nothing by it.
  void forget_idle(Instant now) {
    settle(now);
    while (forget_one()) {
    }
  }

  // Changes all limiters and what new keys begin with: change(limiter). Linear in the number of keys.
  template <typename Change>
  void change(Change change, Instant now) {
    settle(now);
    change(fresh_);
    for (auto& entry : entries_) {
      change(entry.second.limiter);
      requeue(entry);
    }
  }

  std::size_t size() const { return entries_.size(); }
  Instant now() const { return latest_; }

 private:
  struct Entry {
    explicit Entry(const Limiter& fresh) : limiter(fresh) {}

    Limiter limiter;
    Instant idle_at = Instant::min();  // its place in idle_: as_new_at() is not before
  };
  using Entries = std::unordered_map<Key, Entry, Hash, Equal>;

  void settle(Instant now) {
    latest_ = std::max(latest_, now);
    // What the caller has done with a limiter may have made it as new sooner; later is found out when its place is needed.
    if (lent_ != nullptr && lent_->second.limiter.as_new_at() < lent_->second.idle_at) requeue(*lent_);
    lent_ = nullptr;
  }

  void requeue(typename Entries::value_type& entry) {
    auto node = idle_.extract({entry.second.idle_at, &entry.first});
    entry.second.idle_at = entry.second.limiter.as_new_at();
    node.value().first = entry.second.idle_at;
    idle_.insert(std::move(node));
  }

  bool forget_one() {
    while (!idle_.empty() && idle_.begin()->first <= latest_) {
      const auto found = entries_.find(*idle_.begin()->second);
      if (found->second.limiter.as_new_at() <= latest_) {
        idle_.erase(idle_.begin());
        entries_.erase(found);
        return true;
      }
      requeue(*found);
    }
    return false;
  }

  std::size_t most_keys_;
  Limiter fresh_;
  Instant latest_ = Instant::min();
  Entries entries_;
  std::set<std::pair<Instant, const Key*>> idle_;  // when each key may be forgotten, or earlier
  typename Entries::value_type* lent_ = nullptr;   // what find() has returned last
};

}  // namespace headgate
