// Versions, engines, names, messages.
#include <stdio.h>
#include <string.h>

#include "check.h"

void versions(void) {
  char header[32];
  snprintf(header, sizeof header, "%d.%d.%d", DURAHASH_VERSION_MAJOR, DURAHASH_VERSION_MINOR,
           DURAHASH_VERSION_PATCH);
  CHECK(strcmp(header, durahash_version()) == 0);
  CHECK(durahash_version_number() == DURAHASH_VERSION_MAJOR * 1000000u +
                                         DURAHASH_VERSION_MINOR * 1000u + DURAHASH_VERSION_PATCH);

  int32_t engines[16];
  const size_t count = durahash_engines(engines, 16);
  CHECK(count >= 4 && count <= 16 && durahash_engines(NULL, 0) == count);
  for (size_t i = 0; i < count; ++i)
    CHECK(durahash_engine_named(durahash_engine_name(engines[i])) == engines[i]);
  CHECK(durahash_engine_named("turbo") == DURAHASH_ENGINE_TURBO);
  CHECK(durahash_engine_named("gphash") == DURAHASH_ENGINE_GPHASH);
  CHECK(durahash_engine_named("turb") == DURAHASH_UNSET);
  CHECK(durahash_engine_named(NULL) == DURAHASH_UNSET);
  CHECK(strcmp(durahash_engine_name(77), "unknown") == 0);
  CHECK(strcmp(durahash_engine_name(1 + 256), "unknown") == 0);
  CHECK(strcmp(durahash_engine_name(-1), "unknown") == 0);

  for (int32_t kind = DURAHASH_KIND_U64; kind <= DURAHASH_KIND_BYTES; ++kind)
    CHECK(durahash_data_kind_named(durahash_data_kind_name(kind)) == kind);
  for (int32_t level = 0; level <= DURAHASH_DURABILITY_POWER_BUFFERED; ++level)
    CHECK(durahash_durability_named(durahash_durability_name(level)) == level);
  for (int32_t medium = 0; medium <= DURAHASH_MEDIUM_DISK; ++medium)
    CHECK(durahash_medium_named(durahash_medium_name(medium)) == medium);
  CHECK(strcmp(durahash_medium_name(6), "unknown") == 0);

  CHECK(durahash_last_message()[0] == '\0');
  for (durahash_status s = DURAHASH_OK; s <= DURAHASH_FORKED; ++s) {
    const char* text = durahash_status_message(s);
    CHECK(text != NULL && strlen(text) > 3 && strcmp(text, "unknown status") != 0);
  }
  CHECK(strcmp(durahash_status_message(99), "unknown status") == 0);
  CHECK(strcmp(durahash_status_message(-1), "unknown status") == 0);
}
