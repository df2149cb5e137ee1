# find_package(durahash) from another project: test/install does it.
if(NOT DURAHASH_INSTALL)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(durahash_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/durahash")

install(TARGETS durahash EXPORT durahashTargets)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/durahash" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT durahashTargets NAMESPACE durahash:: DESTINATION "${durahash_package_dir}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/durahashConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/durahashConfig.cmake" INSTALL_DESTINATION "${durahash_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/durahashConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/durahashConfig.cmake" "${PROJECT_BINARY_DIR}/durahashConfigVersion.cmake"
  DESTINATION "${durahash_package_dir}")
if(TARGET durahash_tool)
  install(TARGETS durahash_tool)
endif()
