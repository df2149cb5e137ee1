// One pool, several threads; and messages that belong to their thread.
#define _XOPEN_SOURCE 700

#include <pthread.h>
#include <string.h>

#include "check.h"

enum { thread_count = 4, each = 4000 };

static durahash_pool* pool;

static void* work(void* number) {
  const uint64_t me = *(const uint64_t*)number;
  uint64_t keys[64], values[64];
  CHECK(durahash_last_message()[0] == '\0');
  for (uint64_t i = 0; i < each; ++i) {
    uint64_t value = 0;
    ANSWERS(DURAHASH_OK, durahash_u64_put(pool, mixed(me * each + i), i));
    ANSWERS(DURAHASH_OK, durahash_u64_fetch_add(pool, 42, 1, &value));
    ANSWERS(DURAHASH_OK, durahash_u64_get(pool, mixed(me * each + i), &value));
    CHECK(value == i);
  }
  for (uint64_t i = 0; i < each; i += 64) {
    const size_t n = each - i < 64 ? each - i : 64;
    for (size_t k = 0; k < n; ++k) keys[k] = mixed(me * each + i + k);
    ANSWERS(DURAHASH_OK, durahash_u64_get_many(pool, n, keys, 8, values, 8, NULL));
    for (size_t k = 0; k < n; ++k) CHECK(values[k] == i + k);
  }
  if (me % 2 == 0) {
    ANSWERS(DURAHASH_INVALID_ARGUMENT, durahash_u64_get(pool, 1, NULL));
    CHECK(strstr(durahash_last_message(), "null pointer") != NULL);
  } else {
    ANSWERS(DURAHASH_INVALID_ARGUMENT, durahash_bytes_erase(pool, "", 0));
    CHECK(strstr(durahash_last_message(), "durahash_u64_open") != NULL);
  }
  return NULL;
}

void threads(void) {
  for (unsigned which = 0; which < 4; ++which) {
    static const char* const names[] = {"t0", "t1", "t2", "t3"};
    pool = new_words(names[which], which);
    pthread_t all[thread_count];
    uint64_t numbers[thread_count];
    for (uint64_t t = 0; t < thread_count; ++t) {
      numbers[t] = t;
      CHECK(pthread_create(&all[t], NULL, work, &numbers[t]) == 0);
    }
    for (int t = 0; t < thread_count; ++t) CHECK(pthread_join(all[t], NULL) == 0);
    uint64_t value = 0;
    ANSWERS(DURAHASH_OK, durahash_u64_get(pool, 42, &value));
    CHECK(value == thread_count * each);
    ANSWERS(DURAHASH_OK, durahash_size(pool, &value));
    CHECK(value == thread_count * each + 1);
    ANSWERS(DURAHASH_OK, durahash_close(pool));
  }
}
