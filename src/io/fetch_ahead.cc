// SPDX-License-Identifier: Apache-2.0
#include "io/fetch_ahead.h"

#include <cstddef>
#include <cstdint>

#include "io/reader_state.h"
#include "util/memory_sizes.h"

namespace poniente::internal {
namespace {

// With fewer readers than kFewest, prefetching is not worth its cost. With more
// than kMax, the first ones would have left the caches when they are needed.
constexpr size_t kFewest = 16;
constexpr size_t kMax = 512;

struct OpenedFile {
  const ByteReader* reader;
  ReaderState* state;
  uint32_t file;
};

template <class T>
void PrefetchObject(const T* object) {
  const auto* const begin = reinterpret_cast<const char*>(object);
  for (size_t at = 0; at < sizeof(T); at += kLineBytes) {
    __builtin_prefetch(begin + at);
  }
}

}  // namespace

// Each loop reads what the previous loop has prefetched.
void FetchAhead(std::span<const ReadRequest> requests) {
  OpenedFile files[kMax];
  size_t count = 0;
  for (const ReadRequest& request : requests) {
    if (count > 0 && files[count - 1].reader == request.reader) continue;
    if (count == kMax) break;
    if (request.reader == nullptr) return;
    files[count++] = {request.reader, nullptr, request.file};
    __builtin_prefetch(request.reader);
  }
  if (count < kFewest) return;
  const std::span<OpenedFile> opened(files, count);
  for (OpenedFile& one : opened) {
    one.state = &ReaderAccess::State(*one.reader);
    PrefetchObject(one.state);
  }
  for (const OpenedFile& one : opened) {
    if (one.file >= one.state->num_files) return;
    __builtin_prefetch(&one.state->files[one.file]);
    __builtin_prefetch(&one.state->mappings[one.file]);
    if (!one.state->checksums.empty()) {
      __builtin_prefetch(&one.state->checksums[one.file]);
    }
    __builtin_prefetch(one.state->policy());
  }
  for (const OpenedFile& one : opened) {
    const OpenFile* const file = one.state->files[one.file].get();
    if (file == nullptr) return;  // opening it takes longer anyway
    PrefetchObject(file);
    __builtin_prefetch(one.state->mappings[one.file].get());
    __builtin_prefetch(one.state->ChecksumsOf(one.file));
  }
  for (const OpenedFile& one : opened) {
    const Mapping* const mapping = one.state->mappings[one.file].get();
    if (mapping != nullptr) mapping->Prefetch();
    const FileChecksums* const checksums = one.state->ChecksumsOf(one.file);
    if (checksums != nullptr) __builtin_prefetch(&checksums->verified());
  }
  for (const OpenedFile& one : opened) {
    const FileChecksums* const checksums = one.state->ChecksumsOf(one.file);
    if (checksums != nullptr) {
      __builtin_prefetch(checksums->verified().marks.get());
    }
  }
  for (const OpenedFile& one : opened) {
    const FileChecksums* const checksums = one.state->ChecksumsOf(one.file);
    if (checksums == nullptr) continue;
    const BlockMarks* const marks = checksums->verified().marks.get();
    if (marks != nullptr) marks->Prefetch();
  }
}

}  // namespace poniente::internal
