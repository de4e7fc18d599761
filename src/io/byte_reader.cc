// SPDX-License-Identifier: Apache-2.0
#include "poniente/byte_reader.h"

#include <boost/asio/this_coro.hpp>
#include <utility>

#include "absl/status/status.h"
#include "io/blocking_reader.h"
#include "io/mmap_reader.h"
#include "io/pending_read.h"
#include "io/reader_state.h"
#include "io/uring_ring.h"
#include "io/uring_setup.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using internal::Absl;
using internal::Add;
using internal::PendingRead;
using internal::ReaderAccess;
using internal::ReaderState;
using internal::UringBatch;
using internal::UringRing;

constexpr std::pair<IoBackend, std::string_view> kBackendNames[] = {
    {IoBackend::kAuto, "auto"},
    {IoBackend::kUring, "uring"},
    {IoBackend::kMmap, "mmap"},
    {IoBackend::kPread, "pread"},
};

// Sets backend and fallback_reason.
absl::Status ChooseBackend(IoBackend wanted, ReaderState* state) {
  state->backend = wanted;
  if (wanted != IoBackend::kAuto && wanted != IoBackend::kUring) {
    return absl::OkStatus();
  }
  const absl::Status works = internal::ProbeUring();
  if (wanted == IoBackend::kUring && !works.ok()) {
    return absl::UnavailableError(absl::StrCat(
        "io backend 'uring' asked for, but ", works.message(),
        "; allow io_uring (seccomp profile of the container, sysctl "
        "kernel.io_uring_disabled) or choose 'auto' or 'pread'"));
  }
  state->backend = works.ok() ? IoBackend::kUring : IoBackend::kPread;
  state->fallback_reason.Set(std::string(works.message()));
  return absl::OkStatus();
}

absl::Status CheckRanges(std::span<const ReadRequest> requests) {
  for (const ReadRequest& request : requests) {
    PONIENTE_CHECK(request.reader != nullptr);
    PONIENTE_CHECK(request.file < request.reader->num_files())
        << request.file << " of " << request.reader->num_files() << " files";
    const uint64_t size = request.reader->size(request.file);
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

// The reads of a batch, sorted by what serves them.
struct SortedReads {
  std::vector<PendingRead> all;
  std::span<PendingRead> ring;
  std::span<PendingRead> mapped;
  std::span<PendingRead> blocking;
};

std::span<PendingRead> AppendReads(std::span<const ReadRequest> requests,
                                   IoBackend backend,
                                   std::vector<PendingRead>* all) {
  const size_t begin = all->size();
  for (const ReadRequest& request : requests) {
    ReaderState& reader = ReaderAccess::State(*request.reader);
    if (reader.backend != backend) continue;
    all->emplace_back(request);
    Add(1, &reader.counters.reads);
    Add(request.into.size(), &reader.counters.bytes_asked);
  }
  return {all->data() + begin, all->size() - begin};
}

SortedReads SortReads(std::span<const ReadRequest> requests) {
  SortedReads reads;
  reads.all.reserve(requests.size());  // so that the spans stay valid
  reads.ring = AppendReads(requests, IoBackend::kUring, &reads.all);
  reads.mapped = AppendReads(requests, IoBackend::kMmap, &reads.all);
  reads.blocking = AppendReads(requests, IoBackend::kPread, &reads.all);
  return reads;
}

// Reads by pread what the ring has left.
void ReadRefused(const UringRing& ring, std::span<PendingRead> reads) {
  for (const PendingRead& read : reads) {
    if (read.finished()) continue;
    Add(1, &read.reader().counters.fallback_reads);
    read.reader().fallback_reason.Set(std::string(ring.status().message()));
  }
  ReadBlocking(reads);
}

// Counts what was read, and gives the first error in the order of requests.
absl::Status Finish(std::span<const PendingRead> reads) {
  const PendingRead* failed = nullptr;
  for (const PendingRead& read : reads) {
    Add(read.bytes_done(), &read.reader().counters.bytes_read);
    if (read.hit) Add(1, &read.reader().counters.hits_at_submit);
    if (!read.status().ok() &&
        (failed == nullptr || &read.request() < &failed->request())) {
      failed = &read;
    }
  }
  return failed == nullptr ? absl::OkStatus() : failed->status();
}

bool IsCancelled(const asio::cancellation_state& state) {
  return state.cancelled() != asio::cancellation_type::none;
}

absl::Status Cancelled() { return absl::CancelledError("read cancelled"); }

}  // namespace

std::string_view IoBackendName(IoBackend backend) {
  for (const auto& [known, name] : kBackendNames) {
    if (known == backend) return name;
  }
  return "unknown";
}

absl::StatusOr<IoBackend> ParseIoBackend(std::string_view name) {
  for (const auto& [backend, known] : kBackendNames) {
    if (known == name) return backend;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown io backend '", Absl(name),
                   "'; choose 'auto', 'uring', 'mmap' or 'pread'"));
}

absl::StatusOr<std::shared_ptr<const ByteReader>> ByteReader::Open(
    std::vector<std::string> paths, const ByteReaderOptions& options) {
  auto state = std::make_unique<ReaderState>();
  PONIENTE_RETURN_IF_ERROR(ChooseBackend(options.backend, state.get()));
  state->files.reserve(paths.size());
  for (std::string& path : paths) {
    PONIENTE_ASSIGN_OR_RETURN(internal::OpenFile file,
                              internal::OpenFile::Open(std::move(path)));
    state->files.push_back(std::move(file));
    if (state->backend != IoBackend::kMmap) continue;
    PONIENTE_ASSIGN_OR_RETURN(internal::Mapping mapping,
                              internal::Mapping::Map(state->files.back()));
    state->mappings.push_back(std::move(mapping));
  }
  return std::shared_ptr<const ByteReader>(new ByteReader(std::move(state)));
}

ByteReader::ByteReader(std::unique_ptr<ReaderState> state)
    : state_(std::move(state)) {}

ByteReader::~ByteReader() = default;

size_t ByteReader::num_files() const { return state_->files.size(); }

const std::string& ByteReader::path(uint32_t file) const {
  PONIENTE_CHECK(file < num_files()) << file;
  return state_->files[file].path();
}

uint64_t ByteReader::size(uint32_t file) const {
  PONIENTE_CHECK(file < num_files()) << file;
  return state_->files[file].size();
}

IoBackend ByteReader::backend() const { return state_->backend; }

const std::string& ByteReader::fallback_reason() const {
  return state_->fallback_reason.get();
}

ReadCounters ByteReader::counters() const {
  const internal::AtomicReadCounters& now = state_->counters;
  ReadCounters counters;
  counters.bytes_asked = now.bytes_asked.load(std::memory_order_relaxed);
  counters.bytes_read = now.bytes_read.load(std::memory_order_relaxed);
  counters.reads = now.reads.load(std::memory_order_relaxed);
  counters.submissions = now.submissions.load(std::memory_order_relaxed);
  counters.hits_at_submit = now.hits_at_submit.load(std::memory_order_relaxed);
  counters.fallback_reads = now.fallback_reads.load(std::memory_order_relaxed);
  return counters;
}

Task<> ReadBatch(std::span<const ReadRequest> requests) {
  absl::Status in_range = CheckRanges(requests);
  if (!in_range.ok()) co_return in_range;
  // Asked for, not left to co_await to throw: from here to the end of Wait()
  // nothing may unwind this frame, as the kernel writes to the buffers.
  asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  if (IsCancelled(state)) co_return Cancelled();

  SortedReads reads = SortReads(requests);
  if (reads.ring.empty()) {
    ReadMapped(reads.mapped);
    ReadBlocking(reads.blocking);
    co_return Finish(reads.all);
  }
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  UringRing& ring = UringRing::Of(executor);
  {
    UringBatch batch(&ring, reads.ring);
    const bool done = batch.Start();
    // On this thread, while the disk works on the others.
    ReadMapped(reads.mapped);
    ReadBlocking(reads.blocking);
    if (!done) co_await batch.Wait();
  }
  ReadRefused(ring, reads.ring);
  absl::Status status = Finish(reads.all);
  state = co_await asio::this_coro::cancellation_state;
  if (IsCancelled(state)) co_return Cancelled();
  co_return status;
}

}  // namespace poniente
