# SPDX-License-Identifier: Apache-2.0
# find_package(poniente) gives the targets poniente::poniente and poniente::c,
# pkg-config the latter for builds that do not use CMake.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/poniente)
get_property(layers GLOBAL PROPERTY PONIENTE_LAYERS)
install(TARGETS poniente ${layers} poniente_c EXPORT poniente-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT poniente-targets NAMESPACE poniente::
  DESTINATION ${package_dir})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/poniente-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES cmake/poniente-config.cmake cmake/dependencies.cmake
  ${PROJECT_BINARY_DIR}/poniente-config-version.cmake
  DESTINATION ${package_dir})

file(RELATIVE_PATH prefix_from_pc
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/poniente_c.pc.in poniente_c.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/poniente_c.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
