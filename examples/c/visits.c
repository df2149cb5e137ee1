/* Counts its own runs, in C11. It kills itself, so that nothing is closed or flushed; the next run
 * goes on all the same.
 *
 *     cc -std=c11 visits.c $(pkg-config --cflags --libs durahash) -o visits && ./visits visits.dh
 */
#include <durahash/durahash.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

int main(int argc, char** argv) {
  durahash_pool* visits = NULL;
  if (durahash_u64_open(argc > 1 ? argv[1] : "visits.dh", NULL, &visits) != DURAHASH_OK) {
    fprintf(stderr, "%s\n", durahash_last_message());
    return 3;
  }
  uint64_t before = 0;
  if (durahash_u64_fetch_add(visits, 42, 1, &before) != DURAHASH_OK) {
    fprintf(stderr, "%s\n", durahash_last_message());
    return 3;
  }
  printf("this program was killed %" PRIu64 " times\n", before);
  fflush(stdout);
  return raise(SIGKILL);
}
