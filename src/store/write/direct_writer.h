// SPDX-License-Identifier: Apache-2.0
// Writes the pieces of one new file past the page cache. Through it, writes to
// one file take turns in the kernel, however many threads there are, and a
// store that is larger than memory drives out everything else.

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

// Pieces may begin and end anywhere; together they are to leave no gap. What
// goes to the disk are whole pages: one that several pieces have bytes of is
// written by the piece that brings its last byte.
//
// The file is made longer ahead of what is written; its owner cuts it.
//
// Thread safety: any number of threads; Open() comes first.
// Errors: those of the disk, with path and offset.
class DirectWriter {
 public:
  // Makes room for bytes [begin, end) of a file; false if it cannot, even if it
  // has made some.
  using Allocator = bool (*)(int fd, uint64_t begin, uint64_t end);
  static bool AllocateRange(int fd, uint64_t begin, uint64_t end);

  // For a file that is there and holds `bytes` bytes, which stay as they are,
  // and may come to hold `expected` (0: not known).
  // Null, and the file is as it was, where the file system takes no such
  // writes, or would let them wait for each other, or is nearly full.
  static std::unique_ptr<DirectWriter> Open(
      const std::string& path, uint64_t bytes, uint64_t expected,
      Allocator allocator = AllocateRange);

  DirectWriter(const DirectWriter&) = delete;
  DirectWriter& operator=(const DirectWriter&) = delete;

  // What is to be written of a piece, copied to where disks take it from. Worth
  // using again: it keeps its memory.
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
    // Pages that this piece has made whole.
    std::optional<uint64_t> first_;
    std::optional<uint64_t> last_;
  };
  // The piece that belongs at byte `at`. Bytes of pages that begin or end in
  // other pieces may be kept for those.
  absl::Status Stage(uint64_t at, std::span<const std::byte> bytes, Pages* to);
  // Waits for the disk.
  absl::Status Write(const Pages& pages);
  // Writes what was kept of everything before byte `end`. REQUIRES: of it,
  // whatever was staged has been written.
  absl::Status WriteKept(uint64_t end);

 private:
  using Page = std::array<std::byte, kPageBytes>;
  struct Begun {
    Page bytes = {};
    uint64_t there = 0;  // how many of them
  };

  DirectWriter(std::string path, OwnedFd direct, OwnedFd buffered,
               uint64_t allocated, uint64_t expected, Allocator allocator)
      : path_(std::move(path)),
        direct_(std::move(direct)),
        buffered_(std::move(buffered)),
        expected_(expected),
        allocator_(allocator),
        allocated_(allocated) {}

  // Makes room up to `end`, and ahead; not for good: where there is none,
  // writes make the file longer.
  void Allocate(uint64_t end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Keeps `bytes`, which lie within a page that lacks others. The page, once it
  // is whole.
  std::optional<Page> Keep(uint64_t at, std::span<const std::byte> bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whole pages, from memory that is aligned as well.
  absl::Status WriteAt(uint64_t at, std::span<const std::byte> pages) const;

  const std::string path_;
  const OwnedFd direct_;
  const OwnedFd buffered_;  // where an aligned write is refused nonetheless
  const uint64_t expected_;
  const Allocator allocator_;
  Mutex mu_;
  // By their first bytes; until they are whole and written.
  std::map<uint64_t, Begun> begun_ ABSL_GUARDED_BY(mu_);
  uint64_t allocated_ ABSL_GUARDED_BY(mu_);
  bool allocates_ ABSL_GUARDED_BY(mu_) = true;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_WRITE_DIRECT_WRITER_H_
