// SPDX-License-Identifier: Apache-2.0
// Skips, loudly, where the kernel forbids io_uring. Asks the kernel itself, not
// the code under test.

#ifndef PONIENTE_TESTS_IO_NEEDS_URING_H_
#define PONIENTE_TESTS_IO_NEEDS_URING_H_

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "poniente/byte_reader.h"

namespace poniente::testing {

// 0, or the errno of io_uring_setup(1, {}).
inline int UringSetupErrno() {
  unsigned char params[256] = {};
  const long fd = ::syscall(SYS_io_uring_setup, 1, params);
  if (fd < 0) return errno;
  ::close(static_cast<int>(fd));
  return 0;
}

inline constexpr IoBackend kAllBackends[] = {
    IoBackend::kAuto, IoBackend::kBuffered, IoBackend::kDirect,
    IoBackend::kMmap, IoBackend::kPread};

inline bool UsesUring(IoBackend backend) {
  return backend == IoBackend::kBuffered || backend == IoBackend::kDirect;
}

}  // namespace poniente::testing

#define PONIENTE_NEEDS_URING()                                              \
  if (const int error = ::poniente::testing::UringSetupErrno(); error != 0) \
  GTEST_SKIP() << "io_uring_setup: " << std::strerror(error)                \
               << "; the machine forbids io_uring"

#endif  // PONIENTE_TESTS_IO_NEEDS_URING_H_
