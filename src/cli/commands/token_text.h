// SPDX-License-Identifier: Apache-2.0
// The text of token ids: of bytes, and of SentencePiece models that are at
// hand.

#ifndef PONIENTE_CLI_COMMANDS_TOKEN_TEXT_H_
#define PONIENTE_CLI_COMMANDS_TOKEN_TEXT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/arguments.h"
#include "pack/pack_sentence_piece.h"
#include "poniente/token_source.h"
#include "poniente/token_window.h"
#include "store/catalog/tokenizer_origin.h"

namespace poniente::cli {

// Turns the ids of one source into text.
class TokenText {
 public:
  // The ids are bytes.
  TokenText() = default;
  explicit TokenText(std::shared_ptr<const internal::SentencePiece> model)
      : model_(std::move(model)) {}

  // Returns the text of ids. An id of `bytes` that is no byte appears as <256>.
  // `begins_document` and the rest are as for SentencePiece::Decode().
  std::string Of(std::span<const uint32_t> ids, bool begins_document) const;

 private:
  std::shared_ptr<const internal::SentencePiece> model_;  // null for bytes
};

// Finds what turns the ids of sources into text.
class TokenTexts {
 public:
  // Returns the option --tokenizer, which names a model's file.
  static Option TokenizerOption();

  // Reads the model that the option names. Fails if it is none.
  static absl::StatusOr<TokenTexts> Create(const Arguments& arguments);

  // Returns the text of a source; null, with a warning in warnings(), if its
  // model is not at hand. `vocabulary` is what is known of its tokenizer, or
  // null. FailedPrecondition if the model that the option names is not the one
  // that made the ids.
  absl::StatusOr<const TokenText*> For(const TokenSource* source,
                                       const Vocabulary* vocabulary);

  // Returns whether the option was given.
  bool is_stated() const { return stated_.has_value(); }
  // Returns why texts cannot be shown, or may be wrong; each reason once.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Model {
    std::string path;
    uint32_t crc32c = 0;
    std::shared_ptr<const internal::SentencePiece> loaded;
  };

  static absl::StatusOr<Model> Read(const std::string& path);
  absl::Status CheckStated(
      const std::optional<internal::RecordedModel>& recorded,
      const TokenSource* source, const Vocabulary* vocabulary);
  // Returns the loaded model, or null with a warning.
  std::shared_ptr<const internal::SentencePiece> Find(
      const internal::RecordedModel& recorded, const std::string& tokenizer);
  void WarnOnce(std::string warning);

  std::optional<Model> stated_;  // by the option
  std::map<const TokenSource*, std::optional<TokenText>> texts_;
  // Models by checksum.
  std::map<uint32_t, std::shared_ptr<const internal::SentencePiece>> found_;
  std::vector<std::string> warnings_;
};

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_COMMANDS_TOKEN_TEXT_H_
