# durahash_folder(<name> [USES <targets>...])
#
# Makes the target durahash_<name> of the sources of the current folder: objects that the library `durahash` is put together from, or,
# while the folder holds headers alone, an interface. Sources that appear later are picked up by the next build.
function(durahash_folder name)
  cmake_parse_arguments(PARSE_ARGV 1 folder "" "" "USES")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  if(sources)
    add_library(durahash_${name} OBJECT ${sources})
    target_link_libraries(durahash_${name} PRIVATE durahash_compiler ${durahash_runs_most})
    set(reach PUBLIC)
    set_property(GLOBAL APPEND PROPERTY durahash_objects "$<TARGET_OBJECTS:durahash_${name}>")
  else()
    add_library(durahash_${name} INTERFACE)
    set(reach INTERFACE)
  endif()
  target_include_directories(durahash_${name} ${reach} "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(durahash_${name} ${reach} ${folder_USES})
endfunction()
