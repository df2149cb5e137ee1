# At each build: which commit this is, into a header that changes only when the answer does.
#   cmake -DSOURCE=<repository> -DHEADER=<file> -P commit.cmake
cmake_policy(VERSION 3.25)
execute_process(COMMAND git -C "${SOURCE}" describe --always --abbrev=12 --dirty
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT "${HEADER}" CONTENT "#define DURAHASH_COMMIT \"${commit}\"\n")
