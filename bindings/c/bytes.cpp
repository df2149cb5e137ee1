// Bytes to bytes, one at a time.
#include <cstring>

#include "pool.hpp"

namespace durahash::c {
namespace {

[[gnu::cold]] durahash_status refuse_null() noexcept {
  return refuse("a key or value has a length and is a null pointer");
}

template <class Run>
durahash_status with_key(const durahash_pool* pool, const void* key, size_t key_length,
                         Run&& run) noexcept {
  if (is_no_string(key, key_length)) return refuse_null();
  return on_bytes(pool, [&](table& all) { return run(all, view(key, key_length)); });
}

template <class Run>
durahash_status with_record(const durahash_pool* pool, const void* key, size_t key_length,
                            const void* value, size_t value_length, Run&& run) noexcept {
  if (is_no_string(value, value_length)) return refuse_null();
  return with_key(pool, key, key_length, [&](table& all, std::string_view k) {
    return run(all, k, view(value, value_length));
  });
}

}  // namespace
}  // namespace durahash::c

using namespace durahash;
using namespace durahash::c;

durahash_status durahash_bytes_get(const durahash_pool* pool, const void* key, size_t key_length,
                                   void* buffer, size_t capacity, size_t* length) {
  if (is_no_string(buffer, capacity)) return refuse("the buffer is a null pointer");
  return with_key(pool, key, key_length, [&](table& all, std::string_view k) {
    size_t found = 0;
    const status answer = all.read(k, [&](std::string_view value) {
      found = value.size();
      if (const size_t bytes = std::min(found, capacity); bytes != 0)
        std::memcpy(buffer, value.data(), bytes);
    });
    if (answer != status::ok) return answer;
    if (length != nullptr) return *length = found, status::ok;
    return found == capacity ? status::ok : status::mismatch;
  });
}

durahash_status durahash_bytes_read(const durahash_pool* pool, const void* key, size_t key_length,
                                    durahash_reader read, void* context) {
  if (read == nullptr) return refuse("there is no reader: a null pointer");
  return with_key(pool, key, key_length, [&](table& all, std::string_view k) {
    return all.read(k, [&](std::string_view value) { read(context, value.data(), value.size()); });
  });
}

durahash_status durahash_bytes_contains(const durahash_pool* pool, const void* key,
                                        size_t key_length) {
  return with_key(pool, key, key_length, [](table& all, std::string_view k) {
    return all.read(k, [](std::string_view) {});
  });
}

durahash_status durahash_bytes_put(durahash_pool* pool, const void* key, size_t key_length,
                                   const void* value, size_t value_length) {
  return with_record(
      pool, key, key_length, value, value_length,
      [](table& all, std::string_view k, std::string_view v) { return all.put(k, v); });
}

durahash_status durahash_bytes_insert(durahash_pool* pool, const void* key, size_t key_length,
                                      const void* value, size_t value_length) {
  return with_record(
      pool, key, key_length, value, value_length,
      [](table& all, std::string_view k, std::string_view v) { return all.insert(k, v); });
}

durahash_status durahash_bytes_update(durahash_pool* pool, const void* key, size_t key_length,
                                      const void* value, size_t value_length) {
  return with_record(
      pool, key, key_length, value, value_length,
      [](table& all, std::string_view k, std::string_view v) { return all.update(k, v); });
}

durahash_status durahash_bytes_erase(durahash_pool* pool, const void* key, size_t key_length) {
  return with_key(pool, key, key_length,
                  [](table& all, std::string_view k) { return all.erase(k); });
}

durahash_status durahash_bytes_take(durahash_pool* pool, const void* key, size_t key_length,
                                    void* buffer, size_t capacity, size_t* length) {
  if (is_no_string(buffer, capacity)) return refuse("the buffer is a null pointer");
  return with_key(pool, key, key_length, [&](table& all, std::string_view k) {
    return all.take_with(k, [&](std::string_view value) {
      if (length != nullptr) *length = value.size();
      if (length != nullptr ? value.size() > capacity : value.size() != capacity)
        return status::mismatch;
      if (!value.empty()) std::memcpy(buffer, value.data(), value.size());
      return status::ok;
    });
  });
}

durahash_status durahash_bytes_compare_and_set(durahash_pool* pool, const void* key,
                                               size_t key_length, const void* expected,
                                               size_t expected_length, const void* desired,
                                               size_t desired_length) {
  if (is_no_string(desired, desired_length)) return refuse_null();
  return with_record(pool, key, key_length, expected, expected_length,
                     [&](table& all, std::string_view k, std::string_view e) {
                       return all.compare_and_set(k, e, view(desired, desired_length));
                     });
}

durahash_status durahash_bytes_fetch_add(durahash_pool* pool, const void* key, size_t key_length,
                                         uint64_t delta, uint64_t* previous) {
  return with_key(pool, key, key_length, [&](table& all, std::string_view k) {
    uint64_t before = 0;
    const status done = all.fetch_add(k, delta, before);
    if (previous != nullptr && done == status::ok) *previous = before;
    return done;
  });
}

durahash_status durahash_bytes_find_or_insert(durahash_pool* pool, const void* key,
                                              size_t key_length, const void* fallback,
                                              size_t fallback_length, void* buffer, size_t capacity,
                                              size_t* length) {
  if (is_no_string(buffer, capacity)) return refuse("the buffer is a null pointer");
  return with_record(pool, key, key_length, fallback, fallback_length,
                     [&](table& all, std::string_view k, std::string_view f) {
                       std::string value;
                       const status answer = all.find_or_insert(k, f, value);
                       if (answer != status::ok && answer != status::exists) return answer;
                       if (const size_t bytes = std::min(value.size(), capacity); bytes != 0)
                         std::memcpy(buffer, value.data(), bytes);
                       if (length != nullptr) *length = value.size();
                       return answer;
                     });
}

durahash_status durahash_bytes_update_with(durahash_pool* pool, const void* key, size_t key_length,
                                           durahash_bytes_change change, void* context) {
  if (change == nullptr) return refuse("there is no function that changes: a null pointer");
  return with_key(pool, key, key_length, [&](table& all, std::string_view k) {
    struct no_value {};
    try {
      return all.update_with(k, [&](std::string_view present) {
        const void* value = present.data();
        size_t bytes = present.size();
        change(context, &value, &bytes);
        if (is_no_string(value, bytes)) throw no_value();
        return view(value, bytes);
      });
    } catch (no_value) {
      return status::invalid_argument;
    }
  });
}
