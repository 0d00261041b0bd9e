#include "budget/fake_redis.hpp"

#include <bit>
#include <cstring>
#include <lua.hpp>
#include <stdexcept>
#include <utility>

namespace headgate {
namespace {

std::string text_at(lua_State* lua, int index) {
  std::size_t length = 0;
  const char* text = lua_tolstring(lua, index, &length);
  return text == nullptr ? std::string() : std::string(text, length);
}

void push(lua_State* lua, std::string_view text) {
  lua_pushlstring(lua, text.data(), text.size());
}

void append(lua_State* lua, int& number, std::string_view text) {
  push(lua, text);
  lua_rawseti(lua, -2, ++number);
}

// struct.pack("<ddd…", …) and struct.unpack("<ddd…", text), as Redis has them; of doubles alone.
int pack(lua_State* lua) {
  luaL_Buffer packed;
  const auto numbers = static_cast<int>(lua_objlen(lua, 1)) - 1;
  luaL_buffinit(lua, &packed);
  for (int number = 0; number < numbers; ++number) {
    const auto bits = std::bit_cast<std::uint64_t>(luaL_checknumber(lua, 2 + number));
    for (int byte = 0; byte < 8; ++byte) luaL_addchar(&packed, static_cast<char>(bits >> (8 * byte) & 0xff));
  }
  luaL_pushresult(&packed);
  return 1;
}

int unpack(lua_State* lua) {
  const auto numbers = static_cast<int>(lua_objlen(lua, 1)) - 1;
  std::size_t length = 0;
  const char* packed = luaL_checklstring(lua, 2, &length);
  if (static_cast<int>(length) < 8 * numbers) return luaL_error(lua, "data string too short");
  for (int number = 0; number < numbers; ++number) {
    std::uint64_t bits = 0;
    for (int byte = 7; byte >= 0; --byte)
      bits = bits << 8 | static_cast<unsigned char>(packed[8 * number + byte]);
    lua_pushnumber(lua, std::bit_cast<double>(bits));
  }
  lua_pushnumber(lua, 8 * numbers + 1);
  return numbers + 1;
}

}  // namespace

FakeRedis::FakeRedis(std::string_view script) : lua_(luaL_newstate(), lua_close) {
  lua_State* lua = lua_.get();
  luaL_openlibs(lua);
  lua_newtable(lua);
  lua_pushlightuserdata(lua, this);
  lua_pushcclosure(lua, call, 1);
  lua_setfield(lua, -2, "call");
  lua_pushcfunction(lua, error_reply);
  lua_setfield(lua, -2, "error_reply");
  lua_setglobal(lua, "redis");
  lua_newtable(lua);
  lua_pushcfunction(lua, pack);
  lua_setfield(lua, -2, "pack");
  lua_pushcfunction(lua, unpack);
  lua_setfield(lua, -2, "unpack");
  lua_setglobal(lua, "struct");
  if (luaL_loadbuffer(lua, script.data(), script.size(), "script") != 0)
    throw std::runtime_error(text_at(lua, -1));
}

FakeRedis::~FakeRedis() = default;

std::vector<std::string> FakeRedis::run(const std::vector<std::string>& keys,
                                        const std::vector<std::string>& arguments) {
  lua_State* lua = lua_.get();
  forget_expired();
  set_list("KEYS", keys);
  set_list("ARGV", arguments);
  lua_pushvalue(lua, 1);  // the script
  if (lua_pcall(lua, 0, 1, 0) != 0 || !lua_istable(lua, -1)) {
    const std::string problem = text_at(lua, -1);
    lua_settop(lua, 1);
    throw std::runtime_error(problem);
  }
  std::vector<std::string> lines(lua_objlen(lua, -1));
  for (std::size_t line = 0; line < lines.size(); ++line) {
    lua_rawgeti(lua, -1, static_cast<int>(line + 1));
    lines[line] = text_at(lua, -1);
    lua_pop(lua, 1);
  }
  lua_settop(lua, 1);
  return lines;
}

void FakeRedis::restart(FakeData new_data) {
  ++process_;
  data = std::move(new_data);
}

// No C++ object may live here when Lua's error jumps over it.
int FakeRedis::call(lua_State* lua) {
  auto* self = static_cast<FakeRedis*>(lua_touserdata(lua, lua_upvalueindex(1)));
  const char* command = luaL_checkstring(lua, 1);
  const auto is = [command](const char* name) { return std::strcmp(command, name) == 0; };
  if (is("INFO")) {
    self->info(lua);
  } else if (is("TIME")) {
    self->time(lua);
  } else if (is("HMGET")) {
    self->hmget(lua);
  } else if (is("HGETALL") || is("HVALS")) {
    self->list(lua, is("HGETALL"));
  } else if (is("HSET")) {
    self->hset(lua);
  } else if (is("HDEL")) {
    self->hdel(lua);
  } else if (is("DEL")) {
    self->del(lua);
  } else if (is("PEXPIRE")) {
    self->pexpire(lua);
  } else {
    return luaL_error(lua, "unknown command %s", command);
  }
  return 1;
}

int FakeRedis::error_reply(lua_State*) {
  return 1;  // the message itself: no table of lines
}

void FakeRedis::set_list(const char* name, const std::vector<std::string>& values) {
  lua_State* lua = lua_.get();
  lua_newtable(lua);
  int number = 0;
  for (const std::string& value : values) append(lua, number, value);
  lua_setglobal(lua, name);
}

void FakeRedis::forget_expired() {
  std::erase_if(data, [this](const auto& one) { return one.second.expiry <= clock; });
}

void FakeRedis::info(lua_State* lua) const {
  push(lua, "# Replication\r\nrole:master\r\nmaster_replid:" + std::to_string(process_) + "\r\n");
}

void FakeRedis::time(lua_State* lua) const {
  lua_newtable(lua);
  int number = 0;
  append(lua, number, std::to_string(clock.count() / 1'000'000));
  append(lua, number, std::to_string(clock.count() % 1'000'000));
}

void FakeRedis::hmget(lua_State* lua) {
  const auto hash = data.find(text_at(lua, 2));
  const int arguments = lua_gettop(lua);
  lua_newtable(lua);
  for (int argument = 3; argument <= arguments; ++argument) {
    if (hash != data.end() && hash->second.fields.contains(text_at(lua, argument))) {
      push(lua, hash->second.fields.at(text_at(lua, argument)));
    } else {
      lua_pushboolean(lua, 0);
    }
    lua_rawseti(lua, -2, argument - 2);
  }
}

void FakeRedis::list(lua_State* lua, bool with_names) {
  const auto hash = data.find(text_at(lua, 2));
  lua_newtable(lua);
  if (hash == data.end()) return;
  int number = 0;
  for (const auto& [name, value] : hash->second.fields) {
    if (with_names) append(lua, number, name);
    append(lua, number, value);
  }
}

void FakeRedis::hset(lua_State* lua) {
  const auto [hash, is_new] = data.try_emplace(text_at(lua, 2));
  if (is_new) hash->second.expiry = std::chrono::microseconds::max();
  const int arguments = lua_gettop(lua);
  for (int argument = 3; argument < arguments; argument += 2)
    hash->second.fields[text_at(lua, argument)] = text_at(lua, argument + 1);
  lua_pushinteger(lua, (arguments - 2) / 2);
}

void FakeRedis::hdel(lua_State* lua) {
  lua_pushnumber(lua, static_cast<double>(data[text_at(lua, 2)].fields.erase(text_at(lua, 3))));
}

void FakeRedis::del(lua_State* lua) {
  lua_pushnumber(lua, static_cast<double>(data.erase(text_at(lua, 2))));
}

void FakeRedis::pexpire(lua_State* lua) {
  data[text_at(lua, 2)].expiry = clock + std::chrono::milliseconds(std::stoll(text_at(lua, 3)));
  lua_pushnumber(lua, 1);
}

}  // namespace headgate
