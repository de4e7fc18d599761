// SPDX-License-Identifier: Apache-2.0
#include "bench/readers/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include "bench/measure/require.h"
#include "bench/readers/plain_readers.h"
#include "bench/readers/windows.h"
#include "store/posix_file.h"

namespace poniente::bench {
namespace {

internal::OwnedFd OpenToRead(const std::string& path) {
  return Require(internal::OpenFd(path, O_RDONLY));
}

// Appends one for each page of the file; the lowest bit tells.
void AppendCachedPages(const std::string& path,
                       std::vector<unsigned char>* pages) {
  const internal::OwnedFd fd = OpenToRead(path);
  struct stat facts;
  if (fstat(fd.get(), &facts) != 0) {
    Require(internal::ErrnoError(path, "fstat"));
  }
  const auto bytes = static_cast<size_t>(facts.st_size);
  void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (mapped == MAP_FAILED) Require(internal::ErrnoError(path, "mmap"));
  const size_t before = pages->size();
  pages->resize(before + (bytes + kPageBytes - 1) / kPageBytes);
  if (mincore(mapped, bytes, pages->data() + before) != 0) {
    Require(internal::ErrnoError(path, "mincore"));
  }
  munmap(mapped, bytes);
}

}  // namespace

void Evict(const std::string& path) {
  const internal::OwnedFd fd = OpenToRead(path);
  Require(absl::ErrnoToStatus(
      posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED), "fadvise"));
}

void Load(const std::string& path, uint64_t bytes) {
  const internal::OwnedFd fd = OpenToRead(path);
  std::vector<std::byte> chunk(size_t{1} << 20);
  for (uint64_t at = 0; at < bytes; at += chunk.size()) {
    const size_t part = std::min<uint64_t>(chunk.size(), bytes - at);
    Require(internal::ReadAll(fd.get(), path, at, {chunk.data(), part}));
  }
}

void LoadWindows(const std::string& path, std::vector<uint64_t> offsets) {
  offsets.resize(offsets.size() / kBatch * kBatch);
  const auto pool = Require(OpenPreadPool(path));
  Batches batches(offsets, std::chrono::hours(1));
  pool->ReadAll(&batches);
}

double CachedShare(const FileSet& files, std::span<const uint64_t> offsets) {
  std::vector<unsigned char> pages;
  for (const std::string& path : files.paths()) {
    AppendCachedPages(path, &pages);
  }
  constexpr uint64_t kPages = kWindowBytes / kPageBytes;
  uint64_t cached = 0;
  for (const uint64_t offset : offsets) {
    const auto first =
        pages.begin() + static_cast<ptrdiff_t>(offset / kPageBytes);
    cached += std::count_if(first, first + kPages,
                            [](auto page) { return page & 1; });
  }
  return static_cast<double>(cached) /
         static_cast<double>(kPages * offsets.size());
}

uint64_t AvailableMemory() {
  std::ifstream facts("/proc/meminfo");
  std::string name;
  uint64_t kib = 0;
  while (facts >> name >> kib) {
    if (name == "MemAvailable:") return kib << 10;
    facts.ignore(80, '\n');
  }
  Require(absl::NotFoundError("/proc/meminfo does not tell MemAvailable"));
  return 0;
}

}  // namespace poniente::bench
