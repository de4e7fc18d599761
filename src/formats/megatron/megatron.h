// SPDX-License-Identifier: Apache-2.0
// Megatron's .idx and .bin, and Fairseq's: the same magic, version and codes of
// types, but an index without documents.

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

// Whether an index with the magic is Fairseq's: its size alone tells.
bool IsFairseqIndex(const InputBytes& index);

// `ids_path` is the .bin, of `ids_bytes`.
absl::StatusOr<TokenLayout> LayOutMegatron(const InputBytes& index,
                                           const std::string& ids_path,
                                           uint64_t ids_bytes,
                                           const TokenSourceOptions& options);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_MEGATRON_MEGATRON_H_
