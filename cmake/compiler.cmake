# How our own code is compiled: the interface target durahash_compiler, which every target of ours links privately.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # the static library also goes into other people's shared objects
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

add_library(durahash_compiler INTERFACE)
target_compile_options(durahash_compiler INTERFACE
  -march=${DURAHASH_MARCH}
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>
  # gcc reports every use of an aligned type as a change of the C++17 ABI.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-psabi>
  # gcc 12 warns in the standard library where a std::string is appended to (its bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<BOOL:${DURAHASH_WERROR}>:-Werror>)

add_library(durahash_runs_most INTERFACE)  # the explorer, and what tests instantiate of engines, link this
if(DURAHASH_SANITIZE)
  # Everything of the build is instrumented, so that no object hides from the sanitizer.
  add_compile_options(-fsanitize=${DURAHASH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${DURAHASH_SANITIZE})
  add_compile_definitions(DURAHASH_SANITIZED)
  if(DURAHASH_SANITIZE MATCHES "thread")
    add_compile_definitions(DURAHASH_SANITIZED_FOR_THREADS)  # clang has no macro for it
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      add_compile_options(-Wno-tsan)  # gcc: says that fences are not modelled
    endif()
  endif()
  # Without optimisation code compiles twice as fast, and runs several times as long: what runs most has -O1, all else -O0.
  # So does the library: of the tests that make test runs, -O1 would save less than it takes.
  target_compile_options(durahash_runs_most INTERFACE -O1)
endif()
