// SPDX-License-Identifier: Apache-2.0
// What is tokenized already: token stores and the files of other projects.

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

// Each path as one input, with its source. Documents that only an id separates
// are looked for.
absl::StatusOr<std::vector<TextInput>> OpenTokenInputs(
    const std::vector<std::string>& paths, const TokenSourceOptions& options);

// What a part packs: whole documents, about the same
// bytes for each; all parts together, in their order, are the inputs.
absl::StatusOr<std::vector<TextInput>> TokenInputsOfPart(
    const std::vector<TextInput>& inputs, const PackPart& part);

// Its documents, with the names they have, else numbered; where they are not
// known, each shard is one. Ids are taken as they are; one that is not below
// `vocabulary_size` is InvalidArgument. REQUIRES: input.source.
std::unique_ptr<PackInput> OpenTokenInput(const TextInput& input,
                                          uint64_t vocabulary_size);

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_PACK_TOKEN_FILES_H_
