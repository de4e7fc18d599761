// SPDX-License-Identifier: Apache-2.0
// How far the files of an unfinished store are valid, for a process that
// continues them: encodes and decodes, no I/O.

#ifndef PONIENTE_STORE_WRITE_STORE_CHECKPOINT_H_
#define PONIENTE_STORE_WRITE_STORE_CHECKPOINT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace poniente::internal {

struct StoreCheckpoint {
  uint64_t generation = 0;
  uint64_t tokens = 0;
  uint64_t documents = 0;
  uint64_t name_bytes = 0;
  // Bytes of the store under one checksum. The checksums file holds those of
  // whole blocks.
  uint64_t block_bytes = 0;
  // Checksum of the block of tokens that has begun.
  uint32_t block_checksum = 0;
  // Bytes of the scratch files of ends; those of the scratch file of names
  // follow from the counts.
  uint64_t ends_bytes = 0;
  uint64_t name_ends_bytes = 0;
  // Checksums of these files and of the file of names.
  uint32_t ends_checksum = 0;
  uint32_t name_ends_checksum = 0;
  uint32_t names_checksum = 0;
  // What the writer's caller wants to remember.
  std::string caller;

  friend bool operator==(const StoreCheckpoint&,
                         const StoreCheckpoint&) = default;
};

std::string EncodeCheckpoint(const StoreCheckpoint& checkpoint);

// Parses a text of EncodeCheckpoint(); nullopt for any other text, which leaves
// nothing to continue.
std::optional<StoreCheckpoint> ParseCheckpoint(std::string_view text);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_WRITE_STORE_CHECKPOINT_H_
