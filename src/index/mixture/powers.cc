// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/powers.h"

#include <array>
#include <cmath>

#include "util/check.h"

namespace poniente::internal {
namespace {

constexpr int kFractionBits = 48;
constexpr int kMantissaBits = 53;

// floor(sqrt(square)), bit by bit.
constexpr uint64_t SquareRoot(Uint128 square) {
  uint64_t root = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const uint64_t tried = root | uint64_t{1} << bit;
    if (Uint128{tried} * tried <= square) root = tried;
  }
  return root;
}

// c_j of docs/index-math.md 2.1: entry j is 2^(2^-j) in units of 2^-62, each
// the root of the one before.
constexpr std::array<uint64_t, kFractionBits + 1> MakeRoots() {
  std::array<uint64_t, kFractionBits + 1> roots = {};
  roots[0] = uint64_t{1} << 63;
  for (int j = 1; j <= kFractionBits; ++j) {
    roots[j] = SquareRoot(Uint128{roots[j - 1]} << 62);
  }
  return roots;
}

constexpr std::array<uint64_t, kFractionBits + 1> kRoots = MakeRoots();
static_assert(kRoots[1] == 6521908912666391106);
static_assert(kRoots[48] == 4611686018427399259);

}  // namespace

// lg(w) of docs/index-math.md 2.1, in units of 2^-48.
int64_t FixedLog2(double x) {
  PONIENTE_CHECK(std::isfinite(x) && x > 0) << x;
  int exponent;
  const double mantissa = std::frexp(x, &exponent);
  // x = v * 2^(exponent - 64), with 2^63 <= v < 2^64.
  Uint128 v = static_cast<uint64_t>(std::ldexp(mantissa, kMantissaBits))
              << (64 - kMantissaBits);
  int64_t fraction = 0;
  for (int i = 0; i < kFractionBits; ++i) {
    // Squaring doubles the logarithm: its next binary digit is whether v^2
    // reaches 2 (2^64 here).
    v = v * v >> 63;
    fraction *= 2;
    if (v >> 64 != 0) {
      fraction += 1;
      v >>= 1;
    }
  }
  return int64_t{exponent - 1} * (int64_t{1} << kFractionBits) + fraction;
}

// ex(z) of docs/index-math.md 2.1: 2^z for z <= 0, in units of 2^-62.
uint64_t FixedExp2(Int128 z) {
  PONIENTE_CHECK(z <= 0) << "a positive exponent";
  // h = -(z >> 48): whole halvings; the rest is the product of roots of 2.
  const Int128 halvings = -(z >> kFractionBits);
  if (halvings > 63) return 0;
  uint64_t power = uint64_t{1} << 62;
  for (int j = 1; j <= kFractionBits; ++j) {
    // Bit 48 - j of the fraction stands for the factor 2^(2^-j).
    if (((z >> (kFractionBits - j)) & 1) == 0) continue;
    power = static_cast<uint64_t>(Uint128{power} * kRoots[j] >> 62);
  }
  return power >> static_cast<int>(halvings);
}

}  // namespace poniente::internal
