// No room: writes are refused, reads and erases go on.
#include <string.h>

#include "check.h"

static void on_engine(unsigned which) {
  static const char* const names[] = {"f0", "f1", "f2", "f3"};
  int32_t engines[8];
  durahash_engines(engines, 8);
  durahash_options how;
  ANSWERS(DURAHASH_OK, durahash_options_init(&how, sizeof how));
  how.engine = engines[which];
  how.max_bytes = 4 << 20;
  durahash_pool* pool = NULL;
  ANSWERS(DURAHASH_OK, durahash_bytes_open(scratch(names[which]), &how, &pool));
  static char value[2000];
  uint64_t stored = 0;
  durahash_status s = DURAHASH_OK;
  while ((s = durahash_bytes_put(pool, &stored, 8, value, sizeof value)) == DURAHASH_OK) ++stored;
  ANSWERS(DURAHASH_NO_SPACE, s);
  CHECK(strstr(durahash_last_message(), "space") != NULL);
  CHECK(stored > 100 && stored < 2200);

  // A batch of which some have room says so.
  uint8_t answers[64];
  uint64_t keys[64];
  for (uint64_t i = 0; i < 64; ++i) keys[i] = 1000000 + i;
  const durahash_strings ks = {keys, 8, NULL, NULL, NULL, 8};
  const durahash_strings vs = {value, 0, NULL, NULL, NULL, sizeof value};
  ANSWERS(DURAHASH_NO_SPACE, durahash_bytes_put_many(pool, 64, &ks, &vs, answers));
  CHECK(memchr(answers, DURAHASH_NO_SPACE, sizeof answers) != NULL);

  uint64_t records = 0;
  size_t length = 0;
  ANSWERS(DURAHASH_OK, durahash_size(pool, &records));
  CHECK(records >= stored && records < stored + 64);
  for (uint64_t i = 0; i < stored; ++i)
    ANSWERS(DURAHASH_OK, durahash_bytes_get(pool, &i, 8, NULL, 0, &length));
  for (uint64_t i = 0; i < stored / 2; ++i) ANSWERS(DURAHASH_OK, durahash_bytes_erase(pool, &i, 8));
  ANSWERS(DURAHASH_OK, durahash_bytes_put(pool, "again", 5, value, sizeof value));
  ANSWERS(DURAHASH_OK, durahash_check(pool, NULL, NULL, NULL));
  ANSWERS(DURAHASH_OK, durahash_close(pool));
}

void full(void) {
  for (unsigned which = 0; which < 4; ++which) on_engine(which);
}
