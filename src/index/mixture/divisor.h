// SPDX-License-Identifier: Apache-2.0
// Division by the same number again and again.

#ifndef PONIENTE_INDEX_MIXTURE_DIVISOR_H_
#define PONIENTE_INDEX_MIXTURE_DIVISOR_H_

#include <cstdint>

#include "index/int128.h"

namespace poniente::internal {

// A number to divide by, and its reciprocal: three multiplications' time
// instead of a division's.
class Divisor {
 public:
  Divisor() : Divisor(1) {}
  // REQUIRES: divisor >= 1.
  explicit Divisor(uint64_t divisor)
      : divisor_(divisor), reciprocal_(UINT64_MAX / divisor) {}

  uint64_t value() const { return divisor_; }

  // Returns the quotient, and replaces `number` by the remainder.
  uint64_t Divide(uint64_t* number) const {
    // 2^64 - divisor * reciprocal is at most the divisor, so the estimate is
    // too small by less than number / 2^64 before it is rounded down: by at
    // most 1.
    return Correct(static_cast<uint64_t>(Uint128{*number} * reciprocal_ >> 64),
                   number);
  }

  // Divide() for a number below 2^32, which takes fewer instructions.
  uint64_t DivideShort(uint64_t* number) const {
    // As above, with 2^32 in place of 2^64.
    return Correct(*number * (reciprocal_ >> 32) >> 32, number);
  }

 private:
  // Adds 1 to the quotient if it is too small by 1.
  uint64_t Correct(uint64_t quotient, uint64_t* number) const {
    const uint64_t remainder = *number - quotient * divisor_;
    const bool is_short = remainder >= divisor_;
    *number = remainder - (is_short ? divisor_ : 0);
    return quotient + is_short;
  }

  uint64_t divisor_;
  uint64_t reciprocal_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_DIVISOR_H_
