# SPDX-License-Identifier: Apache-2.0
# find_package(poniente) gives the targets poniente::poniente (static),
# poniente::shared and poniente::c, pkg-config poniente and poniente_c for
# builds that do not use CMake.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/poniente)
install(TARGETS poniente_static poniente_shared poniente_c
  EXPORT poniente-targets
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
# What only libponiente.a asks for, in pkg-config's words.
set(pc_optional "")
foreach(package zstd blosc)
  if(poniente_${package}_FOUND)
    string(APPEND pc_optional " ${poniente_${package}_MODULE_NAME}")
  endif()
endforeach()
set(pc_cuda "")
if(TARGET CUDA::cudart_static)
  set(pc_cuda "-L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt")
endif()
foreach(name poniente poniente_c)
  configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
# Where the README's links find them.
install(FILES README.md CHANGELOG.md CONTRIBUTING.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES cmake/packages.txt DESTINATION ${CMAKE_INSTALL_DOCDIR}/cmake)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
