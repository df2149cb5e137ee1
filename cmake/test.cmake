include(GoogleTest)

# durahash_test(<name> <sources>... [LABEL <label>] [USES <targets>...])
#
# One GoogleTest executable, its tests registered one by one. Tests whose name has `Torture` or `Stress` in it carry that label, the others
# LABEL (default `unit`). The sources see src/, the constants DURAHASH_TOOL_PATH (the built tool) and DURAHASH_SOURCE_DIR,
# and get a main() unless one of them is called main.cpp.
function(durahash_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "" "LABEL" "USES")
  if(NOT test_LABEL)
    set(test_LABEL unit)
  endif()
  add_executable(${name} ${test_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/test")
  target_link_libraries(${name} PRIVATE durahash durahash_bench durahash_store rapidcheck GTest::gtest fmt::fmt
    nlohmann_json::nlohmann_json Threads::Threads durahash_compiler ${test_USES})
  if(NOT "${test_UNPARSED_ARGUMENTS}" MATCHES "/main\\.cpp")
    target_link_libraries(${name} PRIVATE GTest::gtest_main)
  endif()
  target_compile_definitions(${name} PRIVATE DURAHASH_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(TARGET durahash_tool)
    target_compile_definitions(${name} PRIVATE DURAHASH_TOOL_PATH="$<TARGET_FILE:durahash_tool>")
    add_dependencies(${name} durahash_tool)
  endif()
  set(common DISCOVERY_TIMEOUT 60 WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  gtest_discover_tests(${name} ${common} TEST_FILTER "-*Torture*:*Stress*" TEST_LIST ${name}_tests
    PROPERTIES LABELS "${test_LABEL}" TIMEOUT 300)
  gtest_discover_tests(${name} ${common} TEST_FILTER "*Torture*" TEST_LIST ${name}_torture
    PROPERTIES LABELS torture TIMEOUT 900 PROCESSORS 2)
  gtest_discover_tests(${name} ${common} TEST_FILTER "*Stress*" TEST_LIST ${name}_stress
    PROPERTIES LABELS stress TIMEOUT 900 PROCESSORS 2)
endfunction()
