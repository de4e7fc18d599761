// SPDX-License-Identifier: Apache-2.0
// Files as one range of offsets, so that a window of any of them is a number.

#ifndef PONIENTE_BENCH_READERS_FILE_SET_H_
#define PONIENTE_BENCH_READERS_FILE_SET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace poniente::bench {

inline constexpr uint64_t kPageBytes = 4096;

// The files end to end, each from a page boundary on: as they would lie in one
// mapping.
class FileSet {
 public:
  FileSet() = default;
  // A file that is not there ends the program.
  explicit FileSet(std::vector<std::string> paths);
  // Implicit: one file is a set of files.
  FileSet(const std::string& path) : FileSet(std::vector<std::string>{path}) {}

  struct Place {
    uint32_t file = 0;
    uint64_t offset = 0;
  };
  // The file that holds this offset of the set, and where.
  Place Find(uint64_t offset) const;

  const std::vector<std::string>& paths() const { return paths_; }
  size_t num_files() const { return paths_.size(); }
  const std::string& path(size_t file) const { return paths_[file]; }
  // Where the file lies in the set.
  uint64_t begin(size_t file) const { return begins_[file]; }
  uint64_t file_bytes(size_t file) const { return sizes_[file]; }
  // Of the set, gaps included.
  uint64_t bytes() const { return bytes_; }

 private:
  std::vector<std::string> paths_;
  std::vector<uint64_t> sizes_;
  std::vector<uint64_t> begins_;
  uint64_t bytes_ = 0;
};

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_READERS_FILE_SET_H_
