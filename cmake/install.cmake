# SPDX-License-Identifier: Apache-2.0
# find_package(poniente) gives the target poniente::poniente.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/poniente)
get_property(layers GLOBAL PROPERTY PONIENTE_LAYERS)
install(TARGETS poniente ${layers} EXPORT poniente-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT poniente-targets NAMESPACE poniente::
  DESTINATION ${package_dir})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/poniente-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES cmake/poniente-config.cmake cmake/dependencies.cmake
  ${PROJECT_BINARY_DIR}/poniente-config-version.cmake
  DESTINATION ${package_dir})
