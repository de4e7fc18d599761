// SPDX-License-Identifier: Apache-2.0
// PONIENTE_CHECK(condition) << "values": aborts, in every build mode, if a
// caller broke a precondition. Never use it for errors of a disk, a
// configuration or the kernel: return a Status for them.

#ifndef PONIENTE_UTIL_CHECK_H_
#define PONIENTE_UTIL_CHECK_H_

#include <cstdlib>
#include <iostream>
#include <sstream>

namespace poniente::internal {

class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition) {
    text_ << file << ':' << line << ": check failed: " << condition << ' ';
  }
  [[noreturn]] ~CheckFailure() {
    std::cerr << text_.str() << std::endl;
    std::abort();
  }
  std::ostream& stream() { return text_; }

 private:
  std::ostringstream text_;
};

// Gives the streaming expression below the type void.
struct Voidify {
  void operator&(std::ostream&) {}
};

}  // namespace poniente::internal

#define PONIENTE_CHECK(condition)                                              \
  (condition)                                                                  \
      ? (void)0                                                                \
      : ::poniente::internal::Voidify() &                                      \
            ::poniente::internal::CheckFailure(__FILE__, __LINE__, #condition) \
                .stream()

#endif  // PONIENTE_UTIL_CHECK_H_
