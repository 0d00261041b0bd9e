// A Redis in memory that runs one script as Redis does, by Lua 5.1, with the commands that the script calls.
// Whoever owns it moves its clock, restarts it, and takes its data away.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct lua_State;

namespace headgate {

struct FakeHash {
  std::map<std::string, std::string> fields;
  std::chrono::microseconds expiry{};  // by the server's clock
};

using FakeData = std::map<std::string, FakeHash>;

class FakeRedis {
 public:
  // Throws std::runtime_error for a script that is no Lua.
  explicit FakeRedis(std::string_view script);
  ~FakeRedis();
  FakeRedis(const FakeRedis&) = delete;
  FakeRedis& operator=(const FakeRedis&) = delete;

  // The lines that the script returns. Throws std::runtime_error for an error of the script.
  std::vector<std::string> run(const std::vector<std::string>& keys,
                               const std::vector<std::string>& arguments);

  // Another process, with this data.
  void restart(FakeData data);

  FakeData data;
  std::chrono::microseconds clock{1'700'000'000'000'000};

 private:
  static int call(lua_State* lua);
  static int error_reply(lua_State* lua);
  void set_list(const char* name, const std::vector<std::string>& values);
  void forget_expired();

  // The commands: arguments are at 2, 3 … of the stack; each pushes what it returns.
  void info(lua_State* lua) const;
  void time(lua_State* lua) const;
  void hmget(lua_State* lua);
  void list(lua_State* lua, bool with_names);
  void hset(lua_State* lua);
  void hdel(lua_State* lua);
  void del(lua_State* lua);
  void pexpire(lua_State* lua);

  std::unique_ptr<lua_State, void (*)(lua_State*)> lua_;
  std::uint64_t process_ = 1;
};

}  // namespace headgate
