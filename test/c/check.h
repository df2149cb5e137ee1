// What the topics of this test are written with: C11, and durahash.h alone.
#ifndef TEST_C_CHECK_H
#define TEST_C_CHECK_H

#include <durahash/durahash.h>

/// Ends the test where the condition does not hold: says which, and the last message.
#define CHECK(condition)                                            \
  do {                                                              \
    if (!(condition)) check_failed(#condition, __FILE__, __LINE__); \
  } while (0)

/// Ends the test where the call does not answer so.
#define ANSWERS(status, call) check_answer(status, call, #call, __FILE__, __LINE__)

_Noreturn void check_failed(const char* what, const char* file, int line);
void check_answer(durahash_status expected, durahash_status got, const char* call, const char* file,
                  int line);

/// A path of that name in a folder of this test's own, which is removed at its end. Valid until the
/// test ends; at most 64 of them.
const char* scratch(const char* name);

/// A new pool on a file, of any engine: `which` goes round.
durahash_pool* new_words(const char* name, unsigned which);
durahash_pool* new_bytes(const char* name, unsigned which);

/// Numbers that are as good as random, the same in each run.
uint64_t mixed(uint64_t n);

// The topics.
void versions(void);
void arguments(void);
void words(void);
void bytes(void);
void word_batches(void);
void byte_batches(void);
void iteration(void);
void whole_pools(void);
void logs(void);
void killed(void);
void forked(void);
void full(void);
void threads(void);

#endif
