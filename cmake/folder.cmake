# What most sources include of the standard library is compiled once for all of them.
file(WRITE "${PROJECT_BINARY_DIR}/headers.cpp.new" "// only for the headers that the library's sources share\n")
file(COPY_FILE "${PROJECT_BINARY_DIR}/headers.cpp.new" "${PROJECT_BINARY_DIR}/headers.cpp" ONLY_IF_DIFFERENT)
add_library(durahash_headers OBJECT "${PROJECT_BINARY_DIR}/headers.cpp")
target_precompile_headers(durahash_headers PRIVATE <algorithm> <array> <atomic> <bit> <chrono> <condition_variable>
  <cstdint> <cstring> <deque> <functional> <map> <memory> <mutex> <optional> <span> <string> <string_view> <thread>
  <utility> <vector>)
target_link_libraries(durahash_headers PRIVATE durahash_compiler)

# durahash_together(<target> [<batch>])
#
# With DURAHASH_UNITY the target's sources are compiled together, so many at once; all by default. Left out are sources with
# SKIP_UNITY_BUILD_INCLUSION or compile options of their own.
function(durahash_together target)
  set(batch ${ARGN} 0)
  list(GET batch 0 batch)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${DURAHASH_UNITY} UNITY_BUILD_BATCH_SIZE ${batch})
endfunction()

# durahash_folder(<name> [USES <targets>...])
#
# Makes the target durahash_<name> of the sources of the current folder: objects that the library `durahash` is put together from, or,
# while the folder holds headers alone, an interface. Sources that appear later are picked up by the next build.
function(durahash_folder name)
  cmake_parse_arguments(PARSE_ARGV 1 folder "" "" "USES")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  if(sources)
    add_library(durahash_${name} OBJECT ${sources})
    target_link_libraries(durahash_${name} PRIVATE durahash_compiler)
    target_precompile_headers(durahash_${name} REUSE_FROM durahash_headers)
    durahash_together(durahash_${name})
    set(reach PUBLIC)
    set_property(GLOBAL APPEND PROPERTY durahash_objects "$<TARGET_OBJECTS:durahash_${name}>")
  else()
    add_library(durahash_${name} INTERFACE)
    set(reach INTERFACE)
  endif()
  target_include_directories(durahash_${name} ${reach} "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(durahash_${name} ${reach} ${folder_USES})
endfunction()
