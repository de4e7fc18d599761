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
    uint64_t quotient =
        static_cast<uint64_t>(Uint128{*number} * reciprocal_ >> 64);
    const uint64_t remainder = *number - quotient * divisor_;
    const bool is_short = remainder >= divisor_;
    quotient += is_short;
    *number = remainder - (is_short ? divisor_ : 0);
    return quotient;
  }

 private:
  uint64_t divisor_;
  uint64_t reciprocal_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_DIVISOR_H_
