// SPDX-License-Identifier: Apache-2.0
// What a command line of `poniente pack` asks for.

#ifndef PONIENTE_CLI_COMMANDS_PACK_REQUEST_H_
#define PONIENTE_CLI_COMMANDS_PACK_REQUEST_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/arguments.h"
#include "pack/json_line.h"
#include "pack/pack_parts.h"
#include "pack/pack_sentence_piece.h"
#include "pack/text_inputs.h"
#include "pack/text_splitter.h"
#include "poniente/token_window.h"

namespace poniente::cli {

enum class InputFormat { kText, kJsonl, kTokens, kTokenFiles };

struct PackRequest {
  std::vector<std::string> inputs;
  std::vector<std::string> patterns;
  std::string out;
  // nullopt: JSONL where the name says so, else text.
  std::optional<InputFormat> format;
  // kTokenFiles: the inputs, open.
  std::vector<TextInput> token_inputs;
  SplitRule rule;
  JsonField field;
  Vocabulary vocabulary;
  std::optional<uint32_t> end_of_document;
  // What text goes through; null for bytes.
  std::shared_ptr<const SentencePiece> model;
  uint32_t model_checksum = 0;
  bool skip_bad_lines = false;
  int threads = 1;
  // Past the page cache; nullopt: if the inputs are large.
  std::optional<bool> writes_directly;
  uint64_t checkpoint_bytes = 0;
  bool restart = false;
  // One part of the inputs, as the command line or a launcher says.
  std::optional<PackPart> part;
  std::string launcher;
  bool json = false;
  bool quiet = false;
};

// Errors: InvalidArgument for a wrong command line; others where it is right,
//     but the model cannot be read.
absl::StatusOr<PackRequest> ReadPackRequest(const Arguments& arguments);

InputFormat FormatOf(const PackRequest& request, const TextInput& input);

// Covers every option that a byte of the store may depend on.
uint64_t OptionsDigest(const PackRequest& request);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_COMMANDS_PACK_REQUEST_H_
