// SPDX-License-Identifier: Apache-2.0
// A SentencePiece model, if the build has found the library.
//
// Uses only types of std: the library's header declares an absl::string_view
// that is not Abseil's.

#ifndef PONIENTE_PACK_PACK_SENTENCE_PIECE_H_
#define PONIENTE_PACK_PACK_SENTENCE_PIECE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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
};

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_PACK_SENTENCE_PIECE_H_
