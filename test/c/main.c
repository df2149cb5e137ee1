// The C API, topic by topic:   c_test TOPIC
#define _XOPEN_SOURCE 700  // nftw, mkdtemp

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static char folder[64];
static pid_t owner;

void check_failed(const char* what, const char* file, int line) {
  fprintf(stderr, "%s:%d: does not hold: %s\n  last message: %s\n", file, line, what,
          durahash_last_message());
  exit(1);
}

void check_answer(durahash_status expected, durahash_status got, const char* call, const char* file,
                  int line) {
  if (expected == got) return;
  fprintf(stderr, "%s:%d: %s\n  answers %d (%s)\n  and should answer %d (%s)\n  last message: %s\n",
          file, line, call, got, durahash_status_message(got), expected,
          durahash_status_message(expected), durahash_last_message());
  exit(1);
}

static int remove_one(const char* path, const struct stat* facts, int kind, struct FTW* where) {
  (void)facts, (void)kind, (void)where;
  return remove(path);
}

static void remove_folder(void) {
  if (getpid() == owner) nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char* scratch(const char* name) {
  static char paths[64][128];
  static int used;
  CHECK(used < 64);
  snprintf(paths[used], sizeof paths[used], "%s/%s", folder, name);
  return paths[used++];
}

static durahash_options of_engine(unsigned which) {
  int32_t engines[8];
  const size_t count = durahash_engines(engines, 8);
  CHECK(count >= 4 && count <= 8);
  durahash_options how;
  ANSWERS(DURAHASH_OK, durahash_options_init(&how, sizeof how));
  how.mode = DURAHASH_MODE_CREATE_NEW;
  how.engine = engines[which % count];
  return how;
}

durahash_pool* new_words(const char* name, unsigned which) {
  const durahash_options how = of_engine(which);
  durahash_pool* pool = NULL;
  ANSWERS(DURAHASH_OK, durahash_u64_open(scratch(name), &how, &pool));
  return pool;
}

durahash_pool* new_bytes(const char* name, unsigned which) {
  const durahash_options how = of_engine(which);
  durahash_pool* pool = NULL;
  ANSWERS(DURAHASH_OK, durahash_bytes_open(scratch(name), &how, &pool));
  return pool;
}

uint64_t mixed(uint64_t n) {
  uint64_t key = (n + 1) * UINT64_C(0x9e3779b97f4a7c15);
  key = (key ^ key >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  key = (key ^ key >> 27) * UINT64_C(0x94d049bb133111eb);
  return key ^ key >> 31;
}

static const struct {
  const char* name;
  void (*run)(void);
} topics[] = {
    {"versions", versions},
    {"arguments", arguments},
    {"words", words},
    {"bytes", bytes},
    {"word_batches", word_batches},
    {"byte_batches", byte_batches},
    {"iteration", iteration},
    {"whole_pools", whole_pools},
    {"logs", logs},
    {"killed", killed},
    {"forked", forked},
    {"full", full},
    {"threads", threads},
};

int main(int argc, char** argv) {
  const char* tmp = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%.40s/durahash-c-XXXXXX", tmp != NULL ? tmp : "/tmp");
  if (mkdtemp(folder) == NULL) return perror(folder), 1;
  owner = getpid();
  atexit(remove_folder);
  for (size_t i = 0; argc == 2 && i < sizeof topics / sizeof *topics; ++i) {
    if (strcmp(argv[1], topics[i].name) != 0) continue;
    topics[i].run();
    printf("%s: all of it holds\n", argv[1]);
    return 0;
  }
  fprintf(stderr, "usage: c_test TOPIC\n");
  return 2;
}
