// What all commands share: their key, their errors, effects for replicas, answers that wait.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "answer.hpp"
#include "durahash/deferred_wait.hpp"
#include "keyspace.hpp"

namespace durahash::server {

/// Of a context in which no client can be made to wait.
constexpr int cannot_wait =
    REDISMODULE_CTX_FLAGS_MULTI | REDISMODULE_CTX_FLAGS_LUA | REDISMODULE_CTX_FLAGS_DENY_BLOCKING;

/// The arguments of a command: 0 is its name, 1 its key.
struct command {
  RedisModuleCtx* ctx;
  std::span<RedisModuleString*> arguments;

  std::size_t size() const { return arguments.size(); }
  RedisModuleString* key() const { return arguments[1]; }
  std::string_view operator[](std::size_t i) const { return view_of(arguments[i]); }
  bool is(std::size_t i, std::string_view word) const;  ///< whatever its case
};

/// A command's function. What it throws is answered with an error.
using command_function = int (*)(const command&);

/// Tells the server of all commands.
/// Returns   false where it does not take one.
bool make_commands(RedisModuleCtx* ctx);

/// Whether it is done already elsewhere: by the master, or in a file that is loaded. Then this node
/// has no limit for it; it follows, or has diverged.
bool must_follow(const command& c);
/// A replica that cannot do what its master did is not a replica any more.
void log_divergence(const command& c, std::string_view why);

int wrong_type(RedisModuleCtx* ctx);
int refuse(RedisModuleCtx* ctx, status s);
error_answer refusal(status s);

/// The key of a command, and its table where it has one.
class command_key {
 public:
  command_key(const command& c, int mode);
  bool other_type() const { return found_ == keyspace::found::other_type; }
  hosted_table* table() const { return table_; }
  RedisModuleKey* get() const { return key_.get(); }

 private:
  server_key key_;
  hosted_table* table_ = nullptr;
  keyspace::found found_;
};

/// Makes the table that a write needs, and tells replicas. An error is answered already.
hosted_table* make_table(const command& c, command_key& key, const table_kind& kind);

/// To replicas, as the client sent it. Never to the AOF: one that lost its end must not be played
/// over a table that has not.
/// Cost      with an AOF that of RedisModule_Replicate, which looks the command up and copies it.
void replicate_as_sent(const command& c, const char* name);

/// After a change: for WATCH, client-side caches, listeners.
void announce(const command& c, const char* event);

/// Whether a command may write to a table of that level: not where no answer could wait for the
/// disk. Else it has been answered.
bool may_write_to(const command& c, durability_level level);

/// Around the operations of a command on a table of the level power: they do not wait for the disk,
/// and their answer does, without holding up other clients. It waits for the table's name, too, if
/// that is new; and, where the table was made ahead, for another such.
///
/// Where a client cannot wait (MULTI, Lua), a write is refused: writable() has answered then. A
/// read waits there, and all others with it.
class durable_answer {
 public:
  durable_answer(const command& c, hosted_table& t);
  /// Whether a write may begin; else it has been answered.
  bool writable();
  /// Answers, now or later.
  int send(answer a);
  /// Whether the answer can be given at once.
  bool immediate() const noexcept { return !later_; }

 private:
  int send_later(answer a, bool row_waits, std::uint64_t needed);
  void ask_for_disk(bool row_waits, std::uint64_t needed);  // nobody waits

  const command& c_;
  hosted_table& table_;
  std::optional<deferred_wait> later_;
};

int create(const command& c);
int set(const command& c);
int erase(const command& c);
int increment(const command& c);
int compare_and_set(const command& c);
int get(const command& c);
int get_many(const command& c);
int exists(const command& c);
int length(const command& c);
int scan(const command& c);
int info(const command& c);
int check(const command& c);
int wait_for_disk(const command& c);

}  // namespace durahash::server
