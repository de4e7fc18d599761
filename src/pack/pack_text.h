// SPDX-License-Identifier: Apache-2.0
// Inputs of text: converts documents to ids, which are bytes or come from a
// model.

#ifndef PONIENTE_PACK_PACK_TEXT_H_
#define PONIENTE_PACK_PACK_TEXT_H_

#include <atomic>
#include <memory>

#include "pack/pack_input.h"
#include "pack/pack_sentence_piece.h"
#include "pack/text_inputs.h"
#include "pack/text_splitter.h"

namespace poniente::internal {

// Opens text. If `model` is null, ids are bytes. A model takes one whole
// document at a time, so each input is then one unit. Setting `stop` ends the
// wait for a stream.
std::unique_ptr<PackInput> OpenTextInput(
    const TextInput& input, const SplitRule& rule,
    std::shared_ptr<const SentencePiece> model, const std::atomic<bool>* stop);

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_PACK_TEXT_H_
