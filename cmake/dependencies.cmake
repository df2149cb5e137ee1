# All of them are packages of Debian 12; scripts/setup.sh installs what is missing.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
# libpmem2 brings six libraries, which only persistent memory needs.
set(DURAHASH_HAS_PMEM2 OFF)
if(NOT DURAHASH_PMEM2 STREQUAL OFF)
  pkg_check_modules(durahash_pmem2 QUIET IMPORTED_TARGET libpmem2)
  if(durahash_pmem2_FOUND)
    set(DURAHASH_HAS_PMEM2 ON)
  elseif(DURAHASH_PMEM2 STREQUAL ON)
    message(FATAL_ERROR "DURAHASH_PMEM2 is ON, and pkg-config finds no libpmem2 (Debian: libpmem2-dev)")
  else()
    message(STATUS "libpmem2 is not here: persistent memory is left out (Debian: libpmem2-dev)")
  endif()
endif()
pkg_check_modules(durahash_xxhash REQUIRED IMPORTED_TARGET libxxhash)  # header only: XXH_INLINE_ALL, not linked

add_library(durahash_xxhash_headers INTERFACE)
target_include_directories(durahash_xxhash_headers SYSTEM INTERFACE ${durahash_xxhash_INCLUDE_DIRS})

if(DURAHASH_BUILD_TOOL OR DURAHASH_BUILD_TESTS)
  find_package(CLI11 REQUIRED)
  find_package(nlohmann_json REQUIRED)
  find_package(fmt REQUIRED)
endif()
if(DURAHASH_BUILD_TESTS)
  find_package(GTest REQUIRED)
  if(EXISTS /usr/bin/python3)  # the one that has Debian's packages, whatever stands first in PATH
    set(Python3_EXECUTABLE /usr/bin/python3 CACHE FILEPATH "The Python of the tests")
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()
