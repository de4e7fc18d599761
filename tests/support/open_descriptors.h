// SPDX-License-Identifier: Apache-2.0
// How many descriptors this process has open.

#ifndef PONIENTE_TESTS_SUPPORT_OPEN_DESCRIPTORS_H_
#define PONIENTE_TESTS_SUPPORT_OPEN_DESCRIPTORS_H_

#include <cstddef>
#include <filesystem>
#include <iterator>

namespace poniente::testing {

inline size_t OpenDescriptors() {
  const std::filesystem::directory_iterator names("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(names), end(names))) - 1;
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_SUPPORT_OPEN_DESCRIPTORS_H_
