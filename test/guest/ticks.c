/* ticks CPU: runs in a guest on that processor, and says every two milliseconds what time it is there: @t CPU NOW, in microseconds of CLOCK_MONOTONIC.
   The last line that came out is the youngest moment that is known of a machine whose power was cut; where lines are missing, the processor did not run. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int count, char** words) {
  int processor = count > 1 ? atoi(words[1]) : 0;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) return 1;
  for (;;) {
    struct timespec t, pause = {0, 2000000};
    char line[48];
    clock_gettime(CLOCK_MONOTONIC, &t);
    int length = snprintf(line, sizeof line, "@t %d %lld\n", processor, t.tv_sec * 1000000ll + t.tv_nsec / 1000);
    if (write(1, line, (size_t)length) != length) return 1;
    nanosleep(&pause, NULL);
  }
}
