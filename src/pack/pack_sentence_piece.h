// SPDX-License-Identifier: Apache-2.0
// A SentencePiece model, if the build has found the library.
//
// Uses only types of std: the library's header declares an absl::string_view
// that is not Abseil's.

#ifndef PONIENTE_PACK_PACK_SENTENCE_PIECE_H_
#define PONIENTE_PACK_PACK_SENTENCE_PIECE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pack/loss_spans.h"

namespace poniente::internal {

// A model. Thread safety: immutable once loaded.
class SentencePiece {
 public:
  // Loads the model whose file contains the bytes `model`. Returns null, with
  // the reason in `error`, if they are not a model or the build has no
  // SentencePiece.
  static std::shared_ptr<const SentencePiece> Load(std::string_view model,
                                                   std::string* error);
  virtual ~SentencePiece() = default;

  // Returns the library with the version that the build has found:
  // "sentencepiece 0.1.97".
  static std::string Library();

  virtual uint32_t vocabulary_size() const = 0;
  virtual int end_of_sentence() const = 0;  // below 0 if the model has none
  // Sets `ids` to the ids of the text. On failure, returns false and sets
  // `error` to the reason.
  virtual bool Encode(std::string_view text, std::vector<uint32_t>* ids,
                      std::string* error) const = 0;
  // Does the same, and sets `places` to the bytes of the text that each id
  // stands for.
  virtual bool Encode(std::string_view text, std::vector<uint32_t>* ids,
                      std::vector<TokenPlace>* places,
                      std::string* error) const = 0;
  // Returns the text of ids, which may begin and end anywhere in a document. A
  // piece that stands for no text, such as the end of a sentence, appears as
  // its name ("</s>"); an id that is no piece as <id>. The space that the model
  // puts before a text is left out at the beginning of a document: at the first
  // id if `begins_document`, and after each piece that stands for no text.
  // Bytes that are not UTF-8, such as a half of a character at either end,
  // appear as U+FFFD.
  virtual std::string Decode(std::span<const uint32_t> ids,
                             bool begins_document) const = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_PACK_SENTENCE_PIECE_H_
