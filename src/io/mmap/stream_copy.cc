// SPDX-License-Identifier: Apache-2.0
// Streaming stores, prefetching, and the second level of the caches for the
// latter are all needed: docs/experiments.md has the figures.
#include "io/mmap/stream_copy.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "util/memory_sizes.h"

namespace poniente::internal {
namespace {

// How far ahead to prefetch. With less, the copy waits; with much more, the
// lines have left the second level again when they are needed.
constexpr size_t kAheadBytes = 8192;

// REQUIRES: `to` is aligned to a line.
void CopyLine(const std::byte* from, std::byte* to) {
#if defined(__x86_64__)
  const auto* const in = reinterpret_cast<const __m128i*>(from);
  auto* const out = reinterpret_cast<__m128i*>(to);
  const __m128i first = _mm_loadu_si128(in);
  const __m128i second = _mm_loadu_si128(in + 1);
  const __m128i third = _mm_loadu_si128(in + 2);
  const __m128i fourth = _mm_loadu_si128(in + 3);
  _mm_stream_si128(out, first);
  _mm_stream_si128(out + 1, second);
  _mm_stream_si128(out + 2, third);
  _mm_stream_si128(out + 3, fourth);
#else
  std::memcpy(to, from, kLineBytes);
#endif
}

void AskFor(const std::byte* line) {
  constexpr int kToRead = 0;
  constexpr int kSecondLevel = 2;
  __builtin_prefetch(line, kToRead, kSecondLevel);
}

}  // namespace

void StreamCopy(std::span<const std::byte> from, std::byte* to,
                std::span<const std::byte> next) {
  const size_t size = from.size();
  const size_t ahead = std::min(kAheadBytes, size);
  size_t at = std::min<size_t>(
      size, -reinterpret_cast<uintptr_t>(to) % uintptr_t{kLineBytes});
  if (at > 0) std::memcpy(to, from.data(), at);
  for (; size - at >= kLineBytes; at += kLineBytes) {
    const size_t asked = at + ahead;
    if (asked < size) {
      AskFor(from.data() + asked);
    } else if (asked - size < next.size()) {
      AskFor(next.data() + (asked - size));
    }
    CopyLine(from.data() + at, to + at);
  }
  if (at < size) std::memcpy(to + at, from.data() + at, size - at);
}

void FinishStreams() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace poniente::internal
