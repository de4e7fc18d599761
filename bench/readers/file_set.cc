// SPDX-License-Identifier: Apache-2.0
#include "bench/readers/file_set.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "bench/measure/require.h"

namespace poniente::bench {

FileSet::FileSet(std::vector<std::string> paths) : paths_(std::move(paths)) {
  for (const std::string& path : paths_) {
    std::error_code error;
    const uint64_t size = std::filesystem::file_size(path, error);
    if (error) Require(absl::NotFoundError(path + ": " + error.message()));
    begins_.push_back((bytes_ + kPageBytes - 1) / kPageBytes * kPageBytes);
    sizes_.push_back(size);
    bytes_ = begins_.back() + size;
  }
}

FileSet::Place FileSet::Find(uint64_t offset) const {
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), offset);
  const auto file = static_cast<uint32_t>(after - begins_.begin() - 1);
  return {file, offset - begins_[file]};
}

}  // namespace poniente::bench
