// SPDX-License-Identifier: Apache-2.0
#include "io/reader_state.h"

#include <sys/uio.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "io/page_cache.h"
#include "io/uring_setup.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Readers of fewer bytes than this learn together: alone they would be read
// through before they know.
constexpr uint64_t kSmallBytes = uint64_t{64} << 20;

// Of all open readers that adapt.
std::atomic<uint64_t> auto_bytes = 0;

const std::shared_ptr<BackendPolicy>& SmallReadersPolicy(bool hits_tell) {
  static const auto* const policies = new std::shared_ptr<BackendPolicy>[2] {
    std::make_shared<BackendPolicy>(false),
        std::make_shared<BackendPolicy>(true)
  };
  return policies[hits_tell ? 1 : 0];
}

// Without them io_uring reads on threads of its own, and what is complete after
// a submission depends on their speed. Asked once per file system.
bool HasNowaitReads(const OpenFile& file) {
  static auto* const mutex = new Mutex;
  static auto* const known = new absl::flat_hash_map<uint64_t, bool>;
  MutexLock lock(mutex);
  const uint64_t device = file.identity().facts[0];
  if (const auto found = known->find(device); found != known->end()) {
    return found->second;
  }
  char byte;
  const iovec into = {&byte, 1};
  const bool has = ::preadv2(file.fd(), &into, 1, 0, RWF_NOWAIT) >= 0 ||
                   (errno != EOPNOTSUPP && errno != ENOSYS);
  (*known)[device] = has;
  return has;
}

// Looked up once a second.
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
  PONIENTE_RETURN_IF_ERROR(ChooseBackend());
  PONIENTE_RETURN_IF_ERROR(OpenFiles(std::move(wanted)));
  direct = std::make_unique<LazilyMade<DirectFile>[]>(files.size());
  mappings = std::make_unique<LazilyMade<Mapping>[]>(files.size());
  if (options.backend == IoBackend::kAuto) Adapt();
  if (backend == IoBackend::kMmap) {
    for (uint32_t file = 0; file < files.size(); ++file) {
      PONIENTE_RETURN_IF_ERROR(EnsureMapped(file));
    }
  }
  if (backend == IoBackend::kDirect) ProbeDirect();
  return absl::OkStatus();
}

// Whether the file system takes it is to be known at once; the descriptors are
// not to be held before they are needed.
void ReaderState::ProbeDirect() {
  if (files.empty()) return;
  const absl::Status opened = DirectFile::Open(files.front()).status();
  if (!opened.ok() && !absl::IsResourceExhausted(opened)) {
    RefuseDirect(std::string(opened.message()));
  }
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

absl::Status ReaderState::OpenFiles(std::vector<ByteFile> wanted) {
  files.reserve(wanted.size());
  bool any_checksums = false;
  for (ByteFile& file : wanted) {
    PONIENTE_ASSIGN_OR_RETURN(OpenFile opened,
                              OpenFile::Open(std::move(file.path)));
    files.push_back(std::move(opened));
    any_checksums |= file.checksums.has_value();
  }
  if (!any_checksums || options.verify == VerifyChecksums::kOff) {
    return absl::OkStatus();
  }
  for (size_t i = 0; i < files.size(); ++i) {
    checksums.emplace_back();
    if (!wanted[i].checksums.has_value()) continue;
    PONIENTE_ASSIGN_OR_RETURN(
        checksums.back(), FileChecksums::Open(*wanted[i].checksums, files[i]));
  }
  return absl::OkStatus();
}

void ReaderState::Adapt() {
  for (const OpenFile& file : files) counted_bytes += file.size();
  auto_bytes.fetch_add(counted_bytes, std::memory_order_relaxed);
  if (!options.may_map) refuses_mapping = true;
  const bool hits_tell = backend == IoBackend::kBuffered &&
                         (files.empty() || HasNowaitReads(files.front()));
  const bool is_small = counted_bytes < kSmallBytes &&
                        !options.cache_bytes.has_value() && options.may_map;
  policy = is_small ? SmallReadersPolicy(hits_tell)
                    : std::make_shared<BackendPolicy>(hits_tell);
  shares_policy = is_small;
}

bool ReaderState::FitsCache() const {
  if (backend == IoBackend::kPread || !policy->WantsDirect()) return true;
  const uint64_t cache = options.cache_bytes.has_value() ? *options.cache_bytes
                                                         : DefaultCacheBytes();
  return auto_bytes.load(std::memory_order_relaxed) <= cache;
}

IoBackend ReaderState::Next() {
  if (policy == nullptr) return backend;
  const IoBackend next = policy->Next();
  return next == IoBackend::kBuffered ? backend : next;
}

IoBackend ReaderState::Now() const {
  IoBackend now = policy ? policy->mode() : backend;
  if (policy && now == IoBackend::kBuffered) now = backend;
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
                               [&] { return Mapping::Map(files[file]); });
}

IoBackend ReaderState::Prepare(IoBackend wanted, uint32_t file) {
  if (wanted == IoBackend::kDirect) {
    if (refuses_direct.load(std::memory_order_relaxed)) {
      return IoBackend::kBuffered;
    }
    const absl::Status opened = direct[file].Ensure(
        &making, [&] { return DirectFile::Open(files[file]); });
    if (opened.ok()) return wanted;
    RefuseDirect(std::string(opened.message()));
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
  if (policy == nullptr) return;
  const bool may_map = !refuses_mapping.load(std::memory_order_relaxed);
  // One that cannot do as others do does not decide for them.
  if (!may_map && shares_policy) return;
  policy->ReportBuffered(reads, hits, FitsCache(), may_map);
}

void ReaderState::ReportMapped(uint64_t reads, uint64_t faults) {
  if (faults == 0) {
    calm_batches.fetch_add(1, std::memory_order_relaxed);
  } else {
    calm_batches.store(0, std::memory_order_relaxed);
  }
  if (policy != nullptr) policy->ReportMapped(reads, faults, FitsCache());
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
