# SPDX-License-Identifier: Apache-2.0
# Third-party packages, all from the distribution. The installed
# poniente-config.cmake includes this very file, so the two cannot differ.
include(CMakeFindDependencyMacro)

find_dependency(Threads)
find_dependency(absl)
find_dependency(Boost 1.81)
find_dependency(PkgConfig)
if(poniente_FIND_REQUIRED)
  set(poniente_how REQUIRED)
else()
  set(poniente_how QUIET)
endif()
pkg_check_modules(poniente_liburing ${poniente_how} IMPORTED_TARGET liburing)
pkg_check_modules(poniente_isal ${poniente_how} IMPORTED_TARGET libisal)
if(NOT poniente_liburing_FOUND OR NOT poniente_isal_FOUND)
  set(poniente_FOUND FALSE)
  set(poniente_NOT_FOUND_MESSAGE "liburing and libisal are needed: pkg-config does not find both")
  return()
endif()
find_dependency(ZLIB)
find_dependency(tomlplusplus 3.3)
# Optional: what compressed token files of other projects are read with. A
# package built with one of them needs it wherever it is used.
pkg_check_modules(poniente_zstd QUIET IMPORTED_TARGET libzstd)
pkg_check_modules(poniente_blosc QUIET IMPORTED_TARGET blosc)
# Optional: batches can be staged to NVIDIA's GPUs. No nvcc is needed.
find_package(CUDAToolkit 11.2 QUIET)
