// SPDX-License-Identifier: Apache-2.0
// Widens ids on many threads; the function here does the share of one thread.
// nvcc compiles it for GPUs and any compiler for tests, so it is C++17 and
// independent of the rest of the library.

#ifndef PONIENTE_STAGING_WIDEN_IDS_H_
#define PONIENTE_STAGING_WIDEN_IDS_H_

#include <cstdint>

#if defined(__CUDACC__)
#define PONIENTE_HOST_DEVICE __host__ __device__
#else
#define PONIENTE_HOST_DEVICE
#endif

namespace poniente::internal {

// The number of ids that are written at once: 16 bytes.
template <class To>
inline constexpr uint64_t kIdsAtOnce = 16 / sizeof(To);

// `n` neighbouring ids, read or written by one instruction. Aligned like single
// ids.
template <class Id, uint64_t n>
struct __attribute__((may_alias, aligned(n * sizeof(Id)))) Neighbours {
  Id ids[n];
};

// Does the work of thread number `thread` of `threads`. All threads together
// write `count` ids of unsigned type From as To; neighbouring threads write
// neighbouring ids. REQUIRES: both are aligned to 16 bytes and do not overlap.
template <class From, class To>
PONIENTE_HOST_DEVICE inline void WidenShare(const From* from, uint64_t count,
                                            uint64_t thread, uint64_t threads,
                                            To* to) {
  constexpr uint64_t kIds = kIdsAtOnce<To>;
  const auto* stored = reinterpret_cast<const Neighbours<From, kIds>*>(from);
  auto* wide = reinterpret_cast<Neighbours<To, kIds>*>(to);
  const uint64_t whole = count / kIds;
  for (uint64_t i = thread; i < whole; i += threads) {
    const Neighbours<From, kIds> here = stored[i];
    Neighbours<To, kIds> there;
    for (uint64_t k = 0; k < kIds; ++k) {
      there.ids[k] = static_cast<To>(here.ids[k]);
    }
    wide[i] = there;
  }
  for (uint64_t i = whole * kIds + thread; i < count; i += threads) {
    to[i] = static_cast<To>(from[i]);
  }
}

}  // namespace poniente::internal

#endif  // PONIENTE_STAGING_WIDEN_IDS_H_
