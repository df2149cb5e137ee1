// The module API of Redis 7.0, which later versions and Valkey offer as well.
#pragma once

// Every source file sees the API's pointers; api.cpp alone has them.
#ifndef DURAHASH_SERVER_HOLDS_THE_API
#define REDISMODULE_API extern
#define REDISMODULE_ATTR
#endif
#include <redismodule.h>

#include <string>
#include <string_view>

namespace durahash::server {

inline std::string_view view_of(const RedisModuleString* s) {
  std::size_t bytes = 0;
  const char* first = RedisModule_StringPtrLen(s, &bytes);
  return {first, bytes};
}

inline int reply(RedisModuleCtx* to, std::string_view value) {
  return RedisModule_ReplyWithStringBuffer(to, value.data(), value.size());
}

/// A string of the server's, freed with its scope.
class server_string {
 public:
  explicit server_string(std::string_view s)
      : it_(RedisModule_CreateString(nullptr, s.data(), s.size())) {}
  ~server_string() { RedisModule_FreeString(nullptr, it_); }
  server_string(const server_string&) = delete;
  server_string& operator=(const server_string&) = delete;
  RedisModuleString* get() const { return it_; }

 private:
  RedisModuleString* it_;
};

/// A key of the server's, closed with its scope. Asks for it without touching its age; in the mode
/// write an absent one is there too, and empty.
class server_key {
 public:
  server_key(RedisModuleCtx* ctx, RedisModuleString* name, int mode)
      : it_(static_cast<RedisModuleKey*>(RedisModule_OpenKey(ctx, name, mode))) {}
  ~server_key() { RedisModule_CloseKey(it_); }
  server_key(const server_key&) = delete;
  server_key& operator=(const server_key&) = delete;
  RedisModuleKey* get() const { return it_; }
  bool empty() const { return RedisModule_KeyType(it_) == REDISMODULE_KEYTYPE_EMPTY; }

 private:
  RedisModuleKey* it_;
};

/// Calls RedisModule_Log with a plain sentence.
inline void log(RedisModuleCtx* ctx, const char* level, const std::string& what) {
  RedisModule_Log(ctx, level, "%s", what.c_str());
}

}  // namespace durahash::server
