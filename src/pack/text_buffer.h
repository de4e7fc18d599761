// SPDX-License-Identifier: Apache-2.0
// Bytes of an input in memory.

#ifndef PONIENTE_PACK_TEXT_BUFFER_H_
#define PONIENTE_PACK_TEXT_BUFFER_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace poniente::internal {

// A growing sequence of bytes. Unlike std::string, it does not set new memory
// to zero before a read or a decompressor fills it, and bytes can be put before
// the others.
//
// Thread safety: one thread at a time.
class TextBuffer {
 public:
  TextBuffer() = default;
  // Allocates memory for `front` bytes to prepend, and for `bytes` others.
  TextBuffer(size_t front, size_t bytes)
      : memory_(std::make_unique_for_overwrite<char[]>(front + bytes)),
        room_(front + bytes),
        begin_(front) {}
  TextBuffer(TextBuffer&& other) noexcept { *this = std::move(other); }
  TextBuffer& operator=(TextBuffer&& other) noexcept {
    memory_ = std::move(other.memory_);
    room_ = std::exchange(other.room_, 0);
    begin_ = std::exchange(other.begin_, 0);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::string_view view() const { return {memory_.get() + begin_, size_}; }

  // Appends `bytes` bytes of any values. Returns where they begin.
  char* Extend(size_t bytes) {
    if (bytes > room_ - begin_ - size_) MakeRoom(size_ + bytes);
    char* const end = memory_.get() + begin_ + size_;
    size_ += bytes;
    return end;
  }
  void Append(std::string_view bytes) {
    if (bytes.empty()) return;
    std::memcpy(Extend(bytes.size()), bytes.data(), bytes.size());
  }
  // Puts `bytes` before the others. Returns false, and changes nothing, if
  // there is not as much memory before them.
  bool Prepend(std::string_view bytes) {
    if (bytes.size() > begin_) return false;
    if (bytes.empty()) return true;
    begin_ -= bytes.size();
    size_ += bytes.size();
    std::memcpy(memory_.get() + begin_, bytes.data(), bytes.size());
    return true;
  }
  // Keeps the first `bytes` bytes only. REQUIRES: bytes <= size().
  void Truncate(size_t bytes) { size_ = bytes; }
  // Drops the first `bytes` bytes. REQUIRES: bytes <= size().
  void RemovePrefix(size_t bytes) {
    begin_ += bytes;
    size_ -= bytes;
  }

 private:
  // Makes room for `bytes` bytes, from the beginning of the memory on.
  void MakeRoom(size_t bytes) {
    std::unique_ptr<char[]> old;
    const char* const from = memory_.get() + begin_;
    if (bytes > room_) {
      const size_t room = std::max(bytes, 2 * room_);
      old =
          std::exchange(memory_, std::make_unique_for_overwrite<char[]>(room));
      room_ = room;
    }
    if (size_ != 0) std::memmove(memory_.get(), from, size_);
    begin_ = 0;
  }

  std::unique_ptr<char[]> memory_;
  size_t room_ = 0;  // of memory_
  size_t begin_ = 0;
  size_t size_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_TEXT_BUFFER_H_
