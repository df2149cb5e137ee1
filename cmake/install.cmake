# find_package(durahash) from another project: test/install does it.
if(NOT DURAHASH_INSTALL)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(durahash_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/durahash")

install(TARGETS durahash EXPORT durahashTargets)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/durahash" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
# For kernels of one's own: durahash/gpu_ref.cuh and what it is made of, in a folder of its own.
add_library(durahash_device INTERFACE)
set_target_properties(durahash_device PROPERTIES EXPORT_NAME device)
target_link_libraries(durahash_device INTERFACE durahash)
target_include_directories(durahash_device INTERFACE "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/durahash/device>")
target_compile_options(durahash_device INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>")
install(TARGETS durahash_device EXPORT durahashTargets)
install(FILES "${PROJECT_SOURCE_DIR}/src/gpu/device/durahash/gpu_ref.cuh" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/durahash")
foreach(header base/bits.hpp base/check.hpp base/key_hash.hpp base/seeds.hpp media/site.hpp persist/pm.hpp engine/place.hpp engine/frame/decision.hpp engine/gphash/format.hpp engine/gphash/candidates.hpp engine/gphash/leased.hpp
    gpu/both_sides.hpp gpu/rows.hpp gpu/bucket_copies.hpp gpu/operations.hpp gpu/batch.hpp gpu/device_view.hpp gpu/cuda_warp.cuh gpu/cuda_side.cuh)
  get_filename_component(folder "${header}" DIRECTORY)
  install(FILES "${PROJECT_SOURCE_DIR}/src/${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/durahash/device/${folder}")
endforeach()
install(EXPORT durahashTargets NAMESPACE durahash:: DESTINATION "${durahash_package_dir}")
if(TARGET durahash_cuda)  # find_package(durahash COMPONENTS cuda): a program that does not ask for it needs no CUDA toolkit
  install(TARGETS durahash_cuda EXPORT durahashCudaTargets)
  install(EXPORT durahashCudaTargets NAMESPACE durahash:: DESTINATION "${durahash_package_dir}")
endif()
# A shared library names libpmem2 to the loader; who links a static one has to name it, too.
get_target_property(durahash_kind durahash TYPE)
set(DURAHASH_DEMANDS_PMEM2 OFF)
if(DURAHASH_HAS_PMEM2 AND durahash_kind STREQUAL "STATIC_LIBRARY")
  set(DURAHASH_DEMANDS_PMEM2 ON)
endif()
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/durahashConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/durahashConfig.cmake" INSTALL_DESTINATION "${durahash_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/durahashConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/durahashConfig.cmake" "${PROJECT_BINARY_DIR}/durahashConfigVersion.cmake"
  DESTINATION "${durahash_package_dir}")
if(TARGET durahash_tool)
  install(TARGETS durahash_tool)
  install(TARGETS durahash_explorer OPTIONAL)  # where it was built
endif()
