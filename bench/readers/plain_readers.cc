// SPDX-License-Identifier: Apache-2.0
#include "bench/readers/plain_readers.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstring>
#include <latch>
#include <memory>
#include <optional>
#include <utility>

#include "bench/measure/require.h"
#include "poniente/byte_reader.h"
#include "store/posix_file.h"
#include "util/status_macros.h"

namespace poniente::bench {
namespace {

using internal::OwnedFd;

// A file whose read-ahead is off, and room for some batches.
struct Source {
  static absl::StatusOr<Source> Open(const std::string& path, size_t slots) {
    Source source;
    source.path = path;
    PONIENTE_ASSIGN_OR_RETURN(source.fd, internal::OpenFd(path, O_RDONLY));
    posix_fadvise(source.fd.get(), 0, 0, POSIX_FADV_RANDOM);
    PONIENTE_ASSIGN_OR_RETURN(source.slots,
                              ReadBuffer::Allocate(slots * kSlotBytes));
    return source;
  }

  std::span<std::byte> slot(size_t i) const {
    return slots.bytes().subspan(i * kSlotBytes, kSlotBytes);
  }
  void Read(uint64_t offset, std::span<std::byte> into) const {
    Require(internal::ReadAll(fd.get(), path, offset, into));
  }

  std::string path;
  OwnedFd fd;
  ReadBuffer slots;
};

class PreadLoop final : public WindowReader {
 public:
  explicit PreadLoop(Source source) : source_(std::move(source)) {}

  void ReadAll(Batches* batches) override {
    const std::span<std::byte> slot = source_.slot(0);
    for (;;) {
      const auto offsets = batches->Next();
      if (offsets.empty()) return;
      for (size_t i = 0; i < kBatch; ++i) {
        source_.Read(offsets[i], SlotWindow(slot, i));
      }
      batches->Filled(offsets, slot);
    }
  }

 private:
  const Source source_;
};

class PreadPool final : public WindowReader {
 public:
  explicit PreadPool(Source source) : source_(std::move(source)) {}

  void ReadAll(Batches* batches) override {
    std::array<Flight, kInFlight> flights;
    for (bool any = true; any;) {
      any = false;
      for (size_t i = 0; i < kInFlight; ++i) {
        Flight& flight = flights[i];
        if (flight.working) {
          flight.working->wait();
          batches->Filled(flight.offsets, source_.slot(i));
          flight.working.reset();
        }
        flight.offsets = batches->Next();
        if (flight.offsets.empty()) continue;
        Start(&flight, source_.slot(i));
        any = true;
      }
    }
  }

 private:
  static constexpr size_t kThreads = 8;

  struct Flight {
    Batches::Offsets offsets;
    std::atomic<size_t> next = 0;
    std::optional<std::latch> working;
  };

  // Every thread takes windows until there are none.
  void Start(Flight* flight, std::span<std::byte> slot) {
    flight->next = 0;
    flight->working.emplace(kThreads);
    for (size_t thread = 0; thread < kThreads; ++thread) {
      boost::asio::post(threads_, [this, flight, slot] {
        for (size_t i; (i = flight->next++) < kBatch;) {
          source_.Read(flight->offsets[i], SlotWindow(slot, i));
        }
        flight->working->count_down();
      });
    }
  }

  const Source source_;
  boost::asio::thread_pool threads_{kThreads};
};

// The start of a set of files, mapped as one range, all of it in the page
// tables.
class Mapping {
 public:
  static absl::StatusOr<Mapping> Open(const FileSet& files, uint64_t bytes) {
    Mapping mapping;
    void* const range =
        mmap(nullptr, bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) return internal::ErrnoError("memory", "mmap");
    mapping.bytes_ = {static_cast<std::byte*>(range), bytes};
    for (size_t i = 0; i < files.num_files(); ++i) {
      if (files.begin(i) >= bytes) break;
      PONIENTE_RETURN_IF_ERROR(mapping.Map(files, i));
    }
    return mapping;
  }

  Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  ~Mapping() {
    if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
  }

  const std::byte* begin() const { return bytes_.data(); }

 private:
  Mapping() = default;

  absl::Status Map(const FileSet& files, size_t file) {
    const std::string& path = files.path(file);
    PONIENTE_ASSIGN_OR_RETURN(const OwnedFd fd,
                              internal::OpenFd(path, O_RDONLY));
    const uint64_t bytes =
        std::min(files.file_bytes(file), bytes_.size() - files.begin(file));
    void* const mapped =
        mmap(bytes_.data() + files.begin(file), bytes, PROT_READ,
             MAP_SHARED | MAP_POPULATE | MAP_FIXED, fd.get(), 0);
    if (mapped == MAP_FAILED) return internal::ErrnoError(path, "mmap");
    return absl::OkStatus();
  }

  std::span<std::byte> bytes_;
};

class MappingCopy final : public WindowReader {
 public:
  MappingCopy(Mapping mapping, ReadBuffer slots, const SlotLayout& layout)
      : mapping_(std::move(mapping)),
        slots_(std::move(slots)),
        layout_(layout) {}

  void ReadAll(Batches* batches) override {
    for (size_t turn = 0;; turn = (turn + 1) % layout_.slots) {
      const auto offsets = batches->Next();
      if (offsets.empty()) return;
      const std::span<std::byte> slot = slots_.bytes().subspan(
          turn * layout_.slot_bytes(), layout_.slot_bytes());
      for (size_t i = 0; i < offsets.size(); ++i) {
        std::memcpy(SlotWindow(slot, i).data(), mapping_.begin() + offsets[i],
                    kWindowBytes);
      }
      batches->Filled(offsets, slot);
    }
  }

 private:
  const Mapping mapping_;
  const ReadBuffer slots_;
  const SlotLayout layout_;
};

}  // namespace

OpenedReader OpenPreadLoop(const std::string& path) {
  PONIENTE_ASSIGN_OR_RETURN(Source source, Source::Open(path, 1));
  return std::make_unique<PreadLoop>(std::move(source));
}

OpenedReader OpenPreadPool(const std::string& path) {
  PONIENTE_ASSIGN_OR_RETURN(Source source, Source::Open(path, kInFlight));
  return std::make_unique<PreadPool>(std::move(source));
}

OpenedReader OpenMappingCopy(const FileSet& files, uint64_t bytes,
                             const SlotLayout& layout) {
  PONIENTE_ASSIGN_OR_RETURN(Mapping mapping, Mapping::Open(files, bytes));
  PONIENTE_ASSIGN_OR_RETURN(ReadBuffer slots,
                            ReadBuffer::Allocate(layout.bytes()));
  std::memset(slots.bytes().data(), 0, layout.bytes());
  return std::make_unique<MappingCopy>(std::move(mapping), std::move(slots),
                                       layout);
}

}  // namespace poniente::bench
