// SPDX-License-Identifier: Apache-2.0
// Reads Megatron's .idx and .bin, and Fairseq's. Both have the same magic,
// version and type codes, but Fairseq's index has no documents.

#ifndef PONIENTE_FORMATS_MEGATRON_MEGATRON_H_
#define PONIENTE_FORMATS_MEGATRON_MEGATRON_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "formats/core/input_bytes.h"
#include "formats/core/token_layout.h"
#include "poniente/open_token_source.h"

namespace poniente::internal {

inline constexpr std::string_view kMegatronMagic("MMIDIDX\0\0", 9);

// Returns whether an index with the magic is Fairseq's, which only its size
// shows.
bool IsFairseqIndex(const InputBytes& index);

// Lays out a dataset. `ids_path` is the .bin, of `ids_bytes` bytes.
absl::StatusOr<TokenLayout> LayOutMegatron(const InputBytes& index,
                                           const std::string& ids_path,
                                           uint64_t ids_bytes,
                                           const TokenSourceOptions& options);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_MEGATRON_MEGATRON_H_
