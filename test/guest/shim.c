/* Preloaded into `durahash load --acks` in a guest: it says when. Behind each piece of acknowledgements it writes a line
     @a NOW            they were made before this moment
   and around each call that waits for the disk
     @b NOW            one begins
     @e BEGAN NOW      one has ended
   in microseconds of CLOCK_MONOTONIC. With LEAVE_OUT=dsync, sync or both in the environment it plants a fault: RWF_DSYNC is taken away, fdatasync and fsync
   do nothing; with LEAVE_OUT=time each write waits before it begins. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000ll + t.tv_nsec / 1000;
}

static void put(const char* from, size_t bytes) {
  while (bytes > 0) {
    ssize_t done = syscall(SYS_write, 1, from, bytes);
    if (done < 0 && errno != EINTR && errno != EAGAIN) return;
    if (done > 0) from += done, bytes -= (size_t)done;
  }
}

static void say(const char* what, long long first, long long second) {
  char line[80];
  int length = second != 0 ? snprintf(line, sizeof line, "@%s %lld %lld\n", what, first, second)
                           : snprintf(line, sizeof line, "@%s %lld\n", what, first);
  int kept = errno;
  pthread_mutex_lock(&one_at_a_time);
  put(line, (size_t)length);
  pthread_mutex_unlock(&one_at_a_time);
  errno = kept;
}

ssize_t write(int file, const void* from, size_t bytes) {
  if (file != 1) return syscall(SYS_write, file, from, bytes);
  char stamp[40];
  int length = snprintf(stamp, sizeof stamp, "@a %lld\n", now());
  pthread_mutex_lock(&one_at_a_time);
  put(from, bytes);
  put(stamp, (size_t)length);
  pthread_mutex_unlock(&one_at_a_time);
  return (ssize_t)bytes;
}

static int left_out(const char* what) {
  const char* which = getenv("LEAVE_OUT");
  return which != NULL && (strcmp(which, what) == 0 || strcmp(which, "both") == 0);
}

ssize_t pwritev2(int file, const struct iovec* pieces, int count, off_t offset, int flags) {
  if (left_out("dsync")) flags &= ~RWF_DSYNC;
  if (left_out("time")) usleep(300000);
  long long began = now();
  say("b", began, 0);
  ssize_t done = syscall(SYS_pwritev2, file, pieces, (long)count, (long)offset, 0l, flags);
  say("e", began, now());
  return done;
}

ssize_t pwritev64v2(int file, const struct iovec* pieces, int count, off_t offset, int flags) {
  return pwritev2(file, pieces, count, offset, flags);
}

static int sync_with(long call, int file) {
  if (left_out("sync")) return 0;
  long long began = now();
  say("b", began, 0);
  int done = (int)syscall(call, file);
  say("e", began, now());
  return done;
}

int fdatasync(int file) { return sync_with(SYS_fdatasync, file); }
int fsync(int file) { return sync_with(SYS_fsync, file); }
