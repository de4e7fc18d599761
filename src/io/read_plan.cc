// SPDX-License-Identifier: Apache-2.0
#include "io/read_plan.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstring>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include "util/memory_sizes.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// If a request past the cache begins or ends within a sector, its whole sectors
// are read in place if they have at least this many bytes; otherwise all of it
// is copied.
constexpr uint64_t kMinMiddleBytes = uint64_t{64} << 10;
// Larger requests whose memory is unaligned are read through the cache: copying
// them costs more than reading past it saves.
constexpr uint64_t kMaxUnalignedBytes = uint64_t{4} << 20;

uint64_t AlignDown(uint64_t offset, uint64_t alignment) {
  return offset / alignment * alignment;
}
uint64_t AlignUp(uint64_t offset, uint64_t alignment) {
  return AlignDown(offset + alignment - 1, alignment);
}

bool IsOfSameFile(const OrderedRequest& a, const OrderedRequest& b) {
  return a.reader == b.reader && a.request->file == b.request->file;
}

// Groups the requests by file and keeps their order otherwise. With them
// grouped, work per file is done once per batch. Copies gain nothing from a
// full sort.
std::vector<OrderedRequest> GroupByFile(std::vector<OrderedRequest> requests) {
  boost::unordered_flat_map<std::pair<ReaderState*, uint32_t>, uint32_t>
      numbers;
  std::vector<uint32_t> number_of(requests.size());
  // For each number: first the count of its requests, then the place where its
  // next request belongs.
  std::vector<uint32_t> next;
  size_t runs = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (i > 0 && IsOfSameFile(requests[i - 1], requests[i])) {
      number_of[i] = number_of[i - 1];
    } else {
      const auto [found, is_new] = numbers.try_emplace(
          {requests[i].reader, requests[i].request->file}, next.size());
      if (is_new) next.push_back(0);
      number_of[i] = found->second;
      ++runs;
    }
    ++next[number_of[i]];
  }
  if (next.size() == runs) return requests;
  std::exclusive_scan(next.begin(), next.end(), next.begin(), 0u);
  std::vector<OrderedRequest> grouped(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    grouped[next[number_of[i]]++] = requests[i];
  }
  return grouped;
}

}  // namespace

std::vector<OrderedRequest> SortRequests(
    std::span<const ReadRequest> requests) {
  std::vector<OrderedRequest> sorted;
  sorted.reserve(requests.size());
  bool all_mapped = true;
  const ByteReader* reader = nullptr;
  ReaderState* state = nullptr;
  for (const ReadRequest& request : requests) {
    if (request.into.empty()) continue;
    if (request.reader != reader) {
      reader = request.reader;
      state = &ReaderAccess::State(*reader);
      all_mapped = all_mapped && state->Now() == IoBackend::kMmap;
    }
    sorted.push_back({&request, state});
  }
  if (all_mapped) return GroupByFile(std::move(sorted));
  std::sort(sorted.begin(), sorted.end(),
            [](const OrderedRequest& a, const OrderedRequest& b) {
              if (a.reader != b.reader) {
                return std::less<>()(a.reader, b.reader);
              }
              return std::tuple(a.request->file, a.begin(), b.end()) <
                     std::tuple(b.request->file, b.begin(), a.end());
            });
  return sorted;
}

absl::Status ReadPlan::TakeFrom(std::span<const OrderedRequest>* requests) {
  for (size_t planned = 0; !requests->empty(); ++planned) {
    num_requests_ = requests->size();
    const OrderedRequest& request = requests->front();
    if (request.reader != reader_) BeginReader(request.reader);
    if (!has_file_ || request.request->file != file_) {
      BeginFile(request.request->file);
    }
    const bool needs_checks = NeedsChecks(request);
    if (needs_checks || alignment_ > 1) {
      const size_t scratch = ScratchFor(request);
      if (planned > 0 && scratch > 0 &&
          scratch_.used() + scratch > kScratchBytes) {
        break;
      }
      PONIENTE_RETURN_IF_ERROR(MakeRoom(scratch, request));
    }
    AddRequest(request, needs_checks);
    *requests = requests->subspan(1);
  }
  FlushCounts();
  return absl::OkStatus();
}

void ReadPlan::FlushCounts() {
  if (requests_ == 0) return;
  AtomicBackendCounters& counters = reader_->CountersOf(backend_);
  Add(std::exchange(requests_, 0), &counters.requests);
  Add(std::exchange(bytes_asked_, 0), &counters.bytes_asked);
  Add(std::exchange(merged_, 0), &counters.merged_requests);
}

void ReadPlan::BeginReader(ReaderState* reader) {
  FlushCounts();
  reader_ = reader;
  reader_backend_ = reader->Next();
  has_file_ = false;
}

void ReadPlan::BeginFile(uint32_t file) {
  FlushCounts();
  file_ = file;
  has_file_ = true;
  checksums_ = reader_->ChecksumsOf(file);
  verified_ = checksums_ == nullptr
                  ? nullptr
                  : &checksums_->VerifiedOf(reader_->opened(file));
  relies_here_ = relies_ && verified_ != nullptr &&
                 verified_->marks != nullptr &&
                 reader_->options.verify == VerifyChecksums::kFirstTouch;
  backend_ = reader_->Prepare(reader_backend_, file);
  reads_ = backend_ == IoBackend::kMmap    ? &mapped_
           : backend_ == IoBackend::kPread ? &blocking_
                                           : &ring_;
  if (reads_->empty()) reads_->reserve(num_requests_);
  alignment_ = 1;
  memory_alignment_ = 1;
  if (backend_ == IoBackend::kDirect) {
    const DirectFile& direct = *reader_->direct[file].get();
    alignment_ = direct.offset_alignment();
    memory_alignment_ = direct.memory_alignment();
  }
  has_read_ = false;
  in_place_ = {};
  beside_ = {};
  beside_is_last_ = false;
}

bool ReadPlan::NeedsCheck(uint64_t block) const {
  return !relies_here_ || !verified_->Has(block);
}

bool ReadPlan::NeedsChecks(const OrderedRequest& request) const {
  if (checksums_ == nullptr) return false;
  const uint64_t last = checksums_->BlockOf(request.end() - 1);
  for (uint64_t block = checksums_->BlockOf(request.begin()); block <= last;
       ++block) {
    if (NeedsCheck(block)) return true;
  }
  return false;
}

size_t ReadPlan::ScratchFor(const OrderedRequest& request) const {
  const uint64_t bytes = request.end() - request.begin();
  const uint64_t around = 2 * alignment_ + kPageBytes;
  uint64_t scratch = 0;
  // If some blocks of the request are read into scratch memory, the rest may
  // not be aligned any more.
  if (alignment_ > 1 &&
      (checksums_ != nullptr || !IsAligned(request.begin(), request.end(),
                                           request.request->into.data()))) {
    scratch += std::min(bytes, kMaxUnalignedBytes) + around;
  }
  if (checksums_ == nullptr) return scratch;
  const uint64_t first = checksums_->BlockOf(request.begin());
  const uint64_t last = checksums_->BlockOf(request.end() - 1);
  for (uint64_t block = first;; block = last) {
    const uint64_t block_begin = checksums_->BeginOf(block);
    const uint64_t block_end = checksums_->EndOf(block);
    const bool is_whole =
        block_begin >= request.begin() && block_end <= request.end();
    if (!is_whole && NeedsCheck(block)) {
      scratch += block_end - block_begin + around;
    }
    if (block == last) return scratch;
  }
}

absl::Status ReadPlan::MakeRoom(size_t scratch_bytes,
                                const OrderedRequest& request) {
  if (scratch_.used() + scratch_bytes <= scratch_.capacity()) {
    return absl::OkStatus();
  }
  absl::StatusOr<Scratch> scratch = Scratch::Take(scratch_bytes);
  if (scratch.ok()) {
    scratch_ = *std::move(scratch);
    return absl::OkStatus();
  }
  return Prepend(scratch.status(),
                 absl::StrCat(reader_->path(file_), ": read of ",
                              request.end() - request.begin(),
                              " bytes at offset ", request.begin()));
}

void ReadPlan::AddRequest(const OrderedRequest& request, bool needs_checks) {
  const size_t reads = reads_->size();
  request_ = request.request;
  if (needs_checks) {
    AddVerified(request);
  } else {
    AddPlain(request.begin(), request.end(), request.request->into.data());
  }
  ++requests_;
  bytes_asked_ += request.end() - request.begin();
  if (reads_->size() == reads) ++merged_;
}

void ReadPlan::AddVerified(const OrderedRequest& request) {
  const FileChecksums& checksums = *checksums_;
  std::byte* const into = request.request->into.data();
  const uint64_t begin = request.begin();
  const uint64_t end = request.end();
  uint64_t plain = begin;  // bytes before this are planned
  const auto add_plain = [&](uint64_t until) {
    if (plain < until) AddPlain(plain, until, into + (plain - begin));
  };
  const uint64_t last = checksums.BlockOf(end - 1);
  for (uint64_t block = checksums.BlockOf(begin); block <= last; ++block) {
    if (!NeedsCheck(block)) continue;
    const uint64_t block_begin = checksums.BeginOf(block);
    const uint64_t block_end = checksums.EndOf(block);
    if (block_begin >= begin && block_end <= end) {
      AddCheck(block, into + (block_begin - begin));
      continue;
    }
    const uint64_t from = std::max(begin, block_begin);
    const uint64_t to = std::min(end, block_end);
    add_plain(from);
    std::byte* const place = AddBeside(block_begin, block_end);
    AddCheck(block, place);
    copies_.push_back(
        {place + (from - block_begin), into + (from - begin), to - from});
    plain = to;
  }
  add_plain(end);
}

void ReadPlan::AddPlain(uint64_t begin, uint64_t end, std::byte* into) {
  if (IsAligned(begin, end, into)) return AddInPlace(begin, end, into);
  const uint64_t middle = AlignUp(begin, alignment_);
  const uint64_t tail = AlignDown(end, alignment_);
  if (tail > middle && tail - middle >= kMinMiddleBytes &&
      IsAligned(middle, tail, into + (middle - begin))) {
    AddCopied(begin, middle, into);
    AddInPlace(middle, tail, into + (middle - begin));
    AddCopied(tail, end, into + (tail - begin));
  } else if (end - begin <= kMaxUnalignedBytes) {
    AddCopied(begin, end, into);
  } else {
    StartRead(IoBackend::kBuffered, begin, end, end, into);
  }
}

void ReadPlan::AddCopied(uint64_t begin, uint64_t end, std::byte* into) {
  if (begin == end) return;
  copies_.push_back({AddBeside(begin, end), into, end - begin});
}

void ReadPlan::AddInPlace(uint64_t begin, uint64_t end, std::byte* into) {
  const Stretch here = {begin, end, into};
  // Shares bytes only in reads through the cache: the rest of the request could
  // be unaligned, which reads past the cache do not allow.
  if (alignment_ == 1 && begin >= in_place_.begin && begin < in_place_.end) {
    const uint64_t shared = std::min(end, in_place_.end) - begin;
    copies_.push_back(
        {in_place_.place + (begin - in_place_.begin), into, shared});
    begin += shared;
    into += shared;
    if (begin == end) return;
  }
  in_place_ = here;
  if (MayJoin(end - begin) && reads_->back().end() == begin) {
    PendingRead& read = reads_->back();
    const iovec& place = read.places().back();
    if (static_cast<std::byte*>(place.iov_base) + place.iov_len == into) {
      read.ExtendInPlace(end - begin, end - begin);
    } else {
      read.ExtendAt(into, end - begin, end - begin, &places_);
    }
    read.Serve(*request_);
  } else {
    StartRead(backend_, begin, end, end, into);
  }
  beside_is_last_ = false;
}

std::byte* ReadPlan::AddBeside(uint64_t begin, uint64_t end) {
  const uint64_t from = AlignDown(begin, alignment_);
  const uint64_t to = AlignUp(end, alignment_);
  const bool is_inside =
      from >= beside_.begin && from <= beside_.end && beside_.place != nullptr;
  if (is_inside && to <= beside_.end) {
    (*reads_)[beside_read_].Need(end);
    (*reads_)[beside_read_].Serve(*request_);
    return beside_.place + (begin - beside_.begin);
  }
  if (is_inside && beside_is_last_ && MayJoin(to - beside_.end)) {
    const uint64_t more = to - beside_.end;
    scratch_.Extend(more);
    reads_->back().ExtendInPlace(more, end - beside_.end);
    reads_->back().Serve(*request_);
    beside_.end = to;
    return beside_.place + (begin - beside_.begin);
  }
  std::byte* const place = scratch_.Add(to - from);
  if (MayJoin(to - from) && reads_->back().end() == from) {
    reads_->back().ExtendAt(place, to - from, end - from, &places_);
    reads_->back().Serve(*request_);
  } else {
    StartRead(backend_, from, to, end, place);
  }
  beside_ = {from, to, place};
  beside_read_ = reads_->size() - 1;
  beside_is_last_ = true;
  return place + (begin - from);
}

void ReadPlan::AddCheck(uint64_t block, const std::byte* bytes) {
  // A block in scratch memory that two requests share is checked once.
  for (auto check = checks_.rbegin(); check != checks_.rend(); ++check) {
    if (check->reader != reader_ || check->file != file_) break;
    if (check->block == block && check->bytes == bytes) return;
    if (check->block < block) break;
  }
  checks_.push_back({reader_, file_, block, bytes, verified_});
}

bool ReadPlan::IsAligned(uint64_t begin, uint64_t end,
                         const std::byte* into) const {
  return alignment_ == 1 ||
         (begin % alignment_ == 0 && end % alignment_ == 0 &&
          reinterpret_cast<uintptr_t>(into) % memory_alignment_ == 0);
}

bool ReadPlan::MayJoin(uint64_t bytes) const {
  return has_read_ && backend_ != IoBackend::kMmap &&
         reads_->back().backend() == backend_ &&
         reads_->back().size() + bytes <= kMaxJoinedBytes;
}

void ReadPlan::StartRead(IoBackend backend, uint64_t begin, uint64_t end,
                         uint64_t needed_end, std::byte* into) {
  reads_->emplace_back(reader_, file_, backend, begin, end - begin,
                       needed_end - begin, into);
  reads_->back().Serve(*request_);
  if (relies_here_) reads_->back().RelyOn(verified_);
  has_read_ = true;
  beside_is_last_ = false;
}

absl::Status ReadPlan::Complete() const {
  for (const Copy& copy : copies_) {
    std::memcpy(copy.to, copy.from, copy.bytes);
  }
  for (const BlockCheck& check : checks_) {
    const FileChecksums& checksums = *check.reader->checksums[check.file];
    const size_t bytes =
        checksums.EndOf(check.block) - checksums.BeginOf(check.block);
    PONIENTE_RETURN_IF_ERROR(checksums.Verify(check.reader->path(check.file),
                                              check.block, {check.bytes, bytes},
                                              *check.verified));
    Add(1, &check.reader->blocks_verified);
  }
  return absl::OkStatus();
}

}  // namespace poniente::internal
