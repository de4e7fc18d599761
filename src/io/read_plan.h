// SPDX-License-Identifier: Apache-2.0
// Turns the requests of a batch into reads: sorted, neighbours joined, and
// extended to whole blocks and sectors where necessary.

#ifndef PONIENTE_IO_READ_PLAN_H_
#define PONIENTE_IO_READ_PLAN_H_

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "io/pending_read.h"
#include "io/reader_state.h"
#include "io/scratch.h"
#include "poniente/byte_reader.h"

namespace poniente::internal {

// A request with the state of its reader.
struct OrderedRequest {
  const ReadRequest* request;
  ReaderState* reader;

  uint64_t begin() const { return request->offset; }
  uint64_t end() const { return request->offset + request->into.size(); }
};

// Sorts by reader, file and offset; of two at one offset, the longer first. If
// all are copies from mappings, where neighbours gain nothing, only groups them
// by file.
std::vector<OrderedRequest> SortRequests(std::span<const ReadRequest> requests);

// Joined reads end at this size, so that the disk has several to work on.
inline constexpr uint64_t kMaxJoinedBytes = uint64_t{128} << 10;

// What to read and what to do afterwards. Every order of requests yields the
// right bytes; requests that follow each other in a file are joined. A request
// is read straight into its place unless
//   - it touches a part of a block that is to be verified,
//   - it is read past the cache and not aligned, or
//   - it overlaps an earlier one.
// In these cases its bytes are copied there, from scratch memory or from the
// place of the other request.
//
// Ownership: the reads point into the plan, which must not move.
class ReadPlan {
 public:
  // `relies`: whether earlier verifications count; if not, everything that is
  // to be verified is verified anew.
  explicit ReadPlan(bool relies = true) : relies_(relies) {}
  ReadPlan(const ReadPlan&) = delete;
  ReadPlan& operator=(const ReadPlan&) = delete;

  // Plans the first of `requests`, as many as 64 MiB of scratch allow but at
  // least one, and leaves the rest in `requests`. REQUIRES: called once.
  absl::Status TakeFrom(std::span<const OrderedRequest>* requests);

  std::span<PendingRead> ring() { return ring_; }
  std::span<PendingRead> mapped() { return mapped_; }
  std::span<PendingRead> blocking() { return blocking_; }

  // Verifies blocks and fills the places that are not filled yet. Call it once
  // all reads have succeeded.
  absl::Status Complete() const;

 private:
  struct Copy {
    const std::byte* from;
    std::byte* to;
    size_t bytes;
  };
  struct BlockCheck {
    ReaderState* reader;
    uint32_t file;
    uint64_t block;
    const std::byte* bytes;
    const VerifiedBlocks* verified;
  };
  // What lies between two offsets of the current file.
  struct Stretch {
    uint64_t begin = 0;
    uint64_t end = 0;
    std::byte* place = nullptr;
  };

  void BeginReader(ReaderState* reader);
  // Adds what was counted since the last call to the current reader's counters.
  void FlushCounts();
  void BeginFile(uint32_t file);
  // A block that the request touches is to be verified.
  bool NeedsChecks(const OrderedRequest& request) const;
  // Scratch that the request may take at most; 0 without checks and alignment.
  size_t ScratchFor(const OrderedRequest& request) const;
  absl::Status MakeRoom(size_t scratch_bytes, const OrderedRequest& request);
  void AddRequest(const OrderedRequest& request, bool needs_checks);
  void AddVerified(const OrderedRequest& request);
  // What needs no block around it.
  void AddPlain(uint64_t begin, uint64_t end, std::byte* into);
  void AddInPlace(uint64_t begin, uint64_t end, std::byte* into);
  void AddCopied(uint64_t begin, uint64_t end, std::byte* into);
  // Has [begin, end) read beside its place; where it will be.
  std::byte* AddBeside(uint64_t begin, uint64_t end);
  void AddCheck(uint64_t block, const std::byte* bytes);
  bool NeedsCheck(uint64_t block) const;
  bool IsAligned(uint64_t begin, uint64_t end, const std::byte* into) const;
  // Bytes that begin where the last read ends may become part of it.
  bool MayJoin(uint64_t bytes) const;
  void StartRead(IoBackend backend, uint64_t begin, uint64_t end,
                 uint64_t needed_end, std::byte* into);

  std::vector<PendingRead> ring_, mapped_, blocking_;
  std::vector<iovec> places_;
  std::vector<Copy> copies_;
  std::vector<BlockCheck> checks_;
  Scratch scratch_;

  const bool relies_;

  // While planning: the current reader, file and read.
  ReaderState* reader_ = nullptr;
  IoBackend reader_backend_ = IoBackend::kBuffered;
  uint32_t file_ = 0;
  const FileChecksums* checksums_ = nullptr;  // null: nothing to verify
  const VerifiedBlocks* verified_ = nullptr;  // of them
  bool relies_here_ = false;                  // on those
  IoBackend backend_ = IoBackend::kBuffered;
  uint64_t alignment_ = 1;         // of offsets
  uint64_t memory_alignment_ = 1;  // of places
  std::vector<PendingRead>* reads_ = nullptr;
  size_t num_requests_ = 0;  // left, with the current one
  const ReadRequest* request_ = nullptr;
  uint64_t requests_ = 0;
  uint64_t bytes_asked_ = 0;
  uint64_t merged_ = 0;
  bool has_file_ = false;
  bool has_read_ = false;   // reads_->back() is of this file
  Stretch in_place_;        // that reaches furthest, of those read in place
  Stretch beside_;          // the last one in scratch, whole sectors
  size_t beside_read_ = 0;  // the number in *reads_ of the read it is of
  bool beside_is_last_ = false;  // its bytes are the last of reads_->back()
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_READ_PLAN_H_
