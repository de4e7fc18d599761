// SPDX-License-Identifier: Apache-2.0
// How far the files of an unfinished store are good, for a process that goes on
// with them: encode and decode, no I/O.

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
  // Of the store; its checksums file holds those of whole blocks.
  uint64_t block_bytes = 0;
  // Of the block of tokens that has begun.
  uint32_t block_checksum = 0;
  // Of the scratch files; what lies in that of the names follows.
  uint64_t ends_bytes = 0;
  uint64_t name_ends_bytes = 0;
  // Theirs, and that of the names.
  uint32_t ends_checksum = 0;
  uint32_t name_ends_checksum = 0;
  uint32_t names_checksum = 0;
  // What the one who writes the store remembers.
  std::string caller;

  friend bool operator==(const StoreCheckpoint&,
                         const StoreCheckpoint&) = default;
};

std::string EncodeCheckpoint(const StoreCheckpoint& checkpoint);

// nullopt for anything but what EncodeCheckpoint() wrote: there is nothing to
// go on with then.
std::optional<StoreCheckpoint> ParseCheckpoint(std::string_view text);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_WRITE_STORE_CHECKPOINT_H_
