# SPDX-License-Identifier: Apache-2.0
# `cpack` in the build folder makes poniente_VERSION_ARCHITECTURE.deb: libraries,
# headers, CMake package, pkg-config files, tool, manual page, completion and
# documents. Build it with -DCMAKE_INSTALL_PREFIX=/usr, and with
# -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON for machines without CUDA:
# libponiente.a asks for what it was built with.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME poniente)
set(CPACK_PACKAGE_CONTACT "The Poniente authors <poniente@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# Of shared libraries: what the binaries link, found by dpkg-shlibdeps; for
# programs that are built against the headers and libponiente.a, the rest.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# libponiente.so is linked by the tool's package itself.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/src
  ${PROJECT_BINARY_DIR}/src/c_api)
set(needed libboost1.81-dev libabsl-dev libisal-dev liburing-dev
  libtomlplusplus-dev zlib1g-dev pkg-config)
if(poniente_zstd_FOUND)
  list(APPEND needed libzstd-dev)
endif()
if(poniente_blosc_FOUND)
  list(APPEND needed libblosc-dev)
endif()
list(JOIN needed ", " CPACK_DEBIAN_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++ (>= 12), cmake (>= 3.24)")
install(FILES cmake/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
include(CPack)
