// SPDX-License-Identifier: Apache-2.0
// Parses the keys of a node that supply what its files do not state.

#ifndef PONIENTE_CONFIG_PARSE_FILES_PARSER_H_
#define PONIENTE_CONFIG_PARSE_FILES_PARSER_H_

#include <optional>

#include "config/parse/toml_reader.h"
#include "config/run_nodes.h"
#include "poniente/token_window.h"

namespace poniente::internal {

// Reads tokenizer and vocab_size; nullopt without a tokenizer.
std::optional<Vocabulary> ParseVocabulary(TableReader& table);

// Reads format, dtype, column, glob, document_end or document_begin,
// loss_mask, overlap, across_shards, growing.
SourceFiles ParseFiles(TableReader& table);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_FILES_PARSER_H_
