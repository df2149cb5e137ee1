// DH.GET, DH.MGET, DH.EXISTS, DH.LEN, DH.SCAN.
#include <vector>

#include "command.hpp"
#include "fault.hpp"
#include "text.hpp"
#include "worker.hpp"

namespace durahash::server {
namespace {

constexpr std::uint64_t max_scan_records = 65536;

struct fields_of {
  std::vector<std::uint64_t> words;
  std::vector<std::string_view> fields;
  std::vector<std::size_t> places;  // among the arguments; what no such table can hold is left out

  fields_of(const command& c, data_kind kind) : words(c.size()) {
    for (std::size_t i = 2; i < c.size(); ++i) {
      auto field = as_bytes(kind, c[i], words[i]);
      if (!field) continue;
      fields.push_back(*field);
      places.push_back(i - 2);
    }
  }
};

}  // namespace

int get(const command& c) {
  command_key key(c, REDISMODULE_READ);
  if (key.other_type()) return wrong_type(c.ctx);
  hosted_table* t = key.table();
  std::uint64_t word = 0;
  if (t == nullptr || t->is_placeholder()) return send(c.ctx, null_answer{});
  auto field = as_bytes(t->kinds().key, c[2], word);
  if (!field) return send(c.ctx, null_answer{});
  durable_answer durable(c, *t);
  const bool words = t->kinds().value == data_kind::u64;
  if (durable.immediate() && !words) {
    const status s = t->pool().read(*field, [&](std::string_view value) { reply(c.ctx, value); });
    if (s == status::ok) return REDISMODULE_OK;
    return s == status::not_found ? send(c.ctx, null_answer{}) : refuse(c.ctx, s);
  }
  std::string value;
  const status s = t->pool().get(*field, value);
  if (s == status::not_found) return durable.send(null_answer{});
  if (s != status::ok) return durable.send(refusal(s));
  return durable.send(as_text(t->kinds().value, value));
}

int get_many(const command& c) {
  command_key key(c, REDISMODULE_READ);
  if (key.other_type()) return wrong_type(c.ctx);
  hosted_table* t = key.table();
  array_answer all;
  all.items.resize(c.size() - 2);
  if (t == nullptr || t->is_placeholder()) return send(c.ctx, all);
  durable_answer durable(c, *t);
  const fields_of wanted(c, t->kinds().key);
  std::vector<status> answers(wanted.fields.size());
  t->pool().read_many(
      wanted.fields,
      [&](std::size_t i, std::string_view value) {
        all.items[wanted.places[i]] = as_text(t->kinds().value, value);
      },
      answers);
  for (status s : answers)
    if (s != status::ok && s != status::not_found) return durable.send(refusal(s));
  return durable.send(std::move(all));
}

int exists(const command& c) {
  command_key key(c, REDISMODULE_READ);
  if (key.other_type()) return wrong_type(c.ctx);
  hosted_table* t = key.table();
  if (t == nullptr || t->is_placeholder()) return send(c.ctx, 0);
  durable_answer durable(c, *t);
  const fields_of wanted(c, t->kinds().key);
  long long there = 0;
  for (std::string_view field : wanted.fields) {
    const status s =
        damaged(field) ? status::damaged : t->pool().read(field, [](std::string_view) {});
    if (s == status::ok) ++there;
    else if (s != status::not_found) return durable.send(refusal(s));
  }
  return durable.send(there);
}

int length(const command& c) {
  command_key key(c, REDISMODULE_READ);
  if (key.other_type()) return wrong_type(c.ctx);
  hosted_table* t = key.table();
  if (t == nullptr || t->is_placeholder()) return send(c.ctx, 0);
  if (t->counted() || (RedisModule_GetContextFlags(c.ctx) & cannot_wait) != 0)
    return send(c.ctx, static_cast<long long>(t->size()));
  // After a crash the records are counted; only this client waits for that.
  waiting_client client(c.ctx);
  the_worker().submit([client, held = t->shared_from_this()]() mutable {
    client.resume(static_cast<long long>(held->size()));
  });
  return REDISMODULE_OK;
}

int scan(const command& c) {
  auto position = number_in<std::uint64_t>(c[2]);
  if (!position) return reply_error(c.ctx, "ERR invalid cursor");
  std::uint64_t count = 10;
  if (c.size() != 3) {
    auto asked = c.size() == 5 && c.is(3, "COUNT") ? number_in<std::uint64_t>(c[4]) : std::nullopt;
    if (!asked || *asked == 0 || *asked > max_scan_records)
      return reply_error(c.ctx, "ERR DH.SCAN takes COUNT from 1 to 65536");
    count = *asked;
  }
  command_key key(c, REDISMODULE_READ);
  if (key.other_type()) return wrong_type(c.ctx);
  hosted_table* t = key.table();
  if (t == nullptr || t->is_placeholder()) return send(c.ctx, page_answer{"0", {}});
  durable_answer durable(c, *t);
  page_answer page;
  cursor at{*position, false};
  const status s = t->pool().scan(at, count, [&](std::string_view field, std::string_view value) {
    page.items.push_back(as_text(t->kinds().key, field));
    page.items.push_back(as_text(t->kinds().value, value));
  });
  if (s != status::ok) return durable.send(refusal(s));
  page.cursor = at.done ? "0" : std::to_string(at.position);
  return durable.send(std::move(page));
}

}  // namespace durahash::server
