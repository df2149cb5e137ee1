// Words to words, one at a time.
#include "pool.hpp"

using namespace durahash;
using namespace durahash::c;

durahash_status durahash_u64_get(const durahash_pool* pool, uint64_t key, uint64_t* value) {
  if (value == nullptr) [[unlikely]]
    return refuse("there is no place for the value: a null pointer");
  return on_words(pool, [&](word_map& all) { return all.get(key, *value); });
}

durahash_status durahash_u64_contains(const durahash_pool* pool, uint64_t key) {
  return on_words(pool, [&](word_map& all) {
    uint64_t value;
    return all.get(key, value);
  });
}

durahash_status durahash_u64_put(durahash_pool* pool, uint64_t key, uint64_t value) {
  return on_words(pool, [&](word_map& all) { return all.put(key, value); });
}

durahash_status durahash_u64_insert(durahash_pool* pool, uint64_t key, uint64_t value) {
  return on_words(pool, [&](word_map& all) { return all.insert(key, value); });
}

durahash_status durahash_u64_update(durahash_pool* pool, uint64_t key, uint64_t value) {
  return on_words(pool, [&](word_map& all) { return all.update(key, value); });
}

durahash_status durahash_u64_erase(durahash_pool* pool, uint64_t key) {
  return on_words(pool, [&](word_map& all) { return all.erase(key); });
}

durahash_status durahash_u64_take(durahash_pool* pool, uint64_t key, uint64_t* value) {
  if (value == nullptr) [[unlikely]]
    return refuse("there is no place for the value: a null pointer");
  return on_words(pool, [&](word_map& all) { return all.take(key, *value); });
}

durahash_status durahash_u64_compare_and_set(durahash_pool* pool, uint64_t key, uint64_t expected,
                                             uint64_t desired) {
  return on_words(pool, [&](word_map& all) { return all.compare_and_set(key, expected, desired); });
}

durahash_status durahash_u64_fetch_add(durahash_pool* pool, uint64_t key, uint64_t delta,
                                       uint64_t* previous) {
  return on_words(pool, [&](word_map& all) {
    uint64_t before = 0;
    const status done = all.fetch_add(key, delta, before);
    if (previous != nullptr && done == status::ok) *previous = before;
    return done;
  });
}

durahash_status durahash_u64_find_or_insert(durahash_pool* pool, uint64_t key, uint64_t fallback,
                                            uint64_t* value) {
  if (value == nullptr) [[unlikely]]
    return refuse("there is no place for the value: a null pointer");
  return on_words(pool, [&](word_map& all) { return all.find_or_insert(key, fallback, *value); });
}

durahash_status durahash_u64_update_with(durahash_pool* pool, uint64_t key,
                                         durahash_u64_change change, void* context) {
  if (change == nullptr) [[unlikely]]
    return refuse("there is no function that changes: a null pointer");
  return on_words(pool, [&](word_map& all) {
    return all.update_with(key, [&](uint64_t present) { return change(context, present); });
  });
}
