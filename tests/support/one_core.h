// SPDX-License-Identifier: Apache-2.0
// Binds a thread to one core for a time.

#ifndef PONIENTE_TESTS_SUPPORT_ONE_CORE_H_
#define PONIENTE_TESTS_SUPPORT_ONE_CORE_H_

#include <gtest/gtest.h>
#include <sched.h>

namespace poniente::testing {

// While it lives, the calling thread, and those that it starts, run on one
// core.
class OneCore {
 public:
  OneCore() {
    EXPECT_EQ(::sched_getaffinity(0, sizeof(all_), &all_), 0);
    int core = 0;
    while (core < CPU_SETSIZE - 1 && !CPU_ISSET(core, &all_)) ++core;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    EXPECT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
  }
  ~OneCore() { EXPECT_EQ(::sched_setaffinity(0, sizeof(all_), &all_), 0); }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

 private:
  cpu_set_t all_;
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_SUPPORT_ONE_CORE_H_
