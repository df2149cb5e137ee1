# Test code runs short and is compiled long. Under a sanitizer -O0 of the preset is right for most of it.
set(durahash_test_optimisation -O1)
set(durahash_test_timeout 600)
set(durahash_counting durahash_emulated)
if(DURAHASH_SANITIZE)
  set(durahash_test_optimisation "")
  set(durahash_test_timeout 3600)  # make test runs these beside others, which go first
  set(durahash_counting "")  # the explorer's media run the same code
endif()

# durahash_test(<name> <sources>... [TOOL] [LABEL <label>] [USES <targets>...])
#
# One GoogleTest executable <name>_test. Each TEST, TEST_F, TEST_P becomes one test of ctest, <name>.<suite>.<test>, which runs all its parameters;
# <name>.others runs what was not recognised in the sources, so that nothing is left out. Suites with `Torture` or `Stress` in their name carry that label,
# those whose name ends with `Paper` or `Cost`, which measure and compare with the papers, `figures`, the others LABEL (default `unit`). The sources see
# src/ and, with TOOL, the constant DURAHASH_TOOL_PATH (the built tool), and get a main() unless one of them is called main.cpp.
function(durahash_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "TOOL" "LABEL" "USES")
  if(NOT test_LABEL)
    set(test_LABEL unit)
  endif()
  durahash_test_executable(${name}_test "${test_UNPARSED_ARGUMENTS}" "${test_USES}")
  if(test_TOOL AND TARGET durahash_tool)
    target_compile_definitions(${name}_test PRIVATE DURAHASH_TOOL_PATH="$<TARGET_FILE:durahash_tool>")
    add_dependencies(${name}_test durahash_tool durahash_bench_program durahash_reproduce_program)
  endif()

  set(recognised "")
  foreach(source IN LISTS test_UNPARSED_ARGUMENTS)
    if(source MATCHES "^\\$<")  # objects
      continue()
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
    file(STRINGS "${source}" lines REGEX "^(TYPED_)?TEST(_P|_F)?\\([A-Za-z0-9_]+, *[A-Za-z0-9_]+\\)")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^[A-Z_]+\\(([A-Za-z0-9_]+), *([A-Za-z0-9_]+)\\).*" "\\1;\\2" parts "${line}")
      list(GET parts 0 suite)
      list(GET parts 1 case)
      set(filter "${suite}.${case}:*/${suite}.${case}/*:${suite}/*.${case}")
      list(APPEND recognised "${filter}")
      durahash_add_case(${name} "${suite}.${case}" "${filter}" ${test_LABEL})
    endforeach()
  endforeach()
  list(JOIN recognised ":" recognised)
  durahash_add_case(${name} others "-${recognised}" ${test_LABEL})
endfunction()

function(durahash_add_case name case filter label)
  set(properties TIMEOUT ${durahash_test_timeout})
  if(case MATCHES "EveryMoment\\.|SystemCall\\.|AllocationFailure\\.|PowerCut")
    list(APPEND properties COST 100)  # what takes longest begins first
  endif()
  if(case MATCHES "Torture|Stress")
    string(REGEX MATCH "Torture|Stress" kind "${case}")
    string(TOLOWER ${kind} label)
    list(APPEND properties PROCESSORS 2)
  elseif(case MATCHES "(Paper|Cost)\\.")
    set(label figures)
  endif()
  add_test(NAME ${name}.${case} COMMAND ${name}_test "--gtest_filter=${filter}" --gtest_brief=1)
  set_tests_properties(${name}.${case} PROPERTIES LABELS ${label} ${properties})
endfunction()

add_custom_target(tests)  # all executables of tests, and what they start

# What most tests include is compiled once for all of them.
file(WRITE "${PROJECT_BINARY_DIR}/test_headers.cpp.new" "int main() {}  // only for the headers that the tests share\n")
file(COPY_FILE "${PROJECT_BINARY_DIR}/test_headers.cpp.new" "${PROJECT_BINARY_DIR}/test_headers.cpp" ONLY_IF_DIFFERENT)
add_executable(durahash_test_headers "${PROJECT_BINARY_DIR}/test_headers.cpp")
target_precompile_headers(durahash_test_headers PRIVATE <gtest/gtest.h> <algorithm> <atomic> <chrono> <cstdint>
  <filesystem> <functional> <map> <memory> <optional> <random> <span> <string> <thread> <unordered_map> <vector>)
target_link_libraries(durahash_test_headers PRIVATE GTest::gtest Threads::Threads durahash_compiler)
target_compile_options(durahash_test_headers PRIVATE ${durahash_test_optimisation})

function(durahash_test_executable target sources uses)
  add_executable(${target} ${sources})
  add_dependencies(tests ${target})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/test")
  target_link_libraries(${target} PRIVATE ${durahash_counting} durahash durahash_store GTest::gtest fmt::fmt
    Threads::Threads durahash_compiler ${uses})
  if(NOT "${sources}" MATCHES "/main\\.cpp")
    target_link_libraries(${target} PRIVATE GTest::gtest_main)
  endif()
  target_compile_options(${target} PRIVATE ${durahash_test_optimisation})
  durahash_together(${target} 8)
  set_target_properties(${target} PROPERTIES  # what one source declares is seen by the next
    UNITY_BUILD_CODE_BEFORE_INCLUDE "#pragma GCC diagnostic ignored \"-Wshadow\"")
  foreach(source IN LISTS sources)
    if(source MATCHES "_instances\\.cpp$")  # much to compile in one source, and by several compilers at once
      set_source_files_properties("${source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
  if(NOT "${sources}" MATCHES "[.]cu")
    target_precompile_headers(${target} REUSE_FROM durahash_test_headers)
  endif()
endfunction()
