// SPDX-License-Identifier: Apache-2.0
#include "io/read_ends.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace poniente::internal {

bool FindUnchanged(std::span<PendingRead> reads) {
  bool unchanged = true;
  const OpenFile* file = nullptr;
  uint64_t size = 0;
  uint64_t reached = 0;  // greatest end that Reaches() has checked
  for (PendingRead& read : reads) {
    if (!read.status().ok()) continue;
    const bool is_direct = read.backend() == IoBackend::kDirect;
    if (is_direct && read.relied_on() == nullptr) continue;
    if (&read.opened() != file) {
      file = &read.opened();
      reached = 0;
      if (read.relied_on() != nullptr) {
        const std::optional<FileIdentity> now = file->IdentityNow();
        unchanged &= read.reader()
                         .ChecksumsOf(read.file_number())
                         ->Holds(*read.relied_on(), now);
        size = now.has_value() ? now->bytes() : file->size();
      } else {
        size = file->SizeNow();
      }
    }
    if (is_direct) continue;
    if (size < read.needed_end()) {
      read.FailAtEnd(size);
    } else if (read.EndsInZero() && read.needed_end() > reached) {
      if (!file->Reaches(read.needed_end())) size = file->SizeNow();
      if (size < read.needed_end()) read.FailAtEnd(size);
      reached = read.needed_end();
    }
  }
  return unchanged;
}

Hits CountHits(std::span<const PendingRead> reads) {
  Hits hits;
  uint64_t others = 0;
  for (const PendingRead& read : reads) {
    hits.known_reads += read.hit_is_known ? 1 : 0;
    hits.known += read.hit_is_known && read.hit ? 1 : 0;
    others += !read.hit_is_known && read.hit ? 1 : 0;
  }
  const uint64_t other_reads = reads.size() - hits.known_reads;
  if (hits.known_reads > 0) {
    const uint64_t expected =
        (other_reads * hits.known + hits.known_reads - 1) / hits.known_reads;
    others = std::min(others, expected);
  }
  hits.all = hits.known + others;
  return hits;
}

void CountWait(std::span<const PendingRead> reads,
               std::chrono::steady_clock::duration time) {
  std::vector<std::atomic<uint64_t>*> waited;
  for (const PendingRead& read : reads) {
    auto* const counter =
        &read.reader().CountersOf(read.backend()).wait_nanoseconds;
    if (waited.empty() || waited.back() != counter) waited.push_back(counter);
  }
  std::sort(waited.begin(), waited.end());
  waited.erase(std::unique(waited.begin(), waited.end()), waited.end());
  const auto nanoseconds = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
  for (std::atomic<uint64_t>* counter : waited) Add(nanoseconds, counter);
}

}  // namespace poniente::internal
