// SPDX-License-Identifier: Apache-2.0
// Writes the pieces of one new file past the page cache. Through the cache,
// writes to one file take turns in the kernel, even if many threads write, and
// a store that is larger than memory evicts everything else.

#ifndef PONIENTE_STORE_WRITE_DIRECT_WRITER_H_
#define PONIENTE_STORE_WRITE_DIRECT_WRITER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "store/posix_file.h"
#include "util/memory_sizes.h"
#include "util/mutex.h"

namespace poniente::internal {

// Writes pieces, which may begin and end anywhere, but together must leave no
// gap. Only whole pages are written to the disk. A page that contains bytes of
// several pieces is written with the piece that completes it.
//
// Allocates space beyond what is written; the owner of the file must cut it to
// its final size.
//
// Thread safety: any number of threads; Open() comes first.
// Errors: those of the disk, with path and offset.
class DirectWriter {
 public:
  // Allocates space for bytes [begin, end) of a file. Returns false if it
  // cannot; a part may be allocated nevertheless.
  using Allocator = bool (*)(int fd, uint64_t begin, uint64_t end);
  static bool AllocateRange(int fd, uint64_t begin, uint64_t end);

  // Opens an existing file, whose first `bytes` bytes stay unchanged.
  // `expected` is its expected final size (0: unknown). Returns null, with the
  // file unchanged, if the file system does not support O_DIRECT, cannot
  // allocate space ahead (without it, writes would wait for each other), or is
  // nearly full; also if the size of files is limited (RLIMIT_FSIZE).
  static std::unique_ptr<DirectWriter> Open(
      const std::string& path, uint64_t bytes, uint64_t expected,
      Allocator allocator = AllocateRange);

  DirectWriter(const DirectWriter&) = delete;
  DirectWriter& operator=(const DirectWriter&) = delete;

  // The pages to write for one piece, in aligned memory. Reuse objects, because
  // they keep their memory.
  class Pages {
   public:
    std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }
    size_t room() const { return room_; }  // bytes of memory

   private:
    friend class DirectWriter;
    struct Free {
      void operator()(std::byte* memory) const { std::free(memory); }
    };

    absl::Status Reserve(size_t bytes);
    void Append(std::span<const std::byte> bytes);

    std::unique_ptr<std::byte, Free> memory_;
    size_t room_ = 0;
    size_t size_ = 0;
    uint64_t at_ = 0;
    // Pages shared with other pieces that this piece has completed.
    std::optional<uint64_t> first_;
    std::optional<uint64_t> last_;
  };
  // Prepares the piece that belongs at byte `at` in `to`. Keeps the bytes of
  // pages that it does not complete.
  absl::Status Stage(uint64_t at, std::span<const std::byte> bytes, Pages* to);
  // Writes staged pages, and waits for the disk.
  absl::Status Write(const Pages& pages);
  // Writes the incomplete pages before byte `end`. REQUIRES: all pages before
  // it that were staged have been written.
  absl::Status WriteKept(uint64_t end);

 private:
  using Page = std::array<std::byte, kPageBytes>;
  // A page that is not complete, or completed but not yet written.
  struct Begun {
    Page bytes = {};
    uint64_t there = 0;  // how many bytes have arrived
  };

  DirectWriter(std::string path, OwnedFd direct, OwnedFd buffered,
               uint64_t allocated, uint64_t expected, Allocator allocator)
      : path_(std::move(path)),
        direct_(std::move(direct)),
        buffered_(std::move(buffered)),
        expected_(expected),
        allocator_(allocator),
        allocated_(allocated) {}

  // Allocates space up to `end` and beyond. If that fails, stops allocating;
  // writes then extend the file.
  void Allocate(uint64_t end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Keeps `bytes`, which are a part of one page. Returns the page if they
  // complete it.
  std::optional<Page> Keep(uint64_t at, std::span<const std::byte> bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Writes whole pages from aligned memory.
  absl::Status WriteAt(uint64_t at, std::span<const std::byte> pages) const;

  const std::string path_;
  const OwnedFd direct_;
  const OwnedFd buffered_;  // for aligned writes that are refused
  const uint64_t expected_;
  const Allocator allocator_;
  Mutex mu_;
  // By the offset of the page; until it is complete and written.
  std::map<uint64_t, Begun> begun_ ABSL_GUARDED_BY(mu_);
  uint64_t allocated_ ABSL_GUARDED_BY(mu_);
  bool allocates_ ABSL_GUARDED_BY(mu_) = true;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_WRITE_DIRECT_WRITER_H_
