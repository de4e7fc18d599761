// SPDX-License-Identifier: Apache-2.0
#ifndef PONIENTE_BENCH_MEASURE_MAPPED_ARRAY_H_
#define PONIENTE_BENCH_MEASURE_MAPPED_ARRAY_H_

#include <fcntl.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "bench/measure/require.h"
#include "store/posix_file.h"

namespace poniente::bench {

// The elements of a file from byte `offset` on, mapped, all of them in the page
// tables.
template <class T>
class MappedArray {
 public:
  explicit MappedArray(const std::string& path, uint64_t offset = 0) {
    const internal::OwnedFd fd = Require(internal::OpenFd(path, O_RDONLY));
    bytes_ = std::filesystem::file_size(path);
    mapped_ = mmap(nullptr, bytes_, PROT_READ, MAP_SHARED | MAP_POPULATE,
                   fd.get(), 0);
    Require(mapped_ != MAP_FAILED, "cannot map " + path);
    data_ = reinterpret_cast<const T*>(static_cast<const std::byte*>(mapped_) +
                                       offset);
  }
  ~MappedArray() { munmap(mapped_, bytes_); }
  MappedArray(const MappedArray&) = delete;
  MappedArray& operator=(const MappedArray&) = delete;

  const T* data() const { return data_; }
  T operator[](uint64_t i) const { return data_[i]; }

 private:
  uint64_t bytes_ = 0;
  void* mapped_ = nullptr;
  const T* data_ = nullptr;
};

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_MEASURE_MAPPED_ARRAY_H_
