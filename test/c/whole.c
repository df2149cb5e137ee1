// What concerns a pool as a whole.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static void count_line(void* context, const char* line) {
  CHECK(line[0] != '\0');
  ++*(int*)context;
}
static void find_figure(void* context, const char* name, double figure) {
  if (strcmp(name, "flushes") == 0) *(double*)context = figure;
}

static void on_engine(unsigned which) {
  static const char* const names[] = {"p0", "p1", "p2", "p3"};
  static const char* const copies[] = {"c0", "c1", "c2", "c3"};
  durahash_pool* pool = new_words(names[which], which);
  ANSWERS(DURAHASH_OK, durahash_reserve(pool, 20000));
  for (uint64_t i = 0; i < 10000; ++i) ANSWERS(DURAHASH_OK, durahash_u64_put(pool, i, i));

  durahash_info kinds = {.size = sizeof kinds}, facts = {.size = sizeof facts};
  ANSWERS(DURAHASH_OK, durahash_kinds(pool, &kinds));
  ANSWERS(DURAHASH_OK, durahash_get_info(pool, &facts));
  CHECK(kinds.engine == facts.engine && facts.key == DURAHASH_KIND_U64);
  CHECK(facts.value == DURAHASH_KIND_U64 && facts.durability == DURAHASH_DURABILITY_PROCESS);
  CHECK(facts.medium == DURAHASH_MEDIUM_FILE && facts.format_version == 1);
  CHECK(facts.records == 10000 && facts.slots >= 10000 && facts.load_factor > 0.01);
  CHECK(facts.file_bytes > facts.live_bytes / 2 && facts.live_bytes > 16 * 10000);
  CHECK(kinds.records == 0 && kinds.size == sizeof kinds && facts.size == sizeof facts);

  uint64_t records = 0, slots = facts.slots;
  int lines = 0;
  ANSWERS(DURAHASH_OK, durahash_check(pool, &records, count_line, &lines));
  CHECK(records == 10000 && lines == 0);
  ANSWERS(DURAHASH_OK, durahash_check(pool, NULL, NULL, NULL));
  double flushes = -1;
  ANSWERS(DURAHASH_OK, durahash_stats(pool, find_figure, &flushes));
  CHECK(flushes == 0);
  ANSWERS(DURAHASH_OK, durahash_sync(pool));
  ANSWERS(DURAHASH_OK, durahash_salvage_report(pool, count_line, &lines));
  CHECK(lines == 0);

  ANSWERS(DURAHASH_OK, durahash_backup(pool, scratch(copies[which])));
  CHECK(durahash_backup(pool, scratch(copies[which])) != DURAHASH_OK);  // it is there
  CHECK(strstr(durahash_last_message(), copies[which]) != NULL);

  for (uint64_t i = 100; i < 10000; ++i) ANSWERS(DURAHASH_OK, durahash_u64_erase(pool, i));
  ANSWERS(DURAHASH_OK, durahash_compact(pool));
  ANSWERS(DURAHASH_OK, durahash_get_info(pool, &facts));
  CHECK(facts.records == 100 && facts.slots < slots);
  ANSWERS(DURAHASH_OK, durahash_close(pool));

  ANSWERS(DURAHASH_OK, durahash_u64_open(scratch(copies[which]), NULL, &pool));
  ANSWERS(DURAHASH_OK, durahash_size(pool, &records));
  CHECK(records == 10000);
  ANSWERS(DURAHASH_OK, durahash_get_info(pool, &facts));
  CHECK(facts.clean == 1);
  ANSWERS(DURAHASH_OK, durahash_close(pool));
}

/// A bit of a closed pool is changed: check says so.
static void damaged(void) {
  durahash_pool* pool = new_bytes("damaged", 0);
  static char value[4096];
  memset(value, 'd', sizeof value);
  for (int i = 0; i < 100; ++i)
    ANSWERS(DURAHASH_OK, durahash_bytes_put(pool, &i, sizeof i, value, sizeof value));
  ANSWERS(DURAHASH_OK, durahash_close(pool));

  const char* path = scratch("damaged");
  FILE* file = fopen(path, "r+b");
  CHECK(file != NULL);
  static char all[8 << 20];
  const size_t bytes = fread(all, 1, sizeof all, file);
  size_t at = 0;
  while (at + 64 < bytes && memcmp(all + at, value, 64) != 0) ++at;
  CHECK(at + 64 < bytes);
  CHECK(fseek(file, (long)at, SEEK_SET) == 0 && fputc('D', file) == 'D' && fclose(file) == 0);

  ANSWERS(DURAHASH_OK, durahash_bytes_open(path, NULL, &pool));
  int lines = 0;
  uint64_t records = 0;
  ANSWERS(DURAHASH_DAMAGED, durahash_check(pool, &records, count_line, &lines));
  CHECK(lines >= 1 && durahash_last_message()[0] != '\0');
  ANSWERS(DURAHASH_OK, durahash_close(pool));
}

/// Settings and capacity reach the library. It has no medium emulated, and says so.
static void with_options(void) {
  durahash_options how;
  ANSWERS(DURAHASH_OK, durahash_options_init(&how, sizeof how));
  const durahash_setting settings[] = {{"segment_bytes", 4096}};
  how.engine = DURAHASH_ENGINE_CCEH;
  how.medium = DURAHASH_MEDIUM_EMULATED;
  durahash_pool* pool = NULL;
  ANSWERS(DURAHASH_UNUSABLE, durahash_u64_open(scratch("emulated"), &how, &pool));
  CHECK(strstr(durahash_last_message(), "emulated") != NULL);
  how.medium = DURAHASH_MEDIUM_FILE;
  how.capacity = 1000000;
  how.settings = settings;
  how.setting_count = 1;
  durahash_status opened = durahash_u64_open(scratch("settings"), &how, &pool);
  if (opened == DURAHASH_INVALID_ARGUMENT) {  // no such setting: its message lists those that are
    CHECK(strstr(durahash_last_message(), "segment_bytes") != NULL);
    how.setting_count = 0;
    opened = durahash_u64_open(scratch("settings"), &how, &pool);
  }
  ANSWERS(DURAHASH_OK, opened);
  for (uint64_t i = 0; i < 1000; ++i) ANSWERS(DURAHASH_OK, durahash_u64_insert(pool, i, i));
  durahash_info facts = {.size = sizeof facts};
  ANSWERS(DURAHASH_OK, durahash_get_info(pool, &facts));
  CHECK(facts.slots >= 1000000 && facts.medium == DURAHASH_MEDIUM_FILE);
  CHECK(facts.durability == DURAHASH_DURABILITY_PROCESS);
  ANSWERS(DURAHASH_OK, durahash_close(pool));

  ANSWERS(DURAHASH_OK, durahash_options_init(&how, sizeof how));
  how.medium = DURAHASH_MEDIUM_MEMORY;
  ANSWERS(DURAHASH_OK, durahash_u64_open(NULL, &how, &pool));
  ANSWERS(DURAHASH_OK, durahash_u64_put(pool, 1, 2));
  ANSWERS(DURAHASH_OK, durahash_close(pool));
}

void whole_pools(void) {
  for (unsigned which = 0; which < 4; ++which) on_engine(which);
  damaged();
  with_options();
}

static durahash_status told = -1;
static void tell(void* context, durahash_status s) {
  (void)context;
  told = s;
}

/// Positions, deferral, convert. Without a log they wait for nothing.
void logs(void) {
  const char* path = scratch("log");
  durahash_pool* pool = NULL;
  uint64_t position = 9, durable = 9;
  ANSWERS(DURAHASH_OK, durahash_u64_open(path, NULL, &pool));
  ANSWERS(DURAHASH_OK, durahash_u64_put(pool, 1, 2));
  ANSWERS(DURAHASH_OK, durahash_position(pool, &position));
  CHECK(position == 0);
  ANSWERS(DURAHASH_OK, durahash_wait_durable(pool, position));
  ANSWERS(DURAHASH_OK, durahash_when_durable(pool, position, tell, NULL));
  CHECK(told == DURAHASH_OK);
  CHECK(durahash_convert(path, DURAHASH_DURABILITY_POWER) != DURAHASH_OK);  // it is open
  CHECK(durahash_last_message()[0] != '\0');
  ANSWERS(DURAHASH_OK, durahash_close(pool));

  const durahash_status converted = durahash_convert(path, DURAHASH_DURABILITY_POWER);
  if (converted != DURAHASH_OK) {  // the test's folder lies in memory, and the message says so
    CHECK(strstr(durahash_last_message(), "tmpfs") != NULL);
    return;
  }
  ANSWERS(DURAHASH_OK, durahash_u64_open(path, NULL, &pool));
  durahash_info kinds = {.size = sizeof kinds};
  ANSWERS(DURAHASH_OK, durahash_kinds(pool, &kinds));
  CHECK(kinds.durability == DURAHASH_DURABILITY_POWER);
  uint64_t needed = 0;
  durahash_deferral* later = NULL;
  ANSWERS(DURAHASH_OK, durahash_defer(pool, &later));
  for (uint64_t i = 0; i < 1000; ++i) ANSWERS(DURAHASH_OK, durahash_u64_put(pool, i, i));
  ANSWERS(DURAHASH_OK, durahash_end_defer(later, &needed));
  CHECK(needed > 0);
  ANSWERS(DURAHASH_OK, durahash_wait_durable(pool, needed));
  ANSWERS(DURAHASH_OK, durahash_durable_position(pool, &durable));
  CHECK(durable >= needed);
  told = -1;
  ANSWERS(DURAHASH_OK, durahash_u64_put(pool, 1, 3));
  ANSWERS(DURAHASH_OK, durahash_position(pool, &position));
  CHECK(position >= needed);
  ANSWERS(DURAHASH_OK, durahash_when_durable(pool, position, tell, NULL));
  ANSWERS(DURAHASH_OK, durahash_close(pool));  // calls what is left
  CHECK(told == DURAHASH_OK);
  ANSWERS(DURAHASH_OK, durahash_convert(path, DURAHASH_DURABILITY_PROCESS));
  ANSWERS(DURAHASH_OK, durahash_remove(path));
  ANSWERS(DURAHASH_UNUSABLE, durahash_remove(path));  // it is gone
}
