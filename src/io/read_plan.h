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

// Returns the requests that are not empty, sorted by reader, file and offset;
// of two at the same offset, the longer one comes first. If all are copies from
// mappings, which gain nothing from this order, only groups them by file.
std::vector<OrderedRequest> SortRequests(std::span<const ReadRequest> requests);

// Largest size of a joined read. Larger ones would leave the disk fewer reads
// to work on in parallel.
inline constexpr uint64_t kMaxJoinedBytes = uint64_t{128} << 10;

// The reads that a batch needs, and the copies and checks to make after them.
// The requests may come in any order, but only consecutive requests are joined.
// A request is read straight into its place unless - it touches a part of a
// block that is to be verified, - it is read past the cache and not aligned, or
// - it overlaps an earlier one. In these cases its bytes are copied there, from
// scratch memory or from the place of the other request.
//
// Ownership: the reads point into the plan, which must not move.
class ReadPlan {
 public:
  // Creates an empty plan. If `relies` is false, blocks that have been verified
  // before are verified again.
  explicit ReadPlan(bool relies = true) : relies_(relies) {}
  ReadPlan(const ReadPlan&) = delete;
  ReadPlan& operator=(const ReadPlan&) = delete;

  // Plans as many of the first `requests` as 64 MiB of scratch memory allow,
  // but at least one, and removes them from `requests`. REQUIRES: called once.
  absl::Status TakeFrom(std::span<const OrderedRequest>* requests);

  // Return the reads for the ring, for copies from mappings, and for pread.
  std::span<PendingRead> ring() { return ring_; }
  std::span<PendingRead> mapped() { return mapped_; }
  std::span<PendingRead> blocking() { return blocking_; }

  // Verifies blocks, and copies bytes to the places that were not read
  // directly. REQUIRES: all reads have succeeded.
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
  // Bytes [begin, end) of the current file, which are read to `place`.
  struct Stretch {
    uint64_t begin = 0;
    uint64_t end = 0;
    std::byte* place = nullptr;
  };

  void BeginReader(ReaderState* reader);
  // Adds the counts since the last call to the current reader's counters.
  void FlushCounts();
  void BeginFile(uint32_t file);
  // Returns whether any block that the request touches is to be verified.
  bool NeedsChecks(const OrderedRequest& request) const;
  // Returns the most scratch bytes that the request may need; 0 if it needs
  // neither checks nor alignment.
  size_t ScratchFor(const OrderedRequest& request) const;
  absl::Status MakeRoom(size_t scratch_bytes, const OrderedRequest& request);
  void AddRequest(const OrderedRequest& request, bool needs_checks);
  void AddVerified(const OrderedRequest& request);
  // Adds bytes that are not to be verified.
  void AddPlain(uint64_t begin, uint64_t end, std::byte* into);
  void AddInPlace(uint64_t begin, uint64_t end, std::byte* into);
  void AddCopied(uint64_t begin, uint64_t end, std::byte* into);
  // Has [begin, end) read into scratch memory. Returns where it will be.
  std::byte* AddBeside(uint64_t begin, uint64_t end);
  void AddCheck(uint64_t block, const std::byte* bytes);
  bool NeedsCheck(uint64_t block) const;
  bool IsAligned(uint64_t begin, uint64_t end, const std::byte* into) const;
  // Returns whether the last read may be extended by `bytes`.
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
  const VerifiedBlocks* verified_ = nullptr;  // null if nothing to verify
  bool relies_here_ = false;  // whether blocks in verified_ are not checked
  IoBackend backend_ = IoBackend::kBuffered;
  uint64_t alignment_ = 1;         // of offsets
  uint64_t memory_alignment_ = 1;  // of places
  std::vector<PendingRead>* reads_ = nullptr;
  size_t num_requests_ = 0;  // not yet planned, with the current one
  const ReadRequest* request_ = nullptr;
  uint64_t requests_ = 0;
  uint64_t bytes_asked_ = 0;
  uint64_t merged_ = 0;
  bool has_file_ = false;
  bool has_read_ = false;        // reads_->back() is of this file
  Stretch in_place_;             // the last one that is read in place
  Stretch beside_;               // the last one read to scratch, whole sectors
  size_t beside_read_ = 0;       // index in *reads_ of the read of beside_
  bool beside_is_last_ = false;  // beside_ is the end of reads_->back()
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_READ_PLAN_H_
