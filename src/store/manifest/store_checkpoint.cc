// SPDX-License-Identifier: Apache-2.0
// A checkpoint consists of little-endian words of 64 bits (a mark with the
// version, the members in the order of the struct, the length of the caller's
// text), the text, and the CRC32C of everything before it in 4 bytes.
#include "store/manifest/store_checkpoint.h"

#include <array>
#include <span>

#include "util/byte_order.h"
#include "util/crc32c.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kMark = 0x34'74'70'6b'63'6e'6f'70;  // "ponckpt4"
constexpr size_t kWords = 16;
constexpr size_t kHeadBytes = kWords * 8;

uint32_t Checksum(std::string_view text) {
  return Crc32c(std::as_bytes(std::span(text)));
}

}  // namespace

std::string EncodeCheckpoint(const StoreCheckpoint& checkpoint) {
  const std::array<uint64_t, kWords> words = {kMark,
                                              checkpoint.generation,
                                              checkpoint.tokens,
                                              checkpoint.documents,
                                              checkpoint.name_bytes,
                                              checkpoint.block_bytes,
                                              checkpoint.block_checksum,
                                              checkpoint.ends_bytes,
                                              checkpoint.name_ends_bytes,
                                              checkpoint.ends_checksum,
                                              checkpoint.name_ends_checksum,
                                              checkpoint.names_checksum,
                                              checkpoint.has_loss_mask,
                                              checkpoint.loss_mask_checksum,
                                              checkpoint.loss_mask_last_byte,
                                              checkpoint.caller.size()};
  std::string text(kHeadBytes, '\0');
  for (size_t i = 0; i < kWords; ++i) StoreLittle(words[i], &text[8 * i]);
  text += checkpoint.caller;
  const uint32_t checksum = Checksum(text);
  text.resize(text.size() + 4);
  StoreLittle(checksum, &text[text.size() - 4]);
  return text;
}

std::optional<StoreCheckpoint> ParseCheckpoint(std::string_view text) {
  if (text.size() < kHeadBytes + 4) return std::nullopt;
  const std::string_view covered = text.substr(0, text.size() - 4);
  if (LoadLittle<uint32_t>(text.data() + covered.size()) != Checksum(covered)) {
    return std::nullopt;
  }
  const auto word = [&](size_t i) {
    return LoadLittle<uint64_t>(text.data() + 8 * i);
  };
  if (word(0) != kMark || word(kWords - 1) != covered.size() - kHeadBytes) {
    return std::nullopt;
  }
  StoreCheckpoint checkpoint;
  checkpoint.generation = word(1);
  checkpoint.tokens = word(2);
  checkpoint.documents = word(3);
  checkpoint.name_bytes = word(4);
  checkpoint.block_bytes = word(5);
  checkpoint.block_checksum = static_cast<uint32_t>(word(6));
  checkpoint.ends_bytes = word(7);
  checkpoint.name_ends_bytes = word(8);
  checkpoint.ends_checksum = static_cast<uint32_t>(word(9));
  checkpoint.name_ends_checksum = static_cast<uint32_t>(word(10));
  checkpoint.names_checksum = static_cast<uint32_t>(word(11));
  checkpoint.has_loss_mask = word(12) != 0;
  checkpoint.loss_mask_checksum = static_cast<uint32_t>(word(13));
  checkpoint.loss_mask_last_byte = static_cast<uint8_t>(word(14));
  checkpoint.caller = covered.substr(kHeadBytes);
  return checkpoint;
}

}  // namespace poniente::internal
