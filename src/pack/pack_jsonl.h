// SPDX-License-Identifier: Apache-2.0
// JSONL: each line is a document, as a field of an object.

#ifndef PONIENTE_PACK_PACK_JSONL_H_
#define PONIENTE_PACK_PACK_JSONL_H_

#include <atomic>
#include <memory>

#include "pack/json_line.h"
#include "pack/pack_input.h"
#include "pack/pack_sentence_piece.h"
#include "pack/text_inputs.h"

namespace poniente::internal {

// Opens JSONL. Each line that is not blank is a document, possibly an empty
// one; a whole line is kept in memory. `model` is null for the bytes of the
// text. `stop` ends the wait for a stream.
std::unique_ptr<PackInput> OpenJsonlInput(
    const TextInput& input, const JsonField& field,
    std::shared_ptr<const SentencePiece> model, const std::atomic<bool>* stop);

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_PACK_JSONL_H_
