// SPDX-License-Identifier: Apache-2.0
// A checkpoint of an unfinished store, from which another process can continue.
// Encodes and decodes it, without I/O.

#ifndef PONIENTE_STORE_MANIFEST_STORE_CHECKPOINT_H_
#define PONIENTE_STORE_MANIFEST_STORE_CHECKPOINT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace poniente::internal {

// A checkpoint has a few hundred bytes, and the data of its caller.
inline constexpr uint64_t kMaxCheckpointBytes = uint64_t{1} << 20;

// How far the files of an unfinished store are valid.
struct StoreCheckpoint {
  uint64_t generation = 0;
  uint64_t tokens = 0;
  uint64_t documents = 0;
  uint64_t name_bytes = 0;
  // Bytes of the store under one checksum. The checksums file has the checksums
  // of whole blocks only.
  uint64_t block_bytes = 0;
  // Checksum of the incomplete last block of tokens.
  uint32_t block_checksum = 0;
  // Sizes of the two scratch files of ends. The size of the scratch file of
  // names is name_bytes.
  uint64_t ends_bytes = 0;
  uint64_t name_ends_bytes = 0;
  // Checksums of these files and of the file of names.
  uint32_t ends_checksum = 0;
  uint32_t name_ends_checksum = 0;
  uint32_t names_checksum = 0;
  // Whether there is a loss mask. It has a bit for each of `tokens`; its file
  // has the whole bytes, of which this is the checksum, and the byte that is
  // begun stands here.
  bool has_loss_mask = false;
  uint32_t loss_mask_checksum = 0;
  uint8_t loss_mask_last_byte = 0;
  // Data of the writer's caller.
  std::string caller;

  friend bool operator==(const StoreCheckpoint&,
                         const StoreCheckpoint&) = default;
};

std::string EncodeCheckpoint(const StoreCheckpoint& checkpoint);

// Parses a text of EncodeCheckpoint(). Returns nullopt for any other text; then
// there is nothing to continue.
std::optional<StoreCheckpoint> ParseCheckpoint(std::string_view text);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_MANIFEST_STORE_CHECKPOINT_H_
