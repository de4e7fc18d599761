// SPDX-License-Identifier: Apache-2.0
// Inputs that are already tokenized: token stores and the files of other
// projects.

#ifndef PONIENTE_PACK_PACK_TOKEN_FILES_H_
#define PONIENTE_PACK_PACK_TOKEN_FILES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pack/pack_input.h"
#include "pack/pack_parts.h"
#include "pack/text_inputs.h"
#include "poniente/open_token_source.h"

namespace poniente::internal {

// Opens each path as one input, with its source. Finds documents that are
// separated only by an id.
absl::StatusOr<std::vector<TextInput>> OpenTokenInputs(
    const std::vector<std::string>& paths, const TokenSourceOptions& options);

// Returns the inputs of a part, which consist of whole documents. All parts
// have about the same number of bytes; in order, they have all documents of the
// inputs.
absl::StatusOr<std::vector<TextInput>> TokenInputsOfPart(
    const std::vector<TextInput>& inputs, const PackPart& part);

// Opens an input of documents, which are numbered if they have no names. If the
// source does not know its documents, each shard is one. Ids are not changed;
// an id that is not below `vocabulary_size` is an InvalidArgument error. The
// loss mask of the source is kept if `keeps_loss_mask`.
// REQUIRES: input.source.
std::unique_ptr<PackInput> OpenTokenInput(const TextInput& input,
                                          uint64_t vocabulary_size,
                                          bool keeps_loss_mask = true);

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_PACK_TOKEN_FILES_H_
