// DH.CREATE, DH.SET, DH.DEL, DH.INCRBY, DH.CAS. What replicas are sent is the effect: a counter's
// increment goes out as its result, so that a replica may see it twice.
#include <limits>
#include <vector>

#include "command.hpp"
#include "fault.hpp"
#include "text.hpp"

namespace durahash::server {
namespace {

constexpr unsigned writes_between_looks = 256;  // at a table's size, where that is limited

int not_a_word(const command& c) {
  log_divergence(c, "a field or a value is no number");
  return reply_error(c.ctx,
                     "ERR this table takes whole numbers from 0 to 18446744073709551615 there");
}

/// Reads the options of DH.CREATE from the argument `first` on.
std::optional<std::string> read_kind(const command& c, std::size_t first, table_kind& kind) {
  for (std::size_t i = first; i < c.size(); i += 2) {
    if (i + 1 == c.size()) return "syntax error: " + std::string(c[i]) + " has no value";
    const std::string_view value = c[i + 1];
    auto take = [&](auto named, auto& into) {
      if (named) into = *named;
      return named.has_value();
    };
    bool known = false;
    if (c.is(i, "ENGINE")) known = take(engine_named(value), kind.engine);
    else if (c.is(i, "KEYS")) known = take(data_kind_named(value), kind.key);
    else if (c.is(i, "VALUES")) known = take(data_kind_named(value), kind.value);
    else if (c.is(i, "DURABILITY")) known = take(durability_named(value), kind.durability);
    else if (c.is(i, "CAPACITY")) known = take(number_in<std::uint64_t>(value), kind.capacity);
    else return "syntax error at " + std::string(c[i]);
    if (!known) return "DH.CREATE takes no " + std::string(c[i]) + " " + std::string(value);
  }
  return std::nullopt;
}

/// Whether so many records more may be too many; looks at times only.
bool too_many(const command& c, hosted_table& t, std::size_t more) {
  const std::uint64_t most = the_settings().max_records;
  if (most == 0 || !t.counted() || must_follow(c)) return false;
  if (t.writes_until_look > more) {
    t.writes_until_look -= static_cast<unsigned>(more);
    return false;
  }
  if (t.size() + more > most) return true;
  t.writes_until_look = writes_between_looks;
  return false;
}

int refuse_size(RedisModuleCtx* ctx) {
  return reply_error(ctx, "ERR the table is full: durahash.max-records is " +
                              std::to_string(the_settings().max_records) +
                              " in this server; spread it over several keys");
}

struct pairs {
  std::vector<std::uint64_t> words;  // room of words
  std::vector<std::string_view> fields, values;

  bool read(const command& c, std::size_t end, const pool_kinds& kinds) {
    words.resize(end);
    for (std::size_t i = 2; i + 1 < end; i += 2) {
      auto field = as_bytes(kinds.key, c[i], words[i]);
      auto value = as_bytes(kinds.value, c[i + 1], words[i + 1]);
      if (!field || !value) return false;
      fields.push_back(*field), values.push_back(*value);
    }
    return true;
  }
};

hosted_table* make_table_for_write(const command& c, command_key& key) {
  const table_kind kind = usual_kind();
  return may_write_to(c, kind.durability) ? make_table(c, key, kind) : nullptr;
}

/// One pair, the usual case: nothing is allocated.
template <class Write>
int set_one(const command& c, hosted_table& t, Write&& write) {
  durable_answer durable(c, t);
  if (!durable.writable()) return REDISMODULE_OK;
  std::uint64_t words[2];
  auto field = as_bytes(t.kinds().key, c[2], words[0]);
  auto value = as_bytes(t.kinds().value, c[3], words[1]);
  if (!field || !value) return not_a_word(c);
  const status s = write(*field, *value);
  if (s == status::exists || s == status::not_found) return durable.send(null_answer{});
  if (s != status::ok) {
    log_divergence(c, durahash::message(s));
    return durable.send(refusal(s));
  }
  if (c.size() == 4) replicate_as_sent(c, "DH.SET");
  else RedisModule_Replicate(c.ctx, "DH.SET", "Asss", c.key(), c.arguments[2], c.arguments[3]);
  announce(c, "dh.set");
  return durable.send(1);
}

int set_pairs(const command& c, hosted_table& t) {
  durable_answer durable(c, t);
  if (!durable.writable()) return REDISMODULE_OK;
  pairs p;
  if (!p.read(c, c.size(), t.kinds())) return not_a_word(c);
  std::vector<status> answers(p.fields.size());
  t.pool().put_many(p.fields, p.values, answers);

  std::vector<RedisModuleString*> written;
  status worst = status::ok;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i] != status::ok) {
      worst = answers[i];
      continue;
    }
    written.push_back(c.arguments[2 + 2 * i]);
    written.push_back(c.arguments[3 + 2 * i]);
  }
  if (!written.empty()) {
    if (worst == status::ok) replicate_as_sent(c, "DH.SET");
    else RedisModule_Replicate(c.ctx, "DH.SET", "Asv", c.key(), written.data(), written.size());
    announce(c, "dh.set");
  }
  if (worst == status::ok) return durable.send(static_cast<long long>(answers.size()));
  log_divergence(c, durahash::message(worst));
  if (written.empty()) return durable.send(refusal(worst));
  return durable.send(error_answer{refusal(worst).text + "; " + std::to_string(written.size() / 2) +
                                   " of " + std::to_string(answers.size()) +
                                   " records were written"});
}

}  // namespace

int create(const command& c) {
  table_kind kind = usual_kind();
  if (auto wrong = read_kind(c, 2, kind)) return reply_error(c.ctx, "ERR " + *wrong);
  if (the_keyspace().replaying_old_files()) return send(c.ctx, ok_answer{});
  if ((RedisModule_GetContextFlags(c.ctx) & REDISMODULE_CTX_FLAGS_REPLICATED) != 0)
    kind.durability = std::min(kind.durability, the_settings().durability);
  command_key key(c, REDISMODULE_READ | REDISMODULE_WRITE);
  if (key.other_type()) return wrong_type(c.ctx);
  if (key.table() != nullptr) return reply_error(c.ctx, "ERR the key exists already");
  hosted_table* made = make_table(c, key, kind);
  return made == nullptr ? REDISMODULE_OK : durable_answer(c, *made).send(ok_answer{});
}

int set(const command& c) {
  if (the_keyspace().replaying_old_files()) return send(c.ctx, 0);
  const bool conditional =
      c.size() % 2 == 1 && (c.is(c.size() - 1, "NX") || c.is(c.size() - 1, "XX"));
  if (conditional && c.size() != 5)
    return reply_error(c.ctx, "ERR NX and XX take one field and its value");
  if (!conditional && c.size() % 2 == 1) return RedisModule_WrongArity(c.ctx);
  command_key key(c, REDISMODULE_READ | REDISMODULE_WRITE);
  if (key.other_type()) return wrong_type(c.ctx);
  hosted_table* t = key.table();
  if (t == nullptr && conditional && c.is(4, "XX")) return send(c.ctx, null_answer{});
  if (t == nullptr) t = make_table_for_write(c, key);
  if (t == nullptr) return REDISMODULE_OK;
  if (too_many(c, *t, c.size() / 2 - 1)) return refuse_size(c.ctx);
  table& pool = t->pool();
  using text = std::string_view;
  if (c.size() == 4)
    return set_one(c, *t, [&](text field, text value) { return pool.put(field, value); });
  if (!conditional) return set_pairs(c, *t);
  if (c.is(4, "NX"))
    return set_one(c, *t, [&](text field, text value) { return pool.insert(field, value); });
  return set_one(c, *t, [&](text field, text value) { return pool.update(field, value); });
}

int erase(const command& c) {
  if (the_keyspace().replaying_old_files()) return send(c.ctx, 0);
  command_key key(c, REDISMODULE_READ | REDISMODULE_WRITE);
  if (key.other_type()) return wrong_type(c.ctx);
  hosted_table* t = key.table();
  if (t == nullptr) return send(c.ctx, 0);
  durable_answer durable(c, *t);
  if (!durable.writable()) return REDISMODULE_OK;
  std::vector<RedisModuleString*> gone;
  status worst = status::ok;
  for (std::size_t i = 2; i < c.size(); ++i) {
    std::uint64_t word = 0;
    auto field = as_bytes(t->kinds().key, c[i], word);
    if (!field) continue;
    const status s = damaged(*field) ? status::damaged : t->pool().erase(*field);
    if (s == status::ok) gone.push_back(c.arguments[i]);
    else if (s != status::not_found) worst = s;
  }
  if (!gone.empty()) {
    RedisModule_Replicate(c.ctx, "DH.DEL", "Asv", c.key(), gone.data(), gone.size());
    announce(c, "dh.del");
  }
  if (worst == status::ok) return durable.send(static_cast<long long>(gone.size()));
  log_divergence(c, durahash::message(worst));
  if (gone.empty()) return durable.send(refusal(worst));
  return durable.send(error_answer{refusal(worst).text + "; " + std::to_string(gone.size()) +
                                   " of " + std::to_string(c.size() - 2) + " fields were removed"});
}

int increment(const command& c) {
  if (the_keyspace().replaying_old_files()) return send(c.ctx, 0);
  long long by = 0;
  if (RedisModule_StringToLongLong(c.arguments[3], &by) != REDISMODULE_OK)
    return reply_error(c.ctx, "ERR value is not an integer or out of range");
  command_key key(c, REDISMODULE_READ | REDISMODULE_WRITE);
  if (key.other_type()) return wrong_type(c.ctx);
  hosted_table* t = key.table();
  if (t == nullptr) t = make_table_for_write(c, key);
  if (t == nullptr) return REDISMODULE_OK;
  if (too_many(c, *t, 1)) return refuse_size(c.ctx);
  durable_answer durable(c, *t);
  if (!durable.writable()) return REDISMODULE_OK;

  const pool_kinds& kinds = t->kinds();
  std::uint64_t field_word = 0, value_word = 0;
  auto field = as_bytes(kinds.key, c[2], field_word);
  if (!field) return not_a_word(c);
  std::string present;
  long long before = 0, after = 0;
  const status found = t->pool().get(*field, present);
  if (found == status::ok) {
    auto number = number_in<long long>(as_text(kinds.value, present));
    if (!number) return durable.send(error_answer{"ERR hash value is not an integer"});
    before = *number;
  } else if (found != status::not_found) {
    return durable.send(refusal(found));
  }
  if (__builtin_add_overflow(before, by, &after) || (kinds.value == data_kind::u64 && after < 0))
    return durable.send(error_answer{"ERR increment or decrement would overflow"});
  const std::string text = std::to_string(after);
  const status s = t->pool().put(*field, *as_bytes(kinds.value, text, value_word));
  if (s != status::ok) return durable.send(refusal(s));
  if (planted("increments-go-out-as-such")) RedisModule_ReplicateVerbatim(c.ctx);
  else
    RedisModule_Replicate(c.ctx, "DH.SET", "Assb", c.key(), c.arguments[2], text.data(),
                          text.size());
  announce(c, "dh.incrby");
  return durable.send(after);
}

int compare_and_set(const command& c) {
  if (the_keyspace().replaying_old_files()) return send(c.ctx, 0);
  command_key key(c, REDISMODULE_READ | REDISMODULE_WRITE);
  if (key.other_type()) return wrong_type(c.ctx);
  hosted_table* t = key.table();
  if (t == nullptr) return send(c.ctx, null_answer{});
  durable_answer durable(c, *t);
  if (!durable.writable()) return REDISMODULE_OK;
  std::uint64_t words[3];
  auto field = as_bytes(t->kinds().key, c[2], words[0]);
  auto expected = as_bytes(t->kinds().value, c[3], words[1]);
  auto desired = as_bytes(t->kinds().value, c[4], words[2]);
  if (!field || !expected || !desired) return not_a_word(c);
  const status s = t->pool().compare_and_set(*field, *expected, *desired);
  if (s == status::not_found) return durable.send(null_answer{});
  if (s == status::mismatch) return durable.send(0);
  if (s != status::ok) return durable.send(refusal(s));
  RedisModule_Replicate(c.ctx, "DH.SET", "Asss", c.key(), c.arguments[2], c.arguments[4]);
  announce(c, "dh.set");
  return durable.send(1);
}

}  // namespace durahash::server
