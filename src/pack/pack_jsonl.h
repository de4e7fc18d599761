// SPDX-License-Identifier: Apache-2.0
// Inputs of JSONL: each line has a document, in a field of an object.

#ifndef PONIENTE_PACK_PACK_JSONL_H_
#define PONIENTE_PACK_PACK_JSONL_H_

#include <atomic>
#include <memory>

#include "pack/json_line.h"
#include "pack/pack_input.h"
#include "pack/pack_sentence_piece.h"
#include "pack/text_inputs.h"

namespace poniente::internal {

// Opens JSONL. Each line that is not blank is a document, which may be empty.
// Keeps one whole line in memory. If `model` is null, ids are the bytes of the
// text. Setting `stop` ends the wait for a stream.
std::unique_ptr<PackInput> OpenJsonlInput(
    const TextInput& input, const JsonField& field,
    std::shared_ptr<const SentencePiece> model, const std::atomic<bool>* stop);

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_PACK_JSONL_H_
