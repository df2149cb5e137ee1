// Iteration: by callback, into arrays; resumed; each record once.
#include <stdio.h>
#include <string.h>

#include "check.h"

enum { records = 5000 };

static unsigned char visits[records];

static void visit_word(void* context, uint64_t key, uint64_t value) {
  CHECK(value < records && key == mixed(value));
  ++visits[value];
  ++*(size_t*)context;
}

static void visit_bytes(void* context, const void* key, size_t key_length, const void* value,
                        size_t value_length) {
  int number = -1;
  char text[32] = {0};
  CHECK(key_length < sizeof text && value_length >= sizeof number);
  memcpy(text, key, key_length);
  memcpy(&number, value, sizeof number);
  char expected[32];
  snprintf(expected, sizeof expected, "key %d", number);
  CHECK(strcmp(text, expected) == 0);
  ++visits[number];
  ++*(size_t*)context;
}

static void each_once(void) {
  for (size_t i = 0; i < records; ++i) CHECK(visits[i] == 1);
  memset(visits, 0, sizeof visits);
}

static void of_words(unsigned which) {
  static const char* const names[] = {"iw0", "iw1", "iw2", "iw3"};
  durahash_pool* pool = new_words(names[which], which);
  durahash_cursor at = {0, 0};
  size_t count = 9;
  uint64_t keys[300][2];
  ANSWERS(DURAHASH_OK, durahash_u64_fill(pool, &at, 300, keys, 16, NULL, 0, &count));
  CHECK(count == 0 && at.done != 0);
  for (uint64_t i = 0; i < records; ++i) ANSWERS(DURAHASH_OK, durahash_u64_put(pool, mixed(i), i));

  // By callback, resumed in another handle.
  size_t seen = 0;
  at = (durahash_cursor){0, 0};
  ANSWERS(DURAHASH_OK, durahash_u64_scan(pool, &at, 1000, visit_word, &seen));
  CHECK(seen >= 1000 && seen < 1100 && !at.done);
  ANSWERS(DURAHASH_OK, durahash_close(pool));
  ANSWERS(DURAHASH_OK, durahash_u64_open(scratch(names[which]), NULL, &pool));
  while (!at.done) ANSWERS(DURAHASH_OK, durahash_u64_scan(pool, &at, 700, visit_word, &seen));
  CHECK(seen == records);
  each_once();
  ANSWERS(DURAHASH_OK, durahash_u64_scan(pool, &at, 700, visit_word, &seen));
  CHECK(seen == records);

  // Into arrays of all kinds of capacity, key and value in one row.
  const size_t capacities[] = {1, 3, 64, 300};
  for (size_t c = 0; c < 4; ++c) {
    at = (durahash_cursor){0, 0};
    while (!at.done) {
      memset(keys, 0xff, sizeof keys);
      ANSWERS(DURAHASH_OK, durahash_u64_fill(pool, &at, capacities[c], &keys[0][0], 16, &keys[0][1],
                                             16, &count));
      CHECK(count <= capacities[c]);
      for (size_t i = 0; i < count; ++i) visit_word(&seen, keys[i][0], keys[i][1]);
      for (size_t i = count; i < 300; ++i) CHECK(keys[i][0] == UINT64_MAX);
    }
    each_once();
  }
  at = (durahash_cursor){0, 0};
  ANSWERS(DURAHASH_INVALID_ARGUMENT, durahash_u64_fill(pool, &at, 0, keys, 8, NULL, 0, &count));
  ANSWERS(DURAHASH_INVALID_ARGUMENT, durahash_u64_fill(pool, &at, 9, keys, 4, NULL, 0, &count));
  ANSWERS(DURAHASH_INVALID_ARGUMENT, durahash_u64_fill(pool, &at, 9, keys, 8, keys, 0, &count));
  ANSWERS(DURAHASH_OK, durahash_close(pool));
}

static void of_bytes(unsigned which) {
  static const char* const names[] = {"ib0", "ib1", "ib2", "ib3"};
  durahash_pool* pool = new_bytes(names[which], which);
  static char value[3000];
  char key[32];
  for (int i = 0; i < records; ++i) {
    memcpy(value, &i, sizeof i);
    const int bytes = snprintf(key, sizeof key, "key %d", i);
    ANSWERS(DURAHASH_OK, durahash_bytes_put(pool, key, (size_t)bytes, value,
                                            i % 50 == 0 ? sizeof value : sizeof i));
  }
  durahash_cursor at = {0, 0};
  size_t seen = 0;
  while (!at.done) ANSWERS(DURAHASH_OK, durahash_bytes_scan(pool, &at, 333, visit_bytes, &seen));
  CHECK(seen == records);
  each_once();

  // Into buffers; one that is too small for a record says how large it must be.
  static char buffer[20000];
  durahash_record all[100];
  const size_t rooms[] = {64, 3100, sizeof buffer};
  for (size_t r = 0; r < 3; ++r) {
    at = (durahash_cursor){0, 0};
    int refused = 0;
    while (!at.done) {
      const durahash_cursor before = at;
      size_t count = 0, needed = 0;
      durahash_status s =
          durahash_bytes_fill(pool, &at, all, 100, buffer, rooms[r], &count, &needed);
      if (s == DURAHASH_NO_SPACE) {
        CHECK(needed > rooms[r] && count == 1 && at.position == before.position);
        ++refused;
        s = durahash_bytes_fill(pool, &at, all, 100, buffer, needed, &count, &needed);
      }
      ANSWERS(DURAHASH_OK, s);
      CHECK(count <= 100 && needed <= sizeof buffer);
      for (size_t i = 0; i < count; ++i)
        visit_bytes(&seen, all[i].key, all[i].key_length, all[i].value, all[i].value_length);
    }
    CHECK((refused > 0) == (rooms[r] < 3000));
    each_once();
  }
  ANSWERS(DURAHASH_OK, durahash_close(pool));
}

struct nested {
  durahash_pool* pool;
  size_t count;
};
static void call_back(void* context, uint64_t key, uint64_t value) {
  struct nested* all = context;
  ANSWERS(DURAHASH_OK, durahash_u64_put(all->pool, key, value + 1));
  ++all->count;
}

void iteration(void) {
  for (unsigned which = 0; which < 4; ++which) of_words(which), of_bytes(which);

  // A visitor may write to the pool that it visits.
  struct nested all = {new_words("nested", 0), 0};
  for (uint64_t i = 0; i < 100; ++i) ANSWERS(DURAHASH_OK, durahash_u64_put(all.pool, i, i));
  durahash_cursor at = {0, 0};
  while (!at.done) ANSWERS(DURAHASH_OK, durahash_u64_scan(all.pool, &at, 10, call_back, &all));
  CHECK(all.count == 100);
  uint64_t value = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    ANSWERS(DURAHASH_OK, durahash_u64_get(all.pool, i, &value));
    CHECK(value == i + 1);
  }
  ANSWERS(DURAHASH_OK, durahash_close(all.pool));
}
