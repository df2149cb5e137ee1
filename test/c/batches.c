// Batches over arrays of any stride, alignment and form.
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { most = 5000 };

static void all_are(const uint8_t* answers, size_t n, durahash_status expected) {
  for (size_t i = 0; i < n; ++i) CHECK(answers[i] == expected);
}

/// Records of a program: key and value stand between other fields, unaligned.
static void strided(durahash_pool* pool, size_t n) {
  enum { row = 29 };
  unsigned char* rows = calloc(most + 1, row);
  static uint8_t answers[most];
  for (size_t i = 0; i < n; ++i) {
    const uint64_t key = mixed(i), value = i * 3;
    memcpy(rows + i * row + 3, &key, 8);
    memcpy(rows + i * row + 17, &value, 8);
  }
  memset(answers, 99, sizeof answers);
  ANSWERS(DURAHASH_OK, durahash_u64_put_many(pool, n, rows + 3, row, rows + 17, row, answers));
  all_are(answers, n, DURAHASH_OK);

  // From the last to the first; and values alone, without answers.
  unsigned char* found = calloc(most + 1, row);
  const ptrdiff_t last = (ptrdiff_t)((n - 1) * row);
  ANSWERS(DURAHASH_OK,
          durahash_u64_get_many(pool, n, rows + 3 + last, -row, found + 1 + last, -row, NULL));
  for (size_t i = 0; i < n; ++i) {
    uint64_t value;
    memcpy(&value, found + i * row + 1, 8);
    CHECK(value == i * 3);
    CHECK(found[i * row] == 0 && found[i * row + 9] == 0);  // nothing beside it
  }
  // The same value for each key: a stride of 0.
  const uint64_t one = 77;
  ANSWERS(DURAHASH_OK, durahash_u64_put_many(pool, n, rows + 3, row, &one, 0, answers));
  uint64_t value = 0;
  ANSWERS(DURAHASH_OK, durahash_u64_get(pool, mixed(n - 1), &value));
  CHECK(value == 77);
  free(rows), free(found);
}

static void packed(durahash_pool* pool, size_t n) {
  static uint64_t keys[most], values[most];
  static uint8_t answers[most];
  for (size_t i = 0; i < n; ++i) keys[i] = mixed(i), values[i] = i;
  ANSWERS(DURAHASH_OK, durahash_u64_put_many(pool, n, keys, 8, values, 8, answers));
  all_are(answers, n, DURAHASH_OK);
  ANSWERS(DURAHASH_OK, durahash_u64_erase_many(pool, n / 2, keys, 16, answers));
  all_are(answers, n / 2, DURAHASH_OK);
  memset(values, 0xff, sizeof values);
  ANSWERS(DURAHASH_OK, durahash_u64_get_many(pool, n, keys, 8, values, 8, answers));
  for (size_t i = 0; i < n; ++i) {
    const int erased = i % 2 == 0 && i / 2 < n / 2;
    CHECK(answers[i] == (erased ? DURAHASH_NOT_FOUND : DURAHASH_OK));
    CHECK(erased || values[i] == i);
  }
  // Which are there, alone.
  memset(answers, 99, sizeof answers);
  ANSWERS(DURAHASH_OK, durahash_u64_get_many(pool, n, keys, 8, NULL, 0, answers));
  for (size_t i = 0; i < n; ++i)
    CHECK(answers[i] == (i % 2 == 0 && i / 2 < n / 2 ? DURAHASH_NOT_FOUND : DURAHASH_OK));
}

static void wrong_arrays(durahash_pool* pool) {
  uint64_t keys[4] = {1, 2, 3, 4}, values[4] = {0};
  uint8_t answers[4] = {9, 9, 9, 9};
  const durahash_status wrong = DURAHASH_INVALID_ARGUMENT;
  uint64_t before = 0, after = 0;
  ANSWERS(DURAHASH_OK, durahash_size(pool, &before));
  ANSWERS(wrong, durahash_u64_put_many(pool, 4, NULL, 8, values, 8, answers));
  ANSWERS(wrong, durahash_u64_put_many(pool, 4, keys, 8, NULL, 8, answers));
  ANSWERS(wrong, durahash_u64_get_many(pool, 4, NULL, 8, values, 8, answers));
  ANSWERS(wrong, durahash_u64_get_many(pool, 4, keys, 8, values, 0, answers));
  ANSWERS(wrong, durahash_u64_get_many(pool, 4, keys, 8, values, 7, answers));
  ANSWERS(wrong, durahash_u64_get_many(pool, 4, keys, 8, values, -7, answers));
  ANSWERS(wrong, durahash_u64_erase_many(pool, 4, NULL, 8, answers));
  CHECK(answers[0] == 9 && answers[3] == 9);
  ANSWERS(DURAHASH_OK, durahash_size(pool, &after));
  CHECK(before == after);
  ANSWERS(DURAHASH_OK, durahash_u64_put_many(pool, 0, NULL, 8, NULL, 8, NULL));
  ANSWERS(DURAHASH_OK, durahash_u64_get_many(pool, 0, NULL, 8, NULL, 8, NULL));
}

void word_batches(void) {
  const size_t sizes[] = {1, 7, 64, 1023, 1024, 1025, most};
  for (unsigned which = 0; which < 4; ++which) {
    static const char* const names[] = {"wb0", "wb1", "wb2", "wb3"};
    durahash_pool* pool = new_words(names[which], which);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
      packed(pool, sizes[i]);
      strided(pool, sizes[i]);
    }
    wrong_arrays(pool);
    ANSWERS(DURAHASH_OK, durahash_close(pool));
  }
  // With a log a batch is one, and waits for the disk once.
  durahash_options how;
  ANSWERS(DURAHASH_OK, durahash_options_init(&how, sizeof how));
  how.medium = DURAHASH_MEDIUM_DISK;
  how.durability = DURAHASH_DURABILITY_POWER;
  how.log_bytes = 64 << 20;
  durahash_pool* pool = NULL;
  const durahash_status opened = durahash_u64_open(scratch("disk"), &how, &pool);
  if (opened == DURAHASH_UNUSABLE) return;  // the test's folder lies in memory
  ANSWERS(DURAHASH_OK, opened);
  strided(pool, most);
  packed(pool, most);
  ANSWERS(DURAHASH_OK, durahash_close(pool));
}

struct sum {
  size_t calls, bytes;
};
static void add_up(void* context, size_t index, const void* value, size_t length) {
  struct sum* all = context;
  (void)value;
  ++all->calls, all->bytes += length;
  CHECK(index < most);
}

/// Keys "0", "1"... in all three forms; values of as many bytes as the key's number modulo 100.
static void forms(durahash_pool* pool, size_t n) {
  static char text[most * 8];
  static uint64_t offsets[most + 1];
  static const void* pointers[most];
  static size_t lengths[most];
  static char letters[200];
  static uint8_t answers[most];
  memset(letters, 'v', sizeof letters);
  uint64_t end = 0;
  for (size_t i = 0; i < n; ++i) {
    offsets[i] = end;
    pointers[i] = text + end;
    size_t digits = 0;
    for (size_t rest = i; digits == 0 || rest != 0; rest /= 10)
      text[end + digits++] = (char)('0' + rest % 10);
    lengths[i] = digits, end += digits;
  }
  offsets[n] = end;
  const durahash_strings arrow = {text, 0, offsets, NULL, NULL, 0};
  const durahash_strings pointed = {NULL, 0, NULL, pointers, lengths, 0};

  static size_t value_lengths[most];
  for (size_t i = 0; i < n; ++i) value_lengths[i] = i % 100;
  const durahash_strings values = {letters, 0, NULL, NULL, value_lengths, 0};  // a stride of 0
  ANSWERS(DURAHASH_OK, durahash_bytes_put_many(pool, n, &arrow, &values, answers));
  all_are(answers, n, DURAHASH_OK);

  // Rows with room for 50 bytes, and how long the values are.
  enum { row = 64 };
  char* rows = calloc(n, row);
  size_t* found = calloc(n, sizeof *found);
  const durahash_rows into = {rows, row, 50, found};
  memset(answers, 99, sizeof answers);
  ANSWERS(DURAHASH_OK, durahash_bytes_get_many(pool, n, &pointed, &into, answers));
  all_are(answers, n, DURAHASH_OK);
  for (size_t i = 0; i < n; ++i) {
    CHECK(found[i] == i % 100);
    const size_t kept = found[i] < 50 ? found[i] : 50;
    CHECK(kept == 0 || (rows[i * row] == 'v' && rows[i * row + kept - 1] == 'v'));
    CHECK(rows[i * row + kept] == 0);
  }
  // All of one length, or a mismatch.
  const durahash_rows exact = {rows, row, 7, NULL};
  ANSWERS(DURAHASH_OK, durahash_bytes_get_many(pool, n, &arrow, &exact, answers));
  for (size_t i = 0; i < n; ++i)
    CHECK(answers[i] == (i % 100 == 7 ? DURAHASH_OK : DURAHASH_MISMATCH));

  struct sum all = {0, 0};
  ANSWERS(DURAHASH_OK, durahash_bytes_read_many(pool, n, &arrow, add_up, &all, NULL));
  size_t expected = 0;
  for (size_t i = 0; i < n; ++i) expected += i % 100;
  CHECK(all.calls == n && all.bytes == expected);

  ANSWERS(DURAHASH_OK, durahash_bytes_erase_many(pool, n / 2, &pointed, answers));
  all_are(answers, n / 2, DURAHASH_OK);
  ANSWERS(DURAHASH_OK, durahash_bytes_get_many(pool, n, &pointed, NULL, answers));
  all_are(answers, n / 2, DURAHASH_NOT_FOUND);
  all_are(answers + n / 2, n - n / 2, DURAHASH_OK);
  free(rows), free(found);
}

/// Rows of a matrix: keys of 16 bytes, values of 24, in one array.
static void matrix(durahash_pool* pool) {
  static char rows[most][40], found[most][24];
  for (size_t i = 0; i < most; ++i) {
    const uint64_t words[5] = {mixed(i), i, i + 1, i + 2, i + 3};
    memcpy(rows[i], words, sizeof words);
  }
  const durahash_strings keys = {rows, 40, NULL, NULL, NULL, 16};
  const durahash_strings values = {&rows[0][16], 40, NULL, NULL, NULL, 24};
  ANSWERS(DURAHASH_OK, durahash_bytes_put_many(pool, most, &keys, &values, NULL));
  const durahash_rows into = {found, 24, 24, NULL};
  ANSWERS(DURAHASH_OK, durahash_bytes_get_many(pool, most, &keys, &into, NULL));
  for (size_t i = 0; i < most; ++i) CHECK(memcmp(found[i], &rows[i][16], 24) == 0);
}

static void wrong_strings(durahash_pool* pool) {
  const durahash_status wrong = DURAHASH_INVALID_ARGUMENT;
  const durahash_strings empty = {NULL, 0, NULL, NULL, NULL, 0};
  const durahash_strings no_data = {NULL, 0, NULL, NULL, NULL, 3};
  const uint64_t backwards[] = {0, 4, 2};
  const durahash_strings crossed = {"abcdef", 0, backwards, NULL, NULL, 0};
  const void* const pointers[] = {"a", NULL};
  const durahash_strings hole = {NULL, 0, NULL, pointers, NULL, 1};
  const durahash_strings good = {"abcdef", 1, NULL, NULL, NULL, 1};
  ANSWERS(wrong, durahash_bytes_put_many(pool, 2, NULL, &good, NULL));
  ANSWERS(wrong, durahash_bytes_put_many(pool, 2, &good, NULL, NULL));
  ANSWERS(wrong, durahash_bytes_put_many(pool, 2, &no_data, &good, NULL));
  ANSWERS(wrong, durahash_bytes_put_many(pool, 2, &crossed, &good, NULL));
  ANSWERS(wrong, durahash_bytes_put_many(pool, 2, &good, &crossed, NULL));
  ANSWERS(wrong, durahash_bytes_put_many(pool, 2, &hole, &good, NULL));
  ANSWERS(wrong, durahash_bytes_erase_many(pool, 2, &hole, NULL));
  ANSWERS(wrong, durahash_bytes_read_many(pool, 2, &good, NULL, NULL, NULL));
  char rows[8];
  const durahash_rows overlapping = {rows, 3, 4, NULL}, nowhere = {NULL, 4, 4, NULL};
  ANSWERS(wrong, durahash_bytes_get_many(pool, 2, &good, &overlapping, NULL));
  ANSWERS(wrong, durahash_bytes_get_many(pool, 2, &good, &nowhere, NULL));

  // Empty strings need no bytes; a key that is not taken is answered, and the others are done.
  ANSWERS(DURAHASH_OK, durahash_bytes_put_many(pool, 1, &empty, &empty, NULL));
  static char long_key[64 * 1024 + 1];
  const void* const mixed_keys[] = {"short", long_key};
  const size_t lengths[] = {5, sizeof long_key};
  const durahash_strings keys = {NULL, 0, NULL, mixed_keys, lengths, 0};
  uint8_t answers[2];
  ANSWERS(wrong, durahash_bytes_put_many(pool, 2, &keys, &good, answers));
  CHECK(answers[0] == DURAHASH_OK && answers[1] == DURAHASH_INVALID_ARGUMENT);
}

void byte_batches(void) {
  const size_t sizes[] = {1, 7, 64, 1024, 1025, most};
  for (unsigned which = 0; which < 4; ++which) {
    static const char* const names[] = {"bb0", "bb1", "bb2", "bb3"};
    durahash_pool* pool = new_bytes(names[which], which);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) forms(pool, sizes[i]);
    matrix(pool);
    wrong_strings(pool);
    ANSWERS(DURAHASH_OK, durahash_close(pool));
  }
}
