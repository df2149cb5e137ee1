// What callers may get wrong is answered, and nothing is done.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

static void wrong_options(void) {
  durahash_options how;
  durahash_pool* pool = (durahash_pool*)&how;  // anything but null
  ANSWERS(DURAHASH_INVALID_ARGUMENT, durahash_options_init(NULL, sizeof how));
  ANSWERS(DURAHASH_INVALID_ARGUMENT, durahash_options_init(&how, 8));

  memset(&how, 0, sizeof how);  // size 0: nobody has initialised it
  ANSWERS(DURAHASH_INVALID_ARGUMENT, durahash_u64_open(scratch("a"), &how, &pool));
  CHECK(pool == NULL);
  CHECK(strstr(durahash_last_message(), "durahash_options_init") != NULL);

  // A program of a later version: what it leaves at zero is what this library does.
  struct {
    durahash_options known;
    uint64_t later[4];
  } newer;
  ANSWERS(DURAHASH_OK, durahash_options_init(&newer.known, sizeof newer));
  CHECK(newer.known.size == sizeof newer && newer.later[0] == 0 && newer.later[3] == 0);
  ANSWERS(DURAHASH_OK, durahash_u64_open(scratch("newer"), &newer.known, &pool));
  ANSWERS(DURAHASH_OK, durahash_close(pool));
  newer.later[2] = 1;
  ANSWERS(DURAHASH_INVALID_ARGUMENT, durahash_u64_open(scratch("newer2"), &newer.known, &pool));

  struct {
    size_t offset;
    int32_t number;
  } wrong[] = {
      {offsetof(durahash_options, mode), 5},       {offsetof(durahash_options, mode), -1},
      {offsetof(durahash_options, engine), 0},     {offsetof(durahash_options, engine), 300},
      {offsetof(durahash_options, key), 3},        {offsetof(durahash_options, value), 0},
      {offsetof(durahash_options, durability), 4}, {offsetof(durahash_options, medium), 6},
      {offsetof(durahash_options, medium), -1},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    ANSWERS(DURAHASH_OK, durahash_options_init(&how, sizeof how));
    memcpy((char*)&how + wrong[i].offset, &wrong[i].number, sizeof wrong[i].number);
    ANSWERS(DURAHASH_INVALID_ARGUMENT, durahash_bytes_open("/dev/null/x", &how, &pool));
    CHECK(pool == NULL);
  }
  ANSWERS(DURAHASH_OK, durahash_options_init(&how, sizeof how));
  how.setting_count = 1;
  ANSWERS(DURAHASH_INVALID_ARGUMENT, durahash_bytes_open("/dev/null/x", &how, &pool));
  durahash_setting setting = {NULL, 3};
  how.settings = &setting;
  ANSWERS(DURAHASH_INVALID_ARGUMENT, durahash_bytes_open("/dev/null/x", &how, &pool));

  ANSWERS(DURAHASH_INVALID_ARGUMENT, durahash_u64_open(NULL, NULL, &pool));
  ANSWERS(DURAHASH_INVALID_ARGUMENT, durahash_u64_open(scratch("b"), NULL, NULL));
}

/// What the C++ library refuses is refused with its words.
static void refused_opens(void) {
  durahash_pool* pool = NULL;
  durahash_options how;
  ANSWERS(DURAHASH_OK, durahash_options_init(&how, sizeof how));
  how.mode = DURAHASH_MODE_OPEN_EXISTING;
  ANSWERS(DURAHASH_UNUSABLE, durahash_u64_open(scratch("none"), &how, &pool));
  CHECK(strstr(durahash_last_message(), "no such file") != NULL);
  CHECK(strstr(durahash_last_message(), "none") != NULL);

  const char* foreign = scratch("foreign");
  FILE* file = fopen(foreign, "w");
  CHECK(file != NULL);
  for (int i = 0; i < 100000; ++i) fputs("not a pool ", file);
  fclose(file);
  ANSWERS(DURAHASH_UNUSABLE, durahash_bytes_open(foreign, &how, &pool));
  CHECK(strstr(durahash_last_message(), foreign) != NULL);

  const char* path = scratch("locked");
  ANSWERS(DURAHASH_OK, durahash_u64_open(path, NULL, &pool));
  durahash_pool* second = NULL;
  ANSWERS(DURAHASH_LOCKED, durahash_u64_open(path, NULL, &second));
  CHECK(second == NULL);
  CHECK(strstr(durahash_last_message(), path) != NULL);
  ANSWERS(DURAHASH_LOCKED, durahash_remove(path));
  ANSWERS(DURAHASH_OK, durahash_close(pool));

  ANSWERS(DURAHASH_OK, durahash_options_init(&how, sizeof how));
  durahash_setting setting = {"no_such_setting", 1};
  how.settings = &setting;
  how.setting_count = 1;
  ANSWERS(DURAHASH_INVALID_ARGUMENT, durahash_u64_open(scratch("set"), &how, &pool));
  CHECK(strstr(durahash_last_message(), "no_such_setting") != NULL);
}

static void ignore_value(void* context, const void* value, size_t length) {
  (void)context, (void)value, (void)length;
}
static void ignore_word(void* context, uint64_t key, uint64_t value) {
  (void)context, (void)key, (void)value;
}

/// Null pointers, and functions of the other kind of pool.
static void wrong_calls(void) {
  durahash_pool* w = new_words("words", 0);
  durahash_pool* b = new_bytes("bytes", 1);
  uint64_t word = 0;
  size_t length = 0;
  char buffer[8];
  durahash_cursor at = {0, 0};
  const durahash_status wrong = DURAHASH_INVALID_ARGUMENT;

  ANSWERS(wrong, durahash_u64_put(NULL, 1, 2));
  ANSWERS(wrong, durahash_u64_get(NULL, 1, &word));
  ANSWERS(wrong, durahash_u64_get(w, 1, NULL));
  ANSWERS(wrong, durahash_u64_put(b, 1, 2));
  CHECK(strstr(durahash_last_message(), "durahash_bytes_open") != NULL);
  ANSWERS(wrong, durahash_bytes_put(w, "k", 1, "v", 1));
  CHECK(strstr(durahash_last_message(), "durahash_u64_open") != NULL);
  ANSWERS(wrong, durahash_bytes_put(NULL, "k", 1, "v", 1));
  ANSWERS(wrong, durahash_bytes_put(b, NULL, 1, "v", 1));
  ANSWERS(wrong, durahash_bytes_put(b, "k", 1, NULL, 1));
  ANSWERS(wrong, durahash_bytes_get(b, "k", 1, NULL, 1, &length));
  ANSWERS(wrong, durahash_bytes_get(b, NULL, 1, buffer, 8, &length));
  ANSWERS(wrong, durahash_bytes_read(b, "k", 1, NULL, NULL));
  ANSWERS(wrong, durahash_bytes_read(NULL, "k", 1, ignore_value, NULL));
  ANSWERS(wrong, durahash_bytes_compare_and_set(b, "k", 1, NULL, 1, "d", 1));
  ANSWERS(wrong, durahash_bytes_compare_and_set(b, "k", 1, "e", 1, NULL, 1));
  ANSWERS(wrong, durahash_u64_find_or_insert(w, 1, 2, NULL));
  ANSWERS(wrong, durahash_u64_update_with(w, 1, NULL, NULL));
  ANSWERS(wrong, durahash_u64_take(w, 1, NULL));
  ANSWERS(wrong, durahash_bytes_take(b, "k", 1, NULL, 1, &length));
  ANSWERS(wrong, durahash_bytes_take(b, NULL, 1, buffer, 8, &length));
  ANSWERS(wrong, durahash_bytes_find_or_insert(b, "k", 1, "f", 1, NULL, 1, &length));
  ANSWERS(wrong, durahash_bytes_find_or_insert(b, "k", 1, NULL, 1, buffer, 8, &length));
  ANSWERS(wrong, durahash_bytes_update_with(b, "k", 1, NULL, NULL));
  ANSWERS(wrong, durahash_u64_scan(w, NULL, 1, ignore_word, NULL));
  ANSWERS(wrong, durahash_u64_scan(w, &at, 1, NULL, NULL));
  ANSWERS(wrong, durahash_u64_scan(b, &at, 1, ignore_word, NULL));
  CHECK(at.position == 0 && at.done == 0);
  ANSWERS(wrong, durahash_size(w, NULL));
  ANSWERS(wrong, durahash_size(NULL, &word));
  ANSWERS(wrong, durahash_check(NULL, NULL, NULL, NULL));
  ANSWERS(wrong, durahash_stats(w, NULL, NULL));
  ANSWERS(wrong, durahash_backup(w, NULL));
  ANSWERS(wrong, durahash_convert(NULL, DURAHASH_DURABILITY_POWER));
  ANSWERS(wrong, durahash_remove(NULL));
  ANSWERS(wrong, durahash_processes(NULL, NULL, NULL));
  ANSWERS(wrong, durahash_processes(scratch("p"), NULL, NULL));
  ANSWERS(wrong, durahash_convert(scratch("c"), 4));
  ANSWERS(wrong, durahash_position(w, NULL));
  ANSWERS(wrong, durahash_when_durable(w, 0, NULL, NULL));
  ANSWERS(wrong, durahash_defer(w, NULL));
  ANSWERS(wrong, durahash_end_defer(NULL, &word));
  durahash_info facts;
  facts.size = 12;
  ANSWERS(wrong, durahash_get_info(w, &facts));
  ANSWERS(wrong, durahash_kinds(w, NULL));

  // A key that is too long, and a value.
  static char long_key[64 * 1024 + 1];
  ANSWERS(wrong, durahash_bytes_put(b, long_key, sizeof long_key, "v", 1));
  ANSWERS(DURAHASH_OK, durahash_bytes_put(b, long_key, sizeof long_key - 1, "v", 1));
  ANSWERS(wrong, durahash_bytes_put(b, "k", 1, long_key, (size_t)1 << 40));

  ANSWERS(DURAHASH_OK, durahash_size(w, &word));
  CHECK(word == 0);
  ANSWERS(DURAHASH_OK, durahash_size(b, &word));
  CHECK(word == 1);
  ANSWERS(DURAHASH_OK, durahash_close(w));
  ANSWERS(DURAHASH_OK, durahash_close(b));
  ANSWERS(DURAHASH_OK, durahash_close(NULL));
}

/// An older library's struct may be shorter than this one's: what fits is filled.
static void info_of_another_version(void) {
  struct {
    durahash_info known;
    uint64_t later[2];
  } newer;
  memset(&newer, 0xee, sizeof newer);
  newer.known.size = sizeof newer;
  durahash_pool* pool = new_words("info", 2);
  ANSWERS(DURAHASH_OK, durahash_get_info(pool, &newer.known));
  CHECK(newer.known.engine != 0 && newer.known.records == 0);
  CHECK(newer.later[0] == UINT64_C(0xeeeeeeeeeeeeeeee));
  ANSWERS(DURAHASH_OK, durahash_close(pool));
}

void arguments(void) {
  wrong_options();
  refused_opens();
  wrong_calls();
  info_of_another_version();
}
