// SPDX-License-Identifier: Apache-2.0
// Reads the .idx and .bin of Fairseq's lazy and cached datasets, and of
// versions of Megatron and GPT-NeoX that did not yet map files.

#ifndef PONIENTE_FORMATS_MEGATRON_TNTIDX_H_
#define PONIENTE_FORMATS_MEGATRON_TNTIDX_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "formats/core/input_bytes.h"
#include "formats/core/token_layout.h"
#include "poniente/open_token_source.h"

namespace poniente::internal {

inline constexpr std::string_view kTntidxMagic("TNTIDX\0\0", 8);

// Lays out a dataset. `ids_path` is the .bin, of `ids_bytes` bytes. Only
// Megatron's index lists documents, and only Fairseq's ids are stored plus 1;
// the size of the index shows which it is.
absl::StatusOr<TokenLayout> LayOutTntidx(const InputBytes& index,
                                         const std::string& ids_path,
                                         uint64_t ids_bytes,
                                         const TokenSourceOptions& options);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_MEGATRON_TNTIDX_H_
