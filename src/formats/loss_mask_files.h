// SPDX-License-Identifier: Apache-2.0
// Finds and lays out the loss masks of other projects' files.

#ifndef PONIENTE_FORMATS_LOSS_MASK_FILES_H_
#define PONIENTE_FORMATS_LOSS_MASK_FILES_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "formats/core/token_layout.h"
#include "poniente/open_token_source.h"

namespace poniente::internal {

// A dataset of tokens that has a mask by itself, because its project names both
// by one prefix.
struct MaskedPrefix {
  std::string tokens;
  LossMaskFiles mask;
};

// Returns the two datasets that `path` is the prefix of; nullopt unless both
// are there.
std::optional<MaskedPrefix> FindMaskedPrefix(const std::string& path);

// Returns a warning if a mask of a usual name lies beside the first file of the
// tokens.
std::optional<std::string> UnreadMask(const TokenLayout& tokens);

// Opens *options.loss_mask, the mask of the tokens at `path`, and adds it to
// their layout. Errors are those of OpenTokenSource(). REQUIRES:
// options.loss_mask.
absl::Status AddLossMask(const std::string& path,
                         const TokenSourceOptions& options,
                         TokenLayout* tokens);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_LOSS_MASK_FILES_H_
