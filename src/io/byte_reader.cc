// SPDX-License-Identifier: Apache-2.0
#include "poniente/byte_reader.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "io/blocking_reader.h"
#include "io/checksum_fetch.h"
#include "io/fetch_ahead.h"
#include "io/mmap/mmap_reader.h"
#include "io/pending_read.h"
#include "io/read_ends.h"
#include "io/read_plan.h"
#include "io/reader_state.h"
#include "io/uring/second_ring.h"
#include "io/uring/uring_ring.h"
#include "util/check.h"
#include "util/in_parallel.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using internal::Absl;
using internal::Add;
using internal::OrderedRequest;
using internal::PendingRead;
using internal::ReaderAccess;
using internal::ReaderState;
using internal::ReadPlan;
using internal::SecondBatch;
using internal::SecondRing;
using internal::UringBatch;
using internal::UringRing;

constexpr std::pair<IoBackend, std::string_view> kBackendNames[] = {
    {IoBackend::kAuto, "auto"},     {IoBackend::kBuffered, "buffered"},
    {IoBackend::kDirect, "direct"}, {IoBackend::kMmap, "mmap"},
    {IoBackend::kPread, "pread"},
};
constexpr std::pair<VerifyChecksums, std::string_view> kVerifyNames[] = {
    {VerifyChecksums::kOff, "off"},
    {VerifyChecksums::kFirstTouch, "first_touch"},
    {VerifyChecksums::kAlways, "always"},
};

template <class Value, size_t n>
std::string_view NameIn(const std::pair<Value, std::string_view> (&names)[n],
                        Value value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return "unknown";
}

template <class Value, size_t n>
absl::StatusOr<Value> ParseIn(
    const std::pair<Value, std::string_view> (&names)[n], const char* what,
    std::string_view text) {
  std::string known;
  for (const auto& [value, name] : names) {
    if (name == text) return value;
    absl::StrAppend(&known, known.empty() ? "'" : ", '", Absl(name), "'");
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown ", what, " '", Absl(text), "'; choose one of ", known));
}

absl::Status CheckRanges(std::span<const ReadRequest> requests) {
  const ReadRequest* previous = nullptr;
  uint64_t size = 0;
  for (const ReadRequest& request : requests) {
    if (previous == nullptr || request.reader != previous->reader ||
        request.file != previous->file) {
      PONIENTE_CHECK(request.reader != nullptr);
      PONIENTE_CHECK(request.file < request.reader->num_files())
          << request.file << " of " << request.reader->num_files() << " files";
      size = request.reader->size(request.file);
    }
    previous = &request;
    if (request.into.size() > size ||
        request.offset > size - request.into.size()) {
      return absl::OutOfRangeError(absl::StrCat(
          request.reader->path(request.file), ": read of ", request.into.size(),
          " bytes at offset ", request.offset, " ends past the file's ", size,
          " bytes; was the file still being written when opened?"));
    }
  }
  return absl::OkStatus();
}

// Opens the files that are opened at their first read: several at once, as each
// may wait for the disk. Returns the first error in the order of the requests.
absl::Status OpenFiles(std::span<const ReadRequest> requests) {
  const ReadRequest* previous = nullptr;
  std::vector<const ReadRequest*> closed;
  for (const ReadRequest& request : requests) {
    if (request.into.empty()) continue;
    const bool is_same = previous != nullptr &&
                         request.reader == previous->reader &&
                         request.file == previous->file;
    previous = &request;
    if (!is_same && !ReaderAccess::State(*request.reader).IsOpen(request.file))
      closed.push_back(&request);
  }
  if (closed.empty()) return absl::OkStatus();
  std::vector<absl::Status> opened(closed.size());
  internal::InParallel(closed.size(), [&](size_t i) {
    opened[i] =
        ReaderAccess::State(*closed[i]->reader).EnsureOpen(closed[i]->file);
  });
  for (absl::Status& status : opened) {
    PONIENTE_RETURN_IF_ERROR(std::move(status));
  }
  return absl::OkStatus();
}

bool IsUnfinished(const PendingRead& read) { return !read.finished(); }

// One turn of a batch: makes its reads, measures waiting, and finishes them.
class Turn {
 public:
  explicit Turn(ReadPlan* plan) : plan_(plan) {}

  // Makes all reads that do not use the ring, on this thread.
  void ReadHere() {
    internal::ReadMapped(plan_->mapped());
    Block(plan_->blocking());
  }
  // Makes the reads that the ring has refused, with pread.
  void ReadRefused(const UringRing& ring) {
    const auto reads = plan_->ring();
    if (std::none_of(reads.begin(), reads.end(), IsUnfinished)) return;
    const std::string why(ring.status().message());
    for (const PendingRead& read : plan_->ring()) {
      if (read.finished()) continue;
      read.reader().SetFallback(read.backend(), IoBackend::kPread, why);
    }
    Block(plan_->ring());
  }
  // Call these before and after waiting for the reads of the ring; Resume()
  // counts the time between them.
  void Suspend() { suspended_ = Clock::now(); }
  void Resume() {
    internal::CountWait(plan_->ring(), Clock::now() - suspended_);
  }

  // Counts the reads, reports to the readers what was cached, and completes the
  // plan, unless a file was changed. Returns the first error, if any.
  absl::Status Finish() {
    const PendingRead* failed = nullptr;
    for (const auto reads :
         {plan_->ring(), plan_->mapped(), plan_->blocking()}) {
      for (auto rest = reads; !rest.empty();) {
        const auto alike = rest.first(NumAlike(rest));
        is_unchanged_ &= internal::FindUnchanged(alike);
        CountAlike(alike);
        failed = FirstFailed(alike, failed);
        rest = rest.subspan(alike.size());
      }
    }
    if (failed != nullptr) return failed->status();
    return is_unchanged_ ? plan_->Complete() : absl::OkStatus();
  }
  // Returns whether no file that the plan relied on was changed before its
  // reads had ended. Valid after Finish().
  bool is_unchanged() const { return is_unchanged_; }
  // Returns what the page cache had of the reads through it, as far as it can
  // be told. Valid after Finish().
  const internal::Hits& cached() const { return cached_; }

 private:
  using Clock = std::chrono::steady_clock;

  static void Block(std::span<PendingRead> reads) {
    if (reads.empty()) return;
    const auto begin = Clock::now();
    internal::ReadBlocking(reads);
    internal::CountWait(reads, Clock::now() - begin);
  }

  // Returns `first` or the failed read among `reads`, whichever comes first in
  // the order of the batch's requests; null if there is neither.
  static const PendingRead* FirstFailed(std::span<const PendingRead> reads,
                                        const PendingRead* first) {
    for (const PendingRead& read : reads) {
      if (read.status().ok()) continue;
      if (first == nullptr || read.request() < first->request()) first = &read;
    }
    return first;
  }

  // Returns how many reads at the front share their reader and backend.
  static size_t NumAlike(std::span<const PendingRead> reads) {
    size_t count = 1;
    while (count < reads.size() &&
           &reads[count].reader() == &reads.front().reader() &&
           reads[count].backend() == reads.front().backend()) {
      ++count;
    }
    return count;
  }

  void CountAlike(std::span<const PendingRead> alike) {
    ReaderState& reader = alike.front().reader();
    const IoBackend backend = alike.front().backend();
    uint64_t bytes = 0, retries = 0;
    for (const PendingRead& read : alike) {
      bytes += read.bytes_brought();
      retries += read.retries();
    }
    // Copies from a mapping are never hits.
    const internal::Hits hits = backend == IoBackend::kMmap
                                    ? internal::Hits()
                                    : internal::CountHits(alike);
    internal::AtomicBackendCounters& counters = reader.CountersOf(backend);
    Add(alike.size(), &counters.reads);
    Add(bytes, &counters.bytes_read);
    Add(hits.all, &counters.hits_at_submit);
    Add(retries, &counters.retries);
    if (backend == IoBackend::kBuffered) {
      reader.ReportBuffered(hits.known_reads, hits.known);
      if (!reader.hits_tell.load(std::memory_order_relaxed)) return;
      cached_.known_reads += hits.known_reads;
      cached_.known += hits.known;
    }
  }

  ReadPlan* const plan_;
  Clock::time_point suspended_;
  bool is_unchanged_ = true;
  internal::Hits cached_;
};

// The part of a batch that is still to be read.
struct Rest {
  std::span<const OrderedRequest> requests;
  bool relies = true;  // whether the next turn trusts earlier verification
};

bool IsCancelled(const asio::cancellation_state& state) {
  return state.cancelled() != asio::cancellation_type::none;
}

absl::Status Cancelled() { return absl::CancelledError("read cancelled"); }

// Plans and reads as many of the requests as fit in one turn, and removes them
// from `rest`. If a file whose verified blocks they relied on was changed,
// removes none and lets the next turn verify all of them.
Task<> ReadTurn(Rest* rest) {
  ReadPlan plan(rest->relies);
  std::span<const OrderedRequest> left = rest->requests;
  absl::Status planned = plan.TakeFrom(&left);
  if (!planned.ok()) co_return planned;
  Turn turn(&plan);
  const auto finish = [&] {
    absl::Status finished = turn.Finish();
    rest->relies = turn.is_unchanged();
    if (rest->relies) rest->requests = left;
    return finished;
  };
  if (plan.ring().empty()) {
    turn.ReadHere();
    co_return finish();
  }
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  UringRing& ring = UringRing::Of(executor);
  SecondRing& second_ring = SecondRing::Of(executor);
  const std::span<PendingRead> reads = plan.ring();
  // Else a co_await would throw if the batch has been cancelled meanwhile.
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  std::span<PendingRead> shared = reads.last(second_ring.ShareOf(reads));
  {
    SecondBatch there(&second_ring, shared);
    shared = reads.last(there.num_reads());
    UringBatch here(&ring, reads.first(reads.size() - shared.size()));
    const bool done = here.Start();
    turn.ReadHere();  // meanwhile the disk works on the rings' reads
    if (!done || !there.IsDone()) {
      turn.Suspend();
      if (!done) co_await here.Wait();
      if (!there.IsDone()) {
        absl::Status waited = co_await there.Wait();
        waited.IgnoreError();
      }
      turn.Resume();
    }
  }
  if (std::any_of(shared.begin(), shared.end(), IsUnfinished)) {
    UringBatch refused(&ring, shared);  // by the second ring
    turn.Suspend();
    if (!refused.Start()) co_await refused.Wait();
    turn.Resume();
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  turn.ReadRefused(ring);
  absl::Status finished = finish();
  second_ring.Learn(turn.cached());
  co_return finished;
}

// Reads the checksums that the requests need and that are not in memory. Errors
// are left to Verify(), which tries again and reports them.
Task<> FetchChecksums(std::span<const OrderedRequest> requests) {
  internal::ChecksumFetch fetch(requests);
  if (fetch.reads().empty()) co_return absl::OkStatus();
  const absl::Status fetched = co_await ReadBatch(fetch.reads());
  if (fetched.ok()) fetch.Keep();
  co_return absl::OkStatus();
}

void AddTo(BackendCounters* sum, const BackendCounters& one) {
  sum->requests += one.requests;
  sum->bytes_asked += one.bytes_asked;
  sum->reads += one.reads;
  sum->merged_requests += one.merged_requests;
  sum->bytes_read += one.bytes_read;
  sum->submissions += one.submissions;
  sum->hits_at_submit += one.hits_at_submit;
  sum->retries += one.retries;
  sum->wait_nanoseconds += one.wait_nanoseconds;
}

}  // namespace

std::string_view IoBackendName(IoBackend backend) {
  return NameIn(kBackendNames, backend);
}

absl::StatusOr<IoBackend> ParseIoBackend(std::string_view name) {
  return ParseIn(kBackendNames, "io backend", name);
}

std::string_view VerifyChecksumsName(VerifyChecksums verify) {
  return NameIn(kVerifyNames, verify);
}

absl::StatusOr<VerifyChecksums> ParseVerifyChecksums(std::string_view name) {
  return ParseIn(kVerifyNames, "verification of checksums", name);
}

BackendCounters ReadCounters::Total() const {
  BackendCounters sum;
  for (const BackendCounters* one : {&buffered, &direct, &mmap, &pread}) {
    AddTo(&sum, *one);
  }
  return sum;
}

absl::StatusOr<std::shared_ptr<const ByteReader>> ByteReader::Open(
    std::vector<ByteFile> files, const ByteReaderOptions& options) {
  auto state = std::make_unique<ReaderState>();
  PONIENTE_RETURN_IF_ERROR(state->Open(std::move(files), options));
  return std::shared_ptr<const ByteReader>(new ByteReader(std::move(state)));
}

absl::StatusOr<std::shared_ptr<const ByteReader>> ByteReader::Open(
    std::vector<std::string> paths, const ByteReaderOptions& options) {
  std::vector<ByteFile> files(paths.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    files[i].path = std::move(paths[i]);
  }
  return Open(std::move(files), options);
}

ByteReader::ByteReader(std::unique_ptr<ReaderState> state)
    : state_(std::move(state)) {}

ByteReader::~ByteReader() = default;

size_t ByteReader::num_files() const { return state_->num_files; }

const std::string& ByteReader::path(uint32_t file) const {
  PONIENTE_CHECK(file < num_files()) << file;
  return state_->path(file);
}

uint64_t ByteReader::size(uint32_t file) const {
  PONIENTE_CHECK(file < num_files()) << file;
  return state_->size(file);
}

VerifyChecksums ByteReader::verify_checksums() const {
  return state_->options.verify;
}

IoBackend ByteReader::backend() const { return state_->Now(); }

const std::string& ByteReader::fallback_reason() const {
  return state_->fallback_reason.get();
}

ReadCounters ByteReader::counters() const {
  ReadCounters counters;
  counters.buffered = state_->CountersOf(IoBackend::kBuffered).Load();
  counters.direct = state_->CountersOf(IoBackend::kDirect).Load();
  counters.mmap = state_->CountersOf(IoBackend::kMmap).Load();
  counters.pread = state_->CountersOf(IoBackend::kPread).Load();
  counters.blocks_verified =
      state_->blocks_verified.load(std::memory_order_relaxed);
  return counters;
}

Task<> ReadBatch(std::span<const ReadRequest> requests) {
  internal::FetchAhead(requests);
  absl::Status in_range = CheckRanges(requests);
  if (!in_range.ok()) co_return in_range;
  // Checks for cancellation explicitly instead of letting co_await throw: the
  // kernel writes to the buffers, so nothing may unwind this frame until Wait()
  // has ended.
  asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  if (IsCancelled(state)) co_return Cancelled();
  absl::Status open = OpenFiles(requests);
  if (!open.ok()) co_return open;
  const std::vector<OrderedRequest> sorted = internal::SortRequests(requests);
  absl::Status fetched = co_await FetchChecksums(sorted);
  state = co_await asio::this_coro::cancellation_state;
  if (IsCancelled(state)) co_return Cancelled();
  Rest rest = {sorted};
  absl::Status status = std::move(fetched);
  while (status.ok() && !rest.requests.empty()) {
    absl::Status turn = co_await ReadTurn(&rest);
    status = std::move(turn);
    state = co_await asio::this_coro::cancellation_state;
    if (IsCancelled(state)) co_return Cancelled();
  }
  co_return status;
}

}  // namespace poniente
