// Each operation of words, on every engine; and what a reopen finds.
#include "check.h"

static uint64_t times_three(void* context, uint64_t present) {
  ++*(int*)context;
  return 3 * present;
}

static void on_engine(unsigned which) {
  static const char* const names[] = {"w0", "w1", "w2", "w3", "w4", "w5", "w6", "w7"};
  durahash_pool* pool = new_words(names[which], which);
  uint64_t v = 7;
  ANSWERS(DURAHASH_NOT_FOUND, durahash_u64_get(pool, 1, &v));
  CHECK(v == 7);
  ANSWERS(DURAHASH_NOT_FOUND, durahash_u64_contains(pool, 1));
  ANSWERS(DURAHASH_NOT_FOUND, durahash_u64_update(pool, 1, 10));
  ANSWERS(DURAHASH_OK, durahash_u64_insert(pool, 1, 10));
  ANSWERS(DURAHASH_EXISTS, durahash_u64_insert(pool, 1, 11));
  ANSWERS(DURAHASH_OK, durahash_u64_get(pool, 1, &v));
  CHECK(v == 10);
  ANSWERS(DURAHASH_OK, durahash_u64_update(pool, 1, 12));
  ANSWERS(DURAHASH_OK, durahash_u64_put(pool, UINT64_MAX, 0));
  ANSWERS(DURAHASH_OK, durahash_u64_put(pool, 0, UINT64_MAX));
  ANSWERS(DURAHASH_OK, durahash_u64_get(pool, 0, &v));
  CHECK(v == UINT64_MAX);
  ANSWERS(DURAHASH_OK, durahash_u64_contains(pool, UINT64_MAX));
  ANSWERS(DURAHASH_MISMATCH, durahash_u64_compare_and_set(pool, 1, 10, 13));
  ANSWERS(DURAHASH_OK, durahash_u64_compare_and_set(pool, 1, 12, 13));
  ANSWERS(DURAHASH_NOT_FOUND, durahash_u64_compare_and_set(pool, 2, 0, 1));
  ANSWERS(DURAHASH_OK, durahash_u64_fetch_add(pool, 1, 5, &v));
  CHECK(v == 13);
  ANSWERS(DURAHASH_OK, durahash_u64_fetch_add(pool, 2, UINT64_MAX, &v));
  CHECK(v == 0);
  ANSWERS(DURAHASH_OK, durahash_u64_fetch_add(pool, 2, 2, NULL));
  ANSWERS(DURAHASH_OK, durahash_u64_get(pool, 2, &v));
  CHECK(v == 1);
  int calls = 0;
  ANSWERS(DURAHASH_OK, durahash_u64_find_or_insert(pool, 3, 30, &v));
  CHECK(v == 30);
  ANSWERS(DURAHASH_EXISTS, durahash_u64_find_or_insert(pool, 3, 31, &v));
  CHECK(v == 30);
  ANSWERS(DURAHASH_OK, durahash_u64_update_with(pool, 3, times_three, &calls));
  ANSWERS(DURAHASH_OK, durahash_u64_get(pool, 3, &v));
  CHECK(v == 90 && calls == 1);
  ANSWERS(DURAHASH_NOT_FOUND, durahash_u64_update_with(pool, 4, times_three, &calls));
  CHECK(calls == 1);
  ANSWERS(DURAHASH_OK, durahash_u64_take(pool, 3, &v));
  CHECK(v == 90);
  ANSWERS(DURAHASH_NOT_FOUND, durahash_u64_take(pool, 3, &v));
  ANSWERS(DURAHASH_OK, durahash_u64_erase(pool, 0));
  ANSWERS(DURAHASH_NOT_FOUND, durahash_u64_erase(pool, 0));
  for (uint64_t i = 0; i < 20000; ++i) ANSWERS(DURAHASH_OK, durahash_u64_put(pool, mixed(i), i));
  ANSWERS(DURAHASH_OK, durahash_close(pool));

  durahash_options how;
  ANSWERS(DURAHASH_OK, durahash_options_init(&how, sizeof how));
  how.mode = DURAHASH_MODE_READ_ONLY;
  ANSWERS(DURAHASH_OK, durahash_u64_open(scratch(names[which]), &how, &pool));
  ANSWERS(DURAHASH_OK, durahash_u64_get(pool, 1, &v));
  CHECK(v == 18);
  ANSWERS(DURAHASH_NOT_FOUND, durahash_u64_get(pool, 0, &v));
  for (uint64_t i = 0; i < 20000; ++i) {
    ANSWERS(DURAHASH_OK, durahash_u64_get(pool, mixed(i), &v));
    CHECK(v == i);
  }
  ANSWERS(DURAHASH_OK, durahash_size(pool, &v));
  CHECK(v == 20003);
  ANSWERS(DURAHASH_READ_ONLY, durahash_u64_put(pool, 1, 1));
  CHECK(durahash_last_message()[0] != '\0');
  ANSWERS(DURAHASH_READ_ONLY, durahash_u64_erase(pool, 1));
  ANSWERS(DURAHASH_READ_ONLY, durahash_u64_take(pool, 1, &v));
  ANSWERS(DURAHASH_OK, durahash_close(pool));
}

void words(void) {
  const size_t engines = durahash_engines(NULL, 0);
  for (unsigned which = 0; which < engines && which < 8; ++which) on_engine(which);
}
