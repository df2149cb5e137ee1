// kill -9, and fork.
#define _XOPEN_SOURCE 700

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/// Writes until it is killed; each number goes to the pipe when its put has returned.
static void write_for_ever(const char* path, unsigned which, int acknowledged) {
  int32_t engines[8];
  const size_t count = durahash_engines(engines, 8);
  durahash_options how;
  durahash_options_init(&how, sizeof how);
  how.engine = engines[which % count];
  durahash_pool* pool = NULL;
  ANSWERS(DURAHASH_OK, durahash_u64_open(path, &how, &pool));
  for (uint64_t i = 0;; ++i) {
    ANSWERS(DURAHASH_OK, durahash_u64_put(pool, mixed(i), i));
    if (write(acknowledged, &i, sizeof i) != sizeof i) _exit(1);
  }
}

struct counted {
  pid_t writer;
  int* seen;
};
static void count_writer(void* context, const durahash_process* process) {
  const struct counted* c = context;
  CHECK(process->id == c->writer && process->writes && process->command[0] != '\0');
  CHECK(process->started_unix_seconds > 0);
  ++*c->seen;
}

static void kill_one(unsigned which) {
  static const char* const names[] = {"k0", "k1", "k2", "k3"};
  const char* path = scratch(names[which]);
  int pipes[2];
  CHECK(pipe(pipes) == 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    close(pipes[0]);
    write_for_ever(path, which, pipes[1]);
  }
  close(pipes[1]);
  // After some thousands it is killed; what it had acknowledged by then is read to the end.
  uint64_t number = 0, last = 0;
  int killed = 0;
  while (read(pipes[0], &number, sizeof number) == sizeof number) {
    last = number;
    if (number == 100) {
      int seen = 0;
      ANSWERS(DURAHASH_OK, durahash_processes(path, count_writer, &(struct counted){child, &seen}));
      CHECK(seen == 1);
    }
    if (number >= 5000 + 777 * which && !killed) killed = 1, kill(child, SIGKILL);
  }
  close(pipes[0]);
  int ended = 0;
  CHECK(waitpid(child, &ended, 0) == child && WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL);

  durahash_pool* pool = NULL;
  ANSWERS(DURAHASH_OK, durahash_u64_open(path, NULL, &pool));
  durahash_info facts = {.size = sizeof facts};
  ANSWERS(DURAHASH_OK, durahash_get_info(pool, &facts));
  ANSWERS(DURAHASH_OK, durahash_processes(path, count_writer, NULL));  // this process has it
  CHECK(facts.clean == 0 && facts.records >= last + 1 && facts.records <= last + 2);
  for (uint64_t i = 0; i <= last; ++i) {
    uint64_t value = 0;
    ANSWERS(DURAHASH_OK, durahash_u64_get(pool, mixed(i), &value));
    CHECK(value == i);
  }
  ANSWERS(DURAHASH_OK, durahash_check(pool, NULL, NULL, NULL));
  ANSWERS(DURAHASH_OK, durahash_close(pool));
}

void killed(void) {
  for (unsigned which = 0; which < 4; ++which) kill_one(which);
}

static void never(void* context, uint64_t key, uint64_t value) {
  (void)context, (void)key, (void)value;
  CHECK(!"visited in a child");
}

/// A child has the handle, and may do nothing with it.
static void in_child(durahash_pool* w, durahash_pool* b) {
  uint64_t word = 0;
  uint8_t answers[2] = {0, 0};
  const uint64_t keys[2] = {1, 2};
  size_t count = 0;
  char buffer[8];
  durahash_cursor at = {0, 0};
  durahash_info facts = {.size = sizeof facts};
  durahash_deferral* deferral = NULL;
  durahash_record record;
  const durahash_strings strings = {keys, 8, NULL, NULL, NULL, 8};
  const durahash_status no = DURAHASH_FORKED;
  ANSWERS(no, durahash_u64_get(w, 1, &word));
  CHECK(strstr(durahash_last_message(), "fork") != NULL);
  ANSWERS(no, durahash_u64_put(w, 1, 3));
  ANSWERS(no, durahash_u64_erase(w, 1));
  ANSWERS(no, durahash_u64_fetch_add(w, 1, 3, &word));
  ANSWERS(no, durahash_u64_get_many(w, 2, keys, 8, NULL, 0, answers));
  CHECK(answers[0] == DURAHASH_FORKED && answers[1] == DURAHASH_FORKED);
  ANSWERS(no, durahash_u64_put_many(w, 2, keys, 8, keys, 8, NULL));
  ANSWERS(no, durahash_u64_scan(w, &at, 9, never, NULL));
  at = (durahash_cursor){0, 0};
  ANSWERS(no, durahash_u64_fill(w, &at, 1, &word, 8, NULL, 0, &count));
  ANSWERS(no, durahash_bytes_get(b, "k", 1, buffer, 8, &count));
  ANSWERS(no, durahash_bytes_put(b, "k", 1, "v", 1));
  ANSWERS(no, durahash_bytes_get_many(b, 2, &strings, NULL, answers));
  ANSWERS(no, durahash_bytes_fill(b, &at, &record, 1, buffer, 8, &count, &count));
  ANSWERS(no, durahash_size(w, &word));
  ANSWERS(no, durahash_kinds(b, &facts));
  ANSWERS(no, durahash_get_info(b, &facts));
  ANSWERS(no, durahash_check(b, NULL, NULL, NULL));
  ANSWERS(no, durahash_sync(b));
  ANSWERS(no, durahash_reserve(w, 10));
  ANSWERS(no, durahash_compact(w));
  ANSWERS(no, durahash_backup(w, "/nowhere/at/all"));
  ANSWERS(no, durahash_position(w, &word));
  ANSWERS(no, durahash_wait_durable(w, 0));
  ANSWERS(no, durahash_defer(w, &deferral));
  ANSWERS(no, durahash_close(w));
  ANSWERS(no, durahash_close(b));
}

struct visit {
  durahash_pool* pool;
  int times, in_child;
};
static void fork_within(void* context, uint64_t key, uint64_t value) {
  struct visit* all = context;
  (void)key, (void)value;
  if (++all->times == 5) all->in_child = fork() == 0;
}

void forked(void) {
  durahash_pool* w = new_words("fw", 0);
  durahash_pool* b = new_bytes("fb", 1);
  for (uint64_t i = 0; i < 100; ++i) ANSWERS(DURAHASH_OK, durahash_u64_put(w, i, i));
  ANSWERS(DURAHASH_OK, durahash_bytes_put(b, "k", 1, "v", 1));
  int ended = 0;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    in_child(w, b);
    exit(0);
  }
  CHECK(waitpid(child, &ended, 0) == child && WIFEXITED(ended) && WEXITSTATUS(ended) == 0);

  // A visitor that forks: the scan goes on in the parent, and ends in the child.
  struct visit all = {w, 0, 0};
  durahash_cursor at = {0, 0};
  durahash_status scanned = DURAHASH_OK;
  while (!at.done && scanned == DURAHASH_OK)
    scanned = durahash_u64_scan(w, &at, 1000, fork_within, &all);
  if (all.in_child) exit(scanned == DURAHASH_FORKED && all.times == 5 ? 0 : 1);
  CHECK(scanned == DURAHASH_OK && all.times == 100);
  CHECK(wait(&ended) > 0 && WIFEXITED(ended) && WEXITSTATUS(ended) == 0);

  uint64_t value = 0;
  ANSWERS(DURAHASH_OK, durahash_u64_get(w, 1, &value));
  CHECK(value == 1);
  ANSWERS(DURAHASH_OK, durahash_close(w));
  ANSWERS(DURAHASH_OK, durahash_close(b));
}
