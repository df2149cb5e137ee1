// What a command answers, as a value: it may have to wait for the disk.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "api.hpp"

namespace durahash::server {

struct error_answer {
  std::string text;
};
struct ok_answer {};
struct null_answer {};
struct array_answer {
  std::vector<std::optional<std::string>> items;
};
/// Of DH.SCAN: a cursor, and what lies up to there.
struct page_answer {
  std::string cursor;
  std::vector<std::string> items;
};
/// A map in RESP3, flat pairs in RESP2.
struct map_answer {
  std::vector<std::pair<std::string, std::variant<long long, std::string>>> pairs;
  void add(std::string name, long long n) { pairs.emplace_back(std::move(name), n); }
  void add(std::string name, std::string s) { pairs.emplace_back(std::move(name), std::move(s)); }
};

using answer = std::variant<ok_answer, null_answer, long long, std::string, array_answer,
                            page_answer, map_answer, error_answer>;

int send(RedisModuleCtx* to, const answer& a);

/// Every error goes out by it: INFO counts them.
int reply_error(RedisModuleCtx* to, const char* why);
inline int reply_error(RedisModuleCtx* to, const std::string& why) {
  return reply_error(to, why.c_str());
}

/// A client that waits for an answer, without holding up others.
class waiting_client {
 public:
  /// When `timeout_ms` have passed (0: never) it is answered 0.
  explicit waiting_client(RedisModuleCtx* ctx, long long timeout_ms = 0);

  /// From any thread; once, and always: also when the client has gone.
  void resume(answer a);

 private:
  RedisModuleBlockedClient* client_;
};

}  // namespace durahash::server
