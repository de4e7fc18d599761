// SPDX-License-Identifier: Apache-2.0
#include "io/reader_state.h"

#include <sys/uio.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <cerrno>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/files/page_cache.h"
#include "io/reader_file.h"
#include "io/uring/uring_setup.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Readers of fewer bytes than this share one policy: each alone would be read
// to its end before its policy had measured enough.
constexpr uint64_t kSmallBytes = uint64_t{64} << 20;

// Bytes of the files of all open auto readers.
std::atomic<uint64_t> auto_bytes = 0;

// Returns the policy of small readers that may count on as much page cache.
std::shared_ptr<BackendPolicy> SmallReadersPolicy(
    bool hits_tell, std::optional<uint64_t> cache_bytes) {
  using Key = std::pair<bool, std::optional<uint64_t>>;
  static auto* const mutex = new Mutex;
  static auto* const policies =
      new std::map<Key, std::shared_ptr<BackendPolicy>>;
  MutexLock lock(mutex);
  std::shared_ptr<BackendPolicy>& policy =
      (*policies)[{hits_tell, cache_bytes}];
  if (policy == nullptr) policy = std::make_shared<BackendPolicy>(hits_tell);
  return policy;
}

// Returns whether the file system supports nowait reads; tests each file system
// once. Without them, io_uring reads on its own threads, and what is complete
// after a submission depends on their speed.
bool HasNowaitReads(const OpenFile& file) {
  static auto* const mutex = new Mutex;
  static auto* const known = new boost::unordered_flat_map<uint64_t, bool>;
  MutexLock lock(mutex);
  const uint64_t device = file.identity().facts[0];
  if (const auto found = known->find(device); found != known->end()) {
    return found->second;
  }
  char byte;
  const iovec into = {&byte, 1};
  const FileDescriptor fd(file);
  const bool has = ::preadv2(fd.get(), &into, 1, 0, RWF_NOWAIT) >= 0 ||
                   (errno != EOPNOTSUPP && errno != ENOSYS);
  (*known)[device] = has;
  return has;
}

// Returns half of the available memory, which is looked up once a second.
uint64_t DefaultCacheBytes() {
  using Clock = std::chrono::steady_clock;
  static std::atomic<uint64_t> bytes = 0;
  static std::atomic<int64_t> until = 0;
  const int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                          Clock::now().time_since_epoch())
                          .count();
  if (until.exchange(now + 1, std::memory_order_relaxed) <= now ||
      bytes.load(std::memory_order_relaxed) == 0) {
    bytes.store(AvailableMemoryBytes() / 2, std::memory_order_relaxed);
  }
  return bytes.load(std::memory_order_relaxed);
}

absl::Status NeedsUring(IoBackend wanted, const absl::Status& why) {
  const char* const remedy =
      absl::IsResourceExhausted(why)
          ? "; raise the limits (ulimit -n, ulimit -l), or choose 'auto' or "
            "'pread'"
          : "; allow io_uring (seccomp profile of the container, sysctl "
            "kernel.io_uring_disabled) or choose 'auto' or 'pread'";
  return absl::UnavailableError(
      absl::StrCat("io backend '", Absl(IoBackendName(wanted)),
                   "' asked for, but ", why.message(), remedy));
}

}  // namespace

const OpenFile& FileOfReader(const ByteReader& reader, uint32_t file) {
  return ReaderAccess::State(reader).opened(file);
}

BackendCounters AtomicBackendCounters::Load() const {
  BackendCounters now;
  now.requests = requests.load(std::memory_order_relaxed);
  now.bytes_asked = bytes_asked.load(std::memory_order_relaxed);
  now.reads = reads.load(std::memory_order_relaxed);
  now.merged_requests = merged_requests.load(std::memory_order_relaxed);
  now.bytes_read = bytes_read.load(std::memory_order_relaxed);
  now.submissions = submissions.load(std::memory_order_relaxed);
  now.hits_at_submit = hits_at_submit.load(std::memory_order_relaxed);
  now.retries = retries.load(std::memory_order_relaxed);
  now.wait_nanoseconds = wait_nanoseconds.load(std::memory_order_relaxed);
  return now;
}

AtomicBackendCounters& ReaderState::CountersOf(IoBackend of) {
  return counters[static_cast<int>(of) -
                  static_cast<int>(IoBackend::kBuffered)];
}

ReaderState::~ReaderState() {
  auto_bytes.fetch_sub(counted_bytes, std::memory_order_relaxed);
}

absl::Status ReaderState::Open(std::vector<ByteFile> wanted,
                               const ByteReaderOptions& reader_options) {
  options = reader_options;
  num_files = wanted.size();
  PONIENTE_RETURN_IF_ERROR(ChooseBackend());
  files = std::make_unique<LazilyMade<OpenFile>[]>(num_files);
  direct = std::make_unique<LazilyMade<DirectFile>[]>(num_files);
  mappings = std::make_unique<LazilyMade<Mapping>[]>(num_files);
  bool any_checksums = false;
  bool any_later = false;
  for (const ByteFile& file : wanted) {
    any_checksums |= file.checksums.has_value();
    any_later |= file.expected.has_value();
  }
  if (any_checksums && options.verify != VerifyChecksums::kOff) {
    checksums.resize(num_files);
  }
  MutexLock lock(&making);
  const OpenFile* first = nullptr;
  for (uint32_t file = 0; file < num_files; ++file) {
    if (wanted[file].expected.has_value()) continue;
    PONIENTE_ASSIGN_OR_RETURN(OpenFile opened, OpenNow(file, wanted[file]));
    files[file].Set(std::move(opened));
    if (first == nullptr) first = files[file].get();
  }
  if (any_later) later = std::move(wanted);
  if (options.backend == IoBackend::kAuto) Adapt();
  if (first != nullptr || num_files == 0) LookAround(first);
  return absl::OkStatus();
}

absl::Status ReaderState::OpenLater(uint32_t file) {
  return files[file].Ensure(
      &making, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {  // Ensure() holds it
        absl::StatusOr<OpenFile> opened = OpenNow(file, later[file]);
        if (opened.ok()) LookAround(&*opened);
        return opened;
      });
}

absl::StatusOr<OpenFile> ReaderState::OpenNow(uint32_t file,
                                              const ByteFile& wanted) {
  // A backend that was chosen by name and uses a ring needs descriptors.
  // Opening then fails at the limit.
  const bool needs_descriptor = options.backend == IoBackend::kDirect ||
                                options.backend == IoBackend::kBuffered;
  const auto keep =
      needs_descriptor ? KeepDescriptor::kAlways : KeepDescriptor::kIfEnough;
  PONIENTE_ASSIGN_OR_RETURN(
      OpenFile opened,
      wanted.expected.has_value()
          ? OpenFile::OpenExpected(wanted.path, *wanted.expected, keep)
          : OpenFile::Open(wanted.path, keep));
  if (!checksums.empty() && wanted.checksums.has_value()) {
    PONIENTE_ASSIGN_OR_RETURN(checksums[file],
                              FileChecksums::Open(*wanted.checksums, opened));
  }
  if (backend == IoBackend::kMmap) {
    PONIENTE_ASSIGN_OR_RETURN(Mapping mapping, Mapping::Map(opened));
    mappings[file].Set(std::move(mapping));
  } else if (!opened.has_descriptor() && options.may_map &&
             backend == IoBackend::kBuffered) {
    // A mapping needs no descriptor. Without it, each read opens the file
    // again.
    absl::StatusOr<Mapping> mapping = Mapping::Map(opened);
    if (mapping.ok()) mappings[file].Set(*std::move(mapping));
  }
  return opened;
}

void ReaderState::LookAround(const OpenFile* first) {
  if (std::exchange(has_looked_around_, true)) return;
  if (options.backend == IoBackend::kDirect && first != nullptr) {
    // Tests at once whether the file system supports direct reads, but keeps no
    // descriptor before it is needed.
    const absl::Status direct_works = DirectFile::Open(*first).status();
    if (!direct_works.ok() && !absl::IsResourceExhausted(direct_works)) {
      RefuseDirect(std::string(direct_works.message()));
    }
  }
  hits_tell = backend != IoBackend::kMmap && backend != IoBackend::kPread &&
              (first == nullptr || HasNowaitReads(*first));
  if (options.backend != IoBackend::kAuto) return;
  owned_policy_ = shares_policy
                      ? SmallReadersPolicy(hits_tell, options.cache_bytes)
                      : std::make_shared<BackendPolicy>(hits_tell);
  // Release: policy() reads it without the lock.
  policy_.store(owned_policy_.get(), std::memory_order_release);
}

absl::Status ReaderState::ChooseBackend() {
  backend = options.backend;
  if (backend == IoBackend::kMmap || backend == IoBackend::kPread) {
    return absl::OkStatus();
  }
  const absl::Status works = ProbeUring();
  if (options.backend == IoBackend::kAuto) {
    backend = works.ok() ? IoBackend::kBuffered : IoBackend::kPread;
    if (works.ok()) return absl::OkStatus();
    SetFallback(IoBackend::kBuffered, backend, std::string(works.message()));
    return absl::OkStatus();
  }
  return works.ok() ? absl::OkStatus() : NeedsUring(options.backend, works);
}

void ReaderState::Adapt() {
  for (uint32_t file = 0; file < num_files; ++file) {
    counted_bytes += size(file);
  }
  auto_bytes.fetch_add(counted_bytes, std::memory_order_relaxed);
  if (!options.may_map) refuses_mapping = true;
  shares_policy = counted_bytes < kSmallBytes && options.may_map;
}

bool ReaderState::FitsCache() const {
  if (backend == IoBackend::kPread || !policy()->WantsDirect()) return true;
  const uint64_t cache = options.cache_bytes.has_value() ? *options.cache_bytes
                                                         : DefaultCacheBytes();
  return auto_bytes.load(std::memory_order_relaxed) <= cache;
}

IoBackend ReaderState::Next() {
  BackendPolicy* const adaptive = policy();
  if (adaptive == nullptr) return backend;
  const IoBackend next = adaptive->Next();
  return next == IoBackend::kBuffered ? backend : next;
}

IoBackend ReaderState::Now() const {
  const BackendPolicy* const adaptive = policy();
  IoBackend now = adaptive != nullptr ? adaptive->mode() : backend;
  if (adaptive != nullptr && now == IoBackend::kBuffered) now = backend;
  if (now == IoBackend::kDirect &&
      refuses_direct.load(std::memory_order_relaxed)) {
    return IoBackend::kBuffered;
  }
  if (now == IoBackend::kMmap &&
      refuses_mapping.load(std::memory_order_relaxed)) {
    return backend;
  }
  return now;
}

absl::Status ReaderState::EnsureMapped(uint32_t file) {
  return mappings[file].Ensure(&making,
                               [&] { return Mapping::Map(opened(file)); });
}

IoBackend ReaderState::Prepare(IoBackend wanted, uint32_t file) {
  if (!opened(file).has_descriptor()) {
    return mappings[file].get() != nullptr ? IoBackend::kMmap
                                           : IoBackend::kPread;
  }
  if (wanted == IoBackend::kDirect) {
    if (refuses_direct.load(std::memory_order_relaxed)) {
      return IoBackend::kBuffered;
    }
    const absl::Status made = direct[file].Ensure(
        &making, [&] { return DirectFile::Open(opened(file)); });
    if (made.ok()) return wanted;
    RefuseDirect(std::string(made.message()));
    return IoBackend::kBuffered;
  }
  if (wanted == IoBackend::kMmap && mappings[file].get() == nullptr) {
    if (refuses_mapping.load(std::memory_order_relaxed)) return backend;
    const absl::Status mapped = EnsureMapped(file);
    if (mapped.ok()) return wanted;
    refuses_mapping.store(true, std::memory_order_relaxed);
    SetFallback(wanted, backend, std::string(mapped.message()));
    return backend;
  }
  return wanted;
}

void ReaderState::ReportBuffered(uint64_t reads, uint64_t hits) {
  BackendPolicy* const adaptive = policy();
  if (adaptive == nullptr) return;
  const bool may_map = !refuses_mapping.load(std::memory_order_relaxed);
  // A reader that cannot map files does not influence the shared policy.
  if (!may_map && shares_policy) return;
  adaptive->ReportBuffered(reads, hits, FitsCache(), may_map);
}

void ReaderState::ReportMapped(uint64_t reads, uint64_t faults) {
  const int calm = calm_batches.load(std::memory_order_relaxed);
  if (faults > 0) {
    calm_batches.store(0, std::memory_order_relaxed);
  } else if (calm < kCalmBatches) {  // else not written: threads share the line
    calm_batches.store(calm + 1, std::memory_order_relaxed);
  }
  BackendPolicy* const adaptive = policy();
  if (adaptive != nullptr) adaptive->ReportMapped(reads, faults, FitsCache());
}

void ReaderState::RefuseDirect(std::string_view why) {
  refuses_direct.store(true, std::memory_order_relaxed);
  SetFallback(IoBackend::kDirect, IoBackend::kBuffered, why);
}

void ReaderState::SetFallback(IoBackend from, IoBackend to,
                              std::string_view why) {
  if (!fallback_reason.get().empty()) return;
  fallback_reason.Set(absl::StrCat(Absl(IoBackendName(from)), " -> ",
                                   Absl(IoBackendName(to)), ": ", Absl(why)));
}

}  // namespace poniente::internal
