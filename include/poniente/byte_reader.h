// SPDX-License-Identifier: Apache-2.0
// Positional asynchronous reads of files, many at once, that fill each span or
// fail.

#ifndef PONIENTE_BYTE_READER_H_
#define PONIENTE_BYTE_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/task.h"

namespace poniente {

class ByteReader;

namespace internal {
struct ReaderAccess;
struct ReaderState;
}  // namespace internal

// How bytes come from the disk. Never changes which bytes.
enum class IoBackend {
  kAuto,   // io_uring; where the kernel forbids it, kPread
  kUring,  // io_uring through the page cache; an error if the kernel forbids it
  kMmap,   // guarded copies from a mapping: fastest when the file is resident,
           // stalls the calling thread when it is not
  kPread,  // fadvise(WILLNEED) for all reads, then pread: no io_uring needed
};

// "auto", "uring", "mmap", "pread".
std::string_view IoBackendName(IoBackend backend);
absl::StatusOr<IoBackend> ParseIoBackend(std::string_view name);

struct ByteReaderOptions {
  IoBackend backend = IoBackend::kAuto;
};

// One read: bytes [offset, offset + into.size()) of a reader's file, to `into`.
// The buffer is borrowed, and belongs to the kernel, until the awaited call
// returns.
struct ReadRequest {
  const ByteReader* reader = nullptr;
  uint32_t file = 0;  // number in the order of Open()
  uint64_t offset = 0;
  std::span<std::byte> into;
};

// What a reader has done so far, over all threads.
struct ReadCounters {
  uint64_t bytes_asked = 0;  // sum of the spans
  uint64_t bytes_read = 0;   // what system calls and copies brought
  uint64_t reads = 0;        // requests
  uint64_t submissions = 0;  // io_uring_enter calls that submitted any of them
  // Complete right after submission: page-cache hits.
  uint64_t hits_at_submit = 0;
  // Served by pread because one execution context could not have a ring, though
  // backend() is kUring; fallback_reason() then says why.
  uint64_t fallback_reads = 0;
};

// Opened files of one store and the way they are read.
//
// Ownership: shared; keeps its files open (and mapped, for kMmap) while it
//     lives. A task that reads from it needs it alive.
// Thread safety: any number of threads and executors at once. io_uring is used
//     through one ring per Asio execution context.
// Errors: every message holds path, offset, what was expected and a remedy.
//     NotFound: no such file. OutOfRange: a request past the end that the file
//     had when opened. DataLoss: the file has become shorter, or the disk
//     cannot read it. Unavailable: kUring asked for where the kernel forbids
//     it. Others as errno says.
// Cancellation: reads in flight are waited for, then Cancelled.
class ByteReader final {
 public:
  static absl::StatusOr<std::shared_ptr<const ByteReader>> Open(
      std::vector<std::string> paths, const ByteReaderOptions& options = {});

  ~ByteReader();
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;

  size_t num_files() const;
  const std::string& path(uint32_t file) const;
  // Bytes when opened.
  uint64_t size(uint32_t file) const;

  // The backend that serves this reader, never kAuto.
  IoBackend backend() const;
  // Why it is not what was asked for or preferred ("io_uring_setup: Operation
  // not permitted"); empty if it is.
  const std::string& fallback_reason() const;
  ReadCounters counters() const;

 private:
  friend struct internal::ReaderAccess;

  explicit ByteReader(std::unique_ptr<internal::ReaderState> state);

  const std::unique_ptr<internal::ReaderState> state_;
};

// Fills every request, over any number of readers, in one submission for all
// that io_uring serves (up to the ring's size; more are submitted as room
// appears). Suspends at most once if everything fits, not at all if all bytes
// were there at submission.
Task<> ReadBatch(std::span<const ReadRequest> requests);

}  // namespace poniente

#endif  // PONIENTE_BYTE_READER_H_
