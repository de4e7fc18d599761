// SPDX-License-Identifier: Apache-2.0
// Text as documents of ids: its bytes, or what a model makes of it.

#ifndef PONIENTE_PACK_PACK_TEXT_H_
#define PONIENTE_PACK_PACK_TEXT_H_

#include <atomic>
#include <memory>

#include "pack/pack_input.h"
#include "pack/pack_sentence_piece.h"
#include "pack/text_inputs.h"
#include "pack/text_splitter.h"

namespace poniente::internal {

// `model` is null for bytes. It takes a document at a time, so that with one
// each input is a single unit. `stop` ends the wait for a stream.
std::unique_ptr<PackInput> OpenTextInput(
    const TextInput& input, const SplitRule& rule,
    std::shared_ptr<const SentencePiece> model, const std::atomic<bool>* stop);

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_PACK_TEXT_H_
