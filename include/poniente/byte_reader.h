// SPDX-License-Identifier: Apache-2.0
// Positional asynchronous reads of files, many at once, that fill each span or
// fail. docs/reading.md tells how bytes come from the disk, and how to choose.

#ifndef PONIENTE_BYTE_READER_H_
#define PONIENTE_BYTE_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
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
  kAuto,  // one of the others, chosen anew as the reader sees what is cached
  kBuffered,  // io_uring through the page cache
  kDirect,    // io_uring past the page cache (O_DIRECT), any offset and length;
              // kBuffered where the file system refuses
  kMmap,      // guarded copies from a mapping: fastest when the file is cached,
              // stalls the calling thread when it is not
  kPread,     // fadvise(WILLNEED) for all reads, then pread: no io_uring needed
};

// "auto", "buffered", "direct", "mmap", "pread".
std::string_view IoBackendName(IoBackend backend);
absl::StatusOr<IoBackend> ParseIoBackend(std::string_view name);

// When blocks are compared with their stored checksums. A block is read whole
// for it, wherever the request ends.
enum class VerifyChecksums {
  kOff,
  kFirstTouch,  // the first time in this process, whichever reader touches it
  kAlways,
};

// "off", "first_touch", "always".
std::string_view VerifyChecksumsName(VerifyChecksums verify);
absl::StatusOr<VerifyChecksums> ParseVerifyChecksums(std::string_view name);

struct ByteReaderOptions {
  IoBackend backend = IoBackend::kAuto;
  VerifyChecksums verify = VerifyChecksums::kFirstTouch;
  // kAuto: page cache that the files of all open kAuto readers of the process
  // may count on. What fits is never read past the cache, as it would stay cold
  // for ever; what does not is, while few reads hit. Unset: half of the memory
  // that is available, to the machine and to this process's control group.
  std::optional<uint64_t> cache_bytes = std::nullopt;
  // kAuto: mapping files is allowed. It puts a SIGBUS handler before the one
  // there was (which gets all that is not a fault of a copy).
  bool may_map = true;
};

// CRC32C (Castagnoli) of each `block_bytes` of a file, the last block being
// shorter, as little-endian u32 in the file `path` from byte `offset` on.
struct BlockChecksums {
  std::string path = {};
  uint64_t offset = 0;
  uint64_t block_bytes = 0;
};

// What is known of a file before it is opened.
struct ExpectedFile {
  uint64_t bytes = 0;
  // Called right before the file is opened, by one thread at a time; the file
  // is opened only if it gives OK. It must not read through the same reader.
  // None: nothing to check.
  std::function<absl::Status()> check = nullptr;
};

// A file to read. Without checksums there is nothing to verify.
struct ByteFile {
  std::string path = {};
  std::optional<BlockChecksums> checksums = std::nullopt;
  // Stated: Open() does not touch the file, nor its checksums. The first
  // ReadBatch() that needs it opens it, which blocks for as long; where that
  // fails, so does the batch, and the next one tries again. FailedPrecondition
  // if the file does not have so many bytes.
  std::optional<ExpectedFile> expected = std::nullopt;
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

// Page-aligned memory to read into. Rings register it with the kernel at its
// first use (where RLIMIT_MEMLOCK allows: else it is as any memory), and
// kDirect reads into it without a copy if offset and length are aligned as well
// (4096 bytes always are). Worth it for what is filled again and again.
//
// Ownership: owns the memory. REQUIRES: no read is in flight when it dies.
// Thread safety: as a value.
class ReadBuffer {
 public:
  // ResourceExhausted if there is no such memory.
  static absl::StatusOr<ReadBuffer> Allocate(size_t bytes);

  ReadBuffer() = default;
  ReadBuffer(ReadBuffer&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})), id_(other.id_) {}
  ReadBuffer& operator=(ReadBuffer&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(id_, other.id_);
    return *this;
  }
  ~ReadBuffer();

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  ReadBuffer(std::span<std::byte> bytes, uint64_t id)
      : bytes_(bytes), id_(id) {}

  std::span<std::byte> bytes_;
  uint64_t id_ = 0;
};

// What came through one backend.
struct BackendCounters {
  uint64_t requests = 0;
  uint64_t bytes_asked = 0;  // sum of their spans
  // Reads made for them (copies, for mmap), and requests that shared the read
  // of a neighbour.
  uint64_t reads = 0;
  uint64_t merged_requests = 0;
  // What the reads brought: more than asked where whole blocks or sectors are
  // needed, less where requests overlap.
  uint64_t bytes_read = 0;
  uint64_t submissions = 0;  // io_uring_enter calls that took any of them
  // Reads complete right after it: of cached pages. Looked at for 8 of each 64,
  // and extrapolated.
  uint64_t hits_at_submit = 0;
  uint64_t retries = 0;  // after EIO, EAGAIN, EINTR, a copy's SIGBUS
  // Time in which batches were suspended, or their thread blocked, for them.
  uint64_t wait_nanoseconds = 0;

  friend bool operator==(const BackendCounters&,
                         const BackendCounters&) = default;
};

// What a reader has done so far, over all threads.
struct ReadCounters {
  BackendCounters buffered = {};
  BackendCounters direct = {};
  BackendCounters mmap = {};
  BackendCounters pread = {};
  uint64_t blocks_verified = 0;

  // Sums over the backends. A request counts once, but for one that is read in
  // parts by several backends.
  BackendCounters Total() const;
};

// Files of one store, open or to be opened at their first use, and the way they
// are read.
//
// Ownership: shared; keeps its files open (and mapped, where it maps) while it
//     lives. A task that reads from it needs it alive.
// Thread safety: any number of threads and executors at once. io_uring is used
//     through one ring per Asio execution context.
// Determinism: the bytes are the same through every backend.
// Errors: every message holds path, offset, what was expected and a remedy.
//     NotFound: no such file. OutOfRange: a request past the end that the file
//     had when opened. DataLoss: the file has become shorter, the disk cannot
//     read it, a checksum does not match. Unavailable: kBuffered or kDirect
//     asked for where the kernel forbids io_uring. ResourceExhausted: no memory
//     or descriptors. Others as errno says. EIO, EAGAIN and the like are tried
//     again a few times before they count.
// Cancellation: reads in flight are waited for, then Cancelled.
// Descriptors: one per file that is open, one more for the checksums of a file
//     of more than 4096 blocks, one more for a file read past the cache. Where
//     the soft limit (RLIMIT_NOFILE) ends, it is raised to the hard one.
class ByteReader final {
 public:
  static absl::StatusOr<std::shared_ptr<const ByteReader>> Open(
      std::vector<ByteFile> files, const ByteReaderOptions& options = {});
  // Files without checksums.
  static absl::StatusOr<std::shared_ptr<const ByteReader>> Open(
      std::vector<std::string> paths, const ByteReaderOptions& options = {});

  ~ByteReader();
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;

  size_t num_files() const;
  const std::string& path(uint32_t file) const;
  // Bytes when opened, or as expected.
  uint64_t size(uint32_t file) const;

  // When blocks are verified, of the files that have checksums.
  VerifyChecksums verify_checksums() const;

  // The backend that serves this reader now, never kAuto.
  IoBackend backend() const;
  // From what it fell back to what, and why, at the first time: "buffered ->
  // pread: io_uring_setup: Operation not permitted"; empty if it never did.
  const std::string& fallback_reason() const;
  ReadCounters counters() const;

 private:
  friend struct internal::ReaderAccess;

  explicit ByteReader(std::unique_ptr<internal::ReaderState> state);

  const std::unique_ptr<internal::ReaderState> state_;
};

// Fills every request, over any number of readers. Sorts them, reads neighbours
// together, and submits all that io_uring serves at once (up to the ring's
// size; more as room appears). Suspends at most once, not at all if all bytes
// were there at submission. (More than 64 MiB of parts of blocks, or sectors,
// that have to be read beside their places are read in several turns.)
// Requests may overlap in the files, not in memory.
Task<> ReadBatch(std::span<const ReadRequest> requests);

}  // namespace poniente

#endif  // PONIENTE_BYTE_READER_H_
