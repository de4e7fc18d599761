// SPDX-License-Identifier: Apache-2.0
#include "io/uring/uring_tables.h"

#include <sys/uio.h>

#include <algorithm>
#include <new>

#include "io/files/fault_hooks.h"

namespace poniente::internal {
namespace {

constexpr int kFileSlots = 4096;
constexpr int kBufferSlots = 64;

// Returns all slots of a table, the lowest last.
std::vector<int> AllSlots(int count) {
  std::vector<int> slots(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    slots[static_cast<size_t>(i)] = count - 1 - i;
  }
  return slots;
}

bool RegisterFile(io_uring* ring, int slot, int fd) {
  return FaultAt(SystemCall::kRegisterFile) == 0 &&
         io_uring_register_files_update(ring, static_cast<unsigned>(slot), &fd,
                                        1) == 1;
}

// Registers a buffer in a slot; an empty buffer clears the slot.
bool RegisterBuffer(io_uring* ring, int slot, const LiveBuffer& buffer) {
  const iovec memory = {const_cast<std::byte*>(buffer.begin), buffer.bytes};
  const __u64 tag = 0;
  return io_uring_register_buffers_update_tag(ring, static_cast<unsigned>(slot),
                                              &memory, &tag, 1) == 1;
}

}  // namespace

void UringTables::SetUp(io_uring* ring) {
  ring_ = ring;
  if (FaultAt(SystemCall::kRegisterTables) == 0 &&
      io_uring_register_files_sparse(ring, kFileSlots) == 0) {
    free_files_ = AllSlots(kFileSlots);
  }
  if (FaultAt(SystemCall::kRegisterTables) == 0 &&
      io_uring_register_buffers_sparse(ring, kBufferSlots) == 0) {
    free_buffers_ = AllSlots(kBufferSlots);
    buffers_.reserve(free_buffers_.size());
  }
}

int UringTables::FileSlot(const RingFile& file) {
  if (file.id() == last_file_) return last_file_slot_;
  int slot = -1;
  if (const auto found = files_.find(file.id()); found != files_.end()) {
    slot = found->second;
  } else if (!free_files_.empty()) {
    slot = Register(file);
  }
  last_file_ = file.id();
  last_file_slot_ = slot;
  return slot;
}

int UringTables::Register(const RingFile& file) {
  const int slot = free_files_.back();
  try {
    files_[file.id()] = slot;
  } catch (const std::bad_alloc&) {
    return -1;
  }
  if (!RegisterFile(ring_, slot, file.fd())) {
    free_files_.clear();  // later attempts would fail, too
    files_.erase(file.id());
    return -1;
  }
  free_files_.pop_back();
  file.SetInRing();
  return slot;
}

void UringTables::ForgetFile(uint64_t id) {
  const auto found = files_.find(id);
  if (found == files_.end()) return;
  if (last_file_ == id) last_file_ = 0;
  int none = -1;
  // Never fails, because the slot exists.
  (void)io_uring_register_files_update(
      ring_, static_cast<unsigned>(found->second), &none, 1);
  free_files_.push_back(found->second);
  files_.erase(found);
}

int UringTables::BufferSlot(const std::byte* address, size_t bytes) {
  for (const Registered& one : buffers_) {
    const LiveBuffer& buffer = one.buffer;
    if (address >= buffer.begin && address < buffer.begin + buffer.bytes) {
      const size_t left =
          buffer.bytes - static_cast<size_t>(address - buffer.begin);
      return bytes <= left ? one.slot : -1;
    }
  }
  if (free_buffers_.empty()) return -1;
  const LiveBuffer buffer = FindLiveBuffer(address);
  if (buffer.id == 0 || buffer.bytes > max_buffer_bytes_) return -1;
  if (bytes > buffer.bytes - static_cast<size_t>(address - buffer.begin)) {
    return -1;
  }
  return Register(buffer);
}

int UringTables::Register(const LiveBuffer& buffer) {
  const int slot = free_buffers_.back();
  if (FaultAt(SystemCall::kRegisterBuffer) != 0 ||
      !RegisterBuffer(ring_, slot, buffer)) {
    max_buffer_bytes_ = buffer.bytes - 1;
    return -1;
  }
  free_buffers_.pop_back();
  buffers_.push_back({buffer, slot});
  return slot;
}

void UringTables::ForgetBuffer(uint64_t id) {
  const auto found =
      std::find_if(buffers_.begin(), buffers_.end(),
                   [id](const Registered& one) { return one.buffer.id == id; });
  if (found == buffers_.end()) return;
  (void)RegisterBuffer(ring_, found->slot, LiveBuffer{});
  free_buffers_.push_back(found->slot);
  buffers_.erase(found);
  max_buffer_bytes_ = kMaxBufferBytes;
}

}  // namespace poniente::internal
