# SPDX-License-Identifier: Apache-2.0
# Third-party packages, all from the distribution. The installed
# poniente-config.cmake includes this very file, so the two cannot differ.
include(CMakeFindDependencyMacro)

find_dependency(Threads)
find_dependency(absl)
find_dependency(Boost 1.81)
find_dependency(PkgConfig)
pkg_check_modules(poniente_liburing REQUIRED IMPORTED_TARGET liburing)
pkg_check_modules(poniente_isal REQUIRED IMPORTED_TARGET libisal)
find_dependency(ZLIB)
find_dependency(tomlplusplus 3.3)
# Optional: what compressed token files of other projects are read with. A
# package built with one of them needs it wherever it is used.
pkg_check_modules(poniente_zstd QUIET IMPORTED_TARGET libzstd)
pkg_check_modules(poniente_blosc QUIET IMPORTED_TARGET blosc)
# Optional: batches can be staged to NVIDIA's GPUs. No nvcc is needed.
find_package(CUDAToolkit 11.2 QUIET)
