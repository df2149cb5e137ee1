# What most sources include of the standard library is compiled once for all of them.
file(WRITE "${PROJECT_BINARY_DIR}/headers.cpp.new" "// only for the headers that the library's sources share\n")
file(COPY_FILE "${PROJECT_BINARY_DIR}/headers.cpp.new" "${PROJECT_BINARY_DIR}/headers.cpp" ONLY_IF_DIFFERENT)
add_library(durahash_headers OBJECT "${PROJECT_BINARY_DIR}/headers.cpp")
target_precompile_headers(durahash_headers PRIVATE <algorithm> <array> <atomic> <bit> <chrono> <condition_variable>
  <cstdint> <cstring> <deque> <functional> <map> <memory> <mutex> <optional> <span> <string> <string_view> <thread>
  <utility> <vector>)
target_link_libraries(durahash_headers PRIVATE durahash_compiler)

# durahash_folder(<name> [USES <targets>...])
#
# Makes the target durahash_<name> of the sources of the current folder: objects that the library `durahash` is put together from, or,
# while the folder holds headers alone, an interface. Sources that appear later are picked up by the next build.
# With DURAHASH_UNITY they are compiled together, but for those with SKIP_UNITY_BUILD_INCLUSION.
function(durahash_folder name)
  cmake_parse_arguments(PARSE_ARGV 1 folder "" "" "USES")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  if(sources)
    add_library(durahash_${name} OBJECT ${sources})
    target_link_libraries(durahash_${name} PRIVATE durahash_compiler)
    target_precompile_headers(durahash_${name} REUSE_FROM durahash_headers)
    set_target_properties(durahash_${name} PROPERTIES UNITY_BUILD ${DURAHASH_UNITY} UNITY_BUILD_BATCH_SIZE 0)
    set(reach PUBLIC)
    set_property(GLOBAL APPEND PROPERTY durahash_objects "$<TARGET_OBJECTS:durahash_${name}>")
  else()
    add_library(durahash_${name} INTERFACE)
    set(reach INTERFACE)
  endif()
  target_include_directories(durahash_${name} ${reach} "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(durahash_${name} ${reach} ${folder_USES})
endfunction()
