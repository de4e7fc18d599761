// SPDX-License-Identifier: Apache-2.0
// Bits of a loss mask that grow at their end, in memory.

#ifndef PONIENTE_STORE_WRITE_LOSS_BITS_H_
#define PONIENTE_STORE_WRITE_LOSS_BITS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace poniente::internal {

// One bit per token, 1 if it has loss: bit i % 8 of byte i / 8 for token i.
class LossBits {
 public:
  uint64_t size() const { return size_; }
  // Returns the last bit. REQUIRES: size() > 0.
  bool back() const { return ((bytes_.back() >> ((size_ - 1) % 8)) & 1) != 0; }
  // Returns the bytes; unused bits of the last one are 0.
  std::span<const uint8_t> bytes() const { return bytes_; }

  // Appends `count` bits of the same value.
  void Append(uint64_t count, bool has_loss);
  // Appends a bit for each byte: 0 if the byte is 0, else 1.
  void Append(std::span<const uint8_t> has_loss);
  // Appends ones until there are `size` bits. REQUIRES: there are not more.
  void FillTo(uint64_t size) { Append(size - size_, true); }
  void Clear();

 private:
  std::vector<uint8_t> bytes_;
  uint64_t size_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_WRITE_LOSS_BITS_H_
