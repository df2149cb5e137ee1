// Each operation of bytes, on every engine; and what a reopen finds.
#include <stdio.h>
#include <string.h>

#include "check.h"

struct seen {
  int times;
  size_t length;
  char bytes[16];
};

static void keep(void* context, const void* value, size_t length) {
  struct seen* all = context;
  ++all->times;
  all->length = length;
  memcpy(all->bytes, value, length < sizeof all->bytes ? length : sizeof all->bytes);
}

static void wrap(void* context, const void** value, size_t* length) {
  char* room = context;  // of 16 bytes
  CHECK(*length < 15);
  room[0] = '(';
  memcpy(room + 1, *value, *length);
  room[*length + 1] = ')';
  *value = room, *length += 2;
}
static void leave_nothing(void* context, const void** value, size_t* length) {
  (void)context;
  *value = NULL, *length = 5;
}

static void on_engine(unsigned which) {
  static const char* const names[] = {"b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7"};
  durahash_pool* pool = new_bytes(names[which], which);
  char buffer[8];
  size_t length = 99;
  uint64_t word = 0;
  ANSWERS(DURAHASH_NOT_FOUND, durahash_bytes_get(pool, "k", 1, buffer, 8, &length));
  CHECK(length == 99);
  ANSWERS(DURAHASH_NOT_FOUND, durahash_bytes_update(pool, "k", 1, "v", 1));
  ANSWERS(DURAHASH_OK, durahash_bytes_insert(pool, "k", 1, "0123456789", 10));
  ANSWERS(DURAHASH_EXISTS, durahash_bytes_insert(pool, "k", 1, "x", 1));

  // As much as there is room for, and how much there is.
  memset(buffer, 'z', sizeof buffer);
  ANSWERS(DURAHASH_OK, durahash_bytes_get(pool, "k", 1, buffer, 4, &length));
  CHECK(length == 10 && memcmp(buffer, "0123zzzz", 8) == 0);
  ANSWERS(DURAHASH_OK, durahash_bytes_get(pool, "k", 1, NULL, 0, &length));
  CHECK(length == 10);
  // Without a place for the length it must be the one asked for.
  ANSWERS(DURAHASH_MISMATCH, durahash_bytes_get(pool, "k", 1, buffer, 8, NULL));
  ANSWERS(DURAHASH_OK, durahash_bytes_update(pool, "k", 1, "ABCDEFGH", 8));
  ANSWERS(DURAHASH_OK, durahash_bytes_get(pool, "k", 1, buffer, 8, NULL));
  CHECK(memcmp(buffer, "ABCDEFGH", 8) == 0);

  struct seen seen = {0, 0, {0}};
  ANSWERS(DURAHASH_OK, durahash_bytes_read(pool, "k", 1, keep, &seen));
  CHECK(seen.times == 1 && seen.length == 8 && memcmp(seen.bytes, "ABCDEFGH", 8) == 0);
  ANSWERS(DURAHASH_NOT_FOUND, durahash_bytes_read(pool, "absent", 6, keep, &seen));
  CHECK(seen.times == 1);

  char room[16];
  ANSWERS(DURAHASH_OK, durahash_bytes_find_or_insert(pool, "n", 1, "new", 3, buffer, 8, &length));
  CHECK(length == 3 && memcmp(buffer, "new", 3) == 0);
  ANSWERS(DURAHASH_EXISTS, durahash_bytes_find_or_insert(pool, "n", 1, "x", 1, buffer, 2, &length));
  CHECK(length == 3 && memcmp(buffer, "ne", 2) == 0);
  ANSWERS(DURAHASH_EXISTS, durahash_bytes_find_or_insert(pool, "n", 1, "x", 1, NULL, 0, NULL));
  ANSWERS(DURAHASH_OK, durahash_bytes_update_with(pool, "n", 1, wrap, room));
  ANSWERS(DURAHASH_OK, durahash_bytes_get(pool, "n", 1, buffer, 5, NULL));
  CHECK(memcmp(buffer, "(new)", 5) == 0);
  ANSWERS(DURAHASH_NOT_FOUND, durahash_bytes_update_with(pool, "absent", 6, wrap, room));
  ANSWERS(DURAHASH_INVALID_ARGUMENT, durahash_bytes_update_with(pool, "n", 1, leave_nothing, NULL));
  ANSWERS(DURAHASH_OK, durahash_bytes_get(pool, "n", 1, buffer, 5, NULL));
  ANSWERS(DURAHASH_MISMATCH, durahash_bytes_take(pool, "n", 1, buffer, 4, &length));
  CHECK(length == 5);
  ANSWERS(DURAHASH_MISMATCH, durahash_bytes_take(pool, "n", 1, buffer, 6, NULL));
  ANSWERS(DURAHASH_OK, durahash_bytes_contains(pool, "n", 1));
  ANSWERS(DURAHASH_OK, durahash_bytes_take(pool, "n", 1, buffer, 6, &length));
  CHECK(length == 5 && memcmp(buffer, "(new)", 5) == 0);
  ANSWERS(DURAHASH_NOT_FOUND, durahash_bytes_take(pool, "n", 1, buffer, 6, &length));

  // Empty keys and values, null or not; keys with zero bytes.
  ANSWERS(DURAHASH_OK, durahash_bytes_put(pool, NULL, 0, NULL, 0));
  ANSWERS(DURAHASH_OK, durahash_bytes_contains(pool, "", 0));
  ANSWERS(DURAHASH_OK, durahash_bytes_get(pool, "", 0, NULL, 0, NULL));
  ANSWERS(DURAHASH_OK, durahash_bytes_put(pool, "a\0b", 3, "1", 1));
  ANSWERS(DURAHASH_NOT_FOUND, durahash_bytes_contains(pool, "a", 1));

  ANSWERS(DURAHASH_MISMATCH, durahash_bytes_compare_and_set(pool, "k", 1, "x", 1, "y", 1));
  ANSWERS(DURAHASH_OK, durahash_bytes_compare_and_set(pool, "k", 1, "ABCDEFGH", 8, "y", 1));
  ANSWERS(DURAHASH_NOT_FOUND, durahash_bytes_compare_and_set(pool, "q", 1, "x", 1, "y", 1));
  ANSWERS(DURAHASH_INVALID_ARGUMENT, durahash_bytes_fetch_add(pool, "k", 1, 1, &word));
  ANSWERS(DURAHASH_OK, durahash_bytes_fetch_add(pool, "n", 1, 40, NULL));
  ANSWERS(DURAHASH_OK, durahash_bytes_fetch_add(pool, "n", 1, 2, &word));
  CHECK(word == 40);
  ANSWERS(DURAHASH_OK, durahash_bytes_erase(pool, "k", 1));
  ANSWERS(DURAHASH_NOT_FOUND, durahash_bytes_erase(pool, "k", 1));

  char key[16];
  for (int i = 0; i < 5000; ++i) {
    const int bytes = snprintf(key, sizeof key, "key %d", i);
    ANSWERS(DURAHASH_OK, durahash_bytes_put(pool, key, (size_t)bytes, &i, sizeof i));
  }
  ANSWERS(DURAHASH_OK, durahash_close(pool));

  durahash_options how;
  ANSWERS(DURAHASH_OK, durahash_options_init(&how, sizeof how));
  how.mode = DURAHASH_MODE_OPEN_EXISTING;
  ANSWERS(DURAHASH_OK, durahash_bytes_open(scratch(names[which]), &how, &pool));
  for (int i = 0; i < 5000; ++i) {
    const int bytes = snprintf(key, sizeof key, "key %d", i);
    int value = -1;
    ANSWERS(DURAHASH_OK, durahash_bytes_get(pool, key, (size_t)bytes, &value, sizeof value, NULL));
    CHECK(value == i);
  }
  ANSWERS(DURAHASH_OK, durahash_close(pool));
}

/// A pool of words is a pool of 8 bytes, too.
static void words_as_bytes(void) {
  durahash_pool* pool = new_words("words-as-bytes", 0);
  ANSWERS(DURAHASH_OK, durahash_u64_put(pool, 5, 6));
  ANSWERS(DURAHASH_OK, durahash_close(pool));
  ANSWERS(DURAHASH_OK, durahash_bytes_open(scratch("words-as-bytes"), NULL, &pool));
  const uint64_t key = 5;
  uint64_t value = 0;
  ANSWERS(DURAHASH_OK, durahash_bytes_get(pool, &key, sizeof key, &value, sizeof value, NULL));
  CHECK(value == 6);
  ANSWERS(DURAHASH_INVALID_ARGUMENT, durahash_bytes_put(pool, &key, 7, &value, 8));
  CHECK(durahash_last_message()[0] != '\0');
  ANSWERS(DURAHASH_OK, durahash_close(pool));
}

void bytes(void) {
  const size_t engines = durahash_engines(NULL, 0);
  for (unsigned which = 0; which < engines && which < 8; ++which) on_engine(which);
  words_as_bytes();
}
