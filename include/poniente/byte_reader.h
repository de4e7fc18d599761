// SPDX-License-Identifier: Apache-2.0
// Positional asynchronous reads of files, many at once. A read fills its whole
// span or fails. docs/reading.md explains how bytes come from the disk and how
// to choose a backend.

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

// How bytes come from the disk. Never changes which bytes are read.
enum class IoBackend {
  kAuto,      // chooses one of the others, and may switch as cache use changes
  kBuffered,  // io_uring through the page cache
  kDirect,    // io_uring past the page cache (O_DIRECT), any offset and length;
              // kBuffered where the file system refuses
  kMmap,      // guarded copies from a mapping: fastest when the file is cached,
              // stalls the calling thread when it is not
  kPread,     // fadvise(WILLNEED) for all reads, then pread: no io_uring needed
};

// Returns "auto", "buffered", "direct", "mmap" or "pread".
std::string_view IoBackendName(IoBackend backend);
// Returns the backend of this name; InvalidArgument for any other text.
absl::StatusOr<IoBackend> ParseIoBackend(std::string_view name);

// When blocks are compared with their stored checksums. A verified block is
// read whole, even where the request covers only a part of it.
enum class VerifyChecksums {
  kOff,
  kFirstTouch,  // the first time any reader of this process touches a block
  kAlways,
};

// Returns "off", "first_touch" or "always".
std::string_view VerifyChecksumsName(VerifyChecksums verify);
// Returns the setting of this name; InvalidArgument for any other text.
absl::StatusOr<VerifyChecksums> ParseVerifyChecksums(std::string_view name);

// How a reader reads. Never changes which bytes are read.
struct ByteReaderOptions {
  // The backend to read through.
  IoBackend backend = IoBackend::kAuto;
  // When blocks are verified. Has no effect on files without checksums.
  VerifyChecksums verify = VerifyChecksums::kFirstTouch;
  // For kAuto: bytes of page cache that the files of all open kAuto readers of
  // the process may count on. Files that fit are always read through the cache,
  // because direct reads would leave them cold for ever. Files that do not fit
  // are read past the cache while few reads hit it. Unset: half of the memory
  // available to the machine and to this process's control group.
  std::optional<uint64_t> cache_bytes = std::nullopt;
  // For kAuto: whether files may be memory-mapped. Mapping installs a SIGBUS
  // handler, which passes all faults that are not its own to the previous one.
  bool may_map = true;

  friend bool operator==(const ByteReaderOptions&,
                         const ByteReaderOptions&) = default;
};

// Where the checksums of a file lie: in the file `path` from byte `offset` on,
// as little-endian u32. Each is the CRC32C (Castagnoli) of one block of
// `block_bytes` bytes; the last block may be shorter.
struct BlockChecksums {
  std::string path = {};
  uint64_t offset = 0;
  uint64_t block_bytes = 0;
};

// What the caller knows about a file before it is opened.
struct ExpectedFile {
  // Size of the file.
  uint64_t bytes = 0;
  // Called right before the file is opened, by one thread at a time; the file
  // is opened only if this returns OK. It must not read through the same
  // reader. Null: nothing to check.
  std::function<absl::Status()> check = nullptr;
};

// A file to read. A file without checksums is not verified.
struct ByteFile {
  std::string path = {};
  std::optional<BlockChecksums> checksums = std::nullopt;
  // If set, Open() touches neither the file nor its checksums. The first
  // ReadBatch() that needs the file opens it, and blocks meanwhile. If that
  // fails, the batch fails too, and the next batch tries again. The error is
  // FailedPrecondition if the size of the file differs from `expected`.
  std::optional<ExpectedFile> expected = std::nullopt;
};

// One read: bytes [offset, offset + into.size()) of a reader's file, into
// `into`. The buffer is borrowed, and may be written by the kernel, until the
// awaited call returns.
struct ReadRequest {
  const ByteReader* reader = nullptr;
  uint32_t file = 0;  // number of the file in the order of Open()
  uint64_t offset = 0;
  std::span<std::byte> into = {};
};

// Page-aligned memory to read into; 64 KiB and more in huge pages, as far as
// there are any (transparent ones, MADV_HUGEPAGE). Buffers of less than 2 MiB
// share them, in multiples of 64 KiB. The first read into a buffer by
// io_uring registers it with the kernel, if RLIMIT_MEMLOCK allows; otherwise it
// behaves like any memory. kDirect reads into it without a copy if offset and
// length are aligned as well (multiples of 4096 bytes always are). Use it for
// memory that is filled repeatedly.
//
// Ownership: owns the memory. REQUIRES: no read is in flight when it is
//     destroyed.
// Thread safety: as a value.
class ReadBuffer {
 public:
  // Returns a buffer of `bytes` bytes; ResourceExhausted if there is no memory
  // for it.
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

// What one backend has read.
struct BackendCounters {
  uint64_t requests = 0;
  uint64_t bytes_asked = 0;  // sum of the requests' spans
  // Reads made for the requests (copies, for mmap), and requests that were
  // served by a neighbour's read.
  uint64_t reads = 0;
  uint64_t merged_requests = 0;
  // Bytes that the reads returned: more than asked for where whole blocks or
  // sectors are needed, fewer where requests overlap.
  uint64_t bytes_read = 0;
  uint64_t submissions = 0;  // io_uring_enter calls that submitted reads
  // Reads that were complete right after submission, which means that their
  // pages were cached. An estimate: 8 of every 64 reads are examined, and the
  // count is extrapolated.
  uint64_t hits_at_submit = 0;
  uint64_t retries = 0;  // after EIO, EAGAIN, EINTR, or a SIGBUS during a copy
  // Time for which batches were suspended, or their thread blocked, by reads.
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

  // Returns the sum over the backends. A request counts once, unless several
  // backends read parts of it.
  BackendCounters Total() const;
};

// The files of one store, open or to be opened at first use, and the way they
// are read.
//
// Ownership: shared; keeps its files open (and mapped, if it maps them) while
//     it lives. It must outlive every task that reads from it.
// Thread safety: any number of threads and executors at once. Each Asio
//     execution context has an io_uring ring, and once batches are not cached,
//     a second one with a thread of its own (docs/reading.md).
// Determinism: the bytes are the same through every backend.
// Errors: every message holds path, offset, what was expected and a remedy.
//     NotFound: no such file. OutOfRange: a request past the size that the file
//     had when opened. DataLoss: the file has become shorter, the disk cannot
//     read it, or a checksum does not match. Unavailable: kBuffered or kDirect
//     was requested where the kernel forbids io_uring. ResourceExhausted: no
//     memory or descriptors. Other errors follow errno. EIO, EAGAIN and the
//     like are retried a few times first.
// Cancellation: waits for reads in flight, then returns Cancelled.
// Descriptors: one per open file, one more for the checksums of a file of more
//     than 4096 blocks, one more for a file read past the cache. If the soft
//     limit (RLIMIT_NOFILE) is reached, it is raised to the hard limit. A file
//     that is opened when few descriptors are left below the hard limit keeps
//     none: it is mapped, or opened again for each read (not with kBuffered or
//     kDirect; docs/reading.md).
class ByteReader final {
 public:
  // Opens the files and numbers them in this order. Files with
  // ByteFile::expected are opened at their first read. Errors as above.
  static absl::StatusOr<std::shared_ptr<const ByteReader>> Open(
      std::vector<ByteFile> files, const ByteReaderOptions& options = {});
  // Opens files without checksums.
  static absl::StatusOr<std::shared_ptr<const ByteReader>> Open(
      std::vector<std::string> paths, const ByteReaderOptions& options = {});

  ~ByteReader();
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;

  size_t num_files() const;
  const std::string& path(uint32_t file) const;
  // Returns the size in bytes: the expected one if it was stated, else the size
  // that the file had when it was opened.
  uint64_t size(uint32_t file) const;

  // Returns the setting ByteReaderOptions::verify.
  VerifyChecksums verify_checksums() const;

  // Returns the backend that serves this reader now; never kAuto.
  IoBackend backend() const;
  // Describes the first fallback: from which backend to which, and why
  // ("buffered -> pread: io_uring_setup: Operation not permitted"). Empty if
  // there was none.
  const std::string& fallback_reason() const;
  ReadCounters counters() const;

 private:
  friend struct internal::ReaderAccess;

  explicit ByteReader(std::unique_ptr<internal::ReaderState> state);

  const std::unique_ptr<internal::ReaderState> state_;
};

// Fills every request; requests may belong to any number of readers. Sorts
// them, merges reads of neighbouring bytes, and submits together all reads that
// io_uring serves (as many as fit in the ring; the rest as space frees up).
// Requests may overlap in the files, but not in memory.
//
// Suspends at most once in each round of reads (twice if a second ring makes
// half of them), and not at all if all bytes were there at submission, as they
// were for the batches before. Almost every batch takes one round. It takes
// more if checksums have to be read from a file first, if a file changed after
// it was verified, or if whole blocks or sectors have to be read next to the
// requested bytes and make up more than 64 MiB.
Task<> ReadBatch(std::span<const ReadRequest> requests);

}  // namespace poniente

#endif  // PONIENTE_BYTE_READER_H_
