// SPDX-License-Identifier: Apache-2.0
// The files and buffers that one ring has registered with the kernel, which
// saves a look-up and a pinning of pages in every read.

#ifndef PONIENTE_IO_URING_URING_TABLES_H_
#define PONIENTE_IO_URING_URING_TABLES_H_

#include <liburing.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/files/ring_file.h"
#include "io/read_buffer.h"

namespace poniente::internal {

// Registers files and buffers at their first use, while there is room and the
// limits allow it. Others are used unregistered. Both tables are sparse, so
// that an update does not wait for reads.
//
// Thread safety: under its ring's lock.
class UringTables {
 public:
  // Creates the tables. If the kernel does not support them (before 5.19), all
  // look-ups return -1.
  void SetUp(io_uring* ring);

  // Return the slot of a file, or of the buffer that contains the memory, and
  // register it if possible; -1 if it is not registered.
  int FileSlot(const RingFile& file);
  int BufferSlot(const std::byte* address, size_t bytes);

  void ForgetFile(uint64_t id);
  void ForgetBuffer(uint64_t id);

 private:
  struct Registered {
    LiveBuffer buffer;
    int slot = -1;
  };

  int Register(const RingFile& file);
  int Register(const LiveBuffer& buffer);

  io_uring* ring_ = nullptr;
  boost::unordered_flat_map<uint64_t, int> files_;
  std::vector<int> free_files_;
  uint64_t last_file_ = 0;  // the one looked up last, and its slot
  int last_file_slot_ = -1;
  std::vector<Registered> buffers_;
  std::vector<int> free_buffers_;
  static constexpr size_t kMaxBufferBytes = size_t{1} << 30;  // the kernel's
  // Largest buffer to try to register: less than the last one that was refused.
  // Reset when a buffer is released.
  size_t max_buffer_bytes_ = kMaxBufferBytes;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_URING_URING_TABLES_H_
