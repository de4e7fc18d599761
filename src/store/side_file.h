// SPDX-License-Identifier: Apache-2.0
// A file beside the tokens of a store, for small reads that block.

#ifndef PONIENTE_STORE_SIDE_FILE_H_
#define PONIENTE_STORE_SIDE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/open_file.h"

namespace poniente::internal {

// Kept in memory and closed if it is small, so that thousands of small stores
// can be open at once; else kept open.
//
// Thread safety: any number of threads.
class SideFile {
 public:
  // A file of up to so many bytes is kept in memory.
  static constexpr uint64_t kMostKeptBytes = 16384;

  static absl::StatusOr<SideFile> Open(std::string path);

  const std::string& path() const { return path_; }
  // Bytes when opened.
  uint64_t size() const { return size_; }

  // Fills `into` from `offset`; DataLoss if the file ends before.
  absl::Status ReadAt(uint64_t offset, std::span<std::byte> into) const;

 private:
  explicit SideFile(const OpenFile& file)
      : path_(file.path()), size_(file.size()) {}

  std::string path_;
  uint64_t size_;
  // One of the two. What is kept leaves out the zeros at the file's end, which
  // are most of a small store's.
  std::vector<std::byte> kept_;
  std::optional<OpenFile> open_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_SIDE_FILE_H_
