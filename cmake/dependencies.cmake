# All of them are packages of Debian 12; scripts/setup.sh installs what is missing.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(durahash_pmem2 REQUIRED IMPORTED_TARGET libpmem2)
pkg_check_modules(durahash_urcu REQUIRED IMPORTED_TARGET liburcu-bp)
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
  find_package(rapidcheck REQUIRED)
  if(EXISTS /usr/bin/python3)  # the one that has Debian's packages, whatever stands first in PATH
    set(Python3_EXECUTABLE /usr/bin/python3 CACHE FILEPATH "The Python of the tests")
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()
