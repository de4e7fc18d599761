// SPDX-License-Identifier: Apache-2.0
// Opens the token files that other projects write, in place. docs/formats.md
// lists the formats, and how each is recognised.

#ifndef PONIENTE_OPEN_TOKEN_SOURCE_H_
#define PONIENTE_OPEN_TOKEN_SOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/byte_reader.h"
#include "poniente/token_source.h"
#include "poniente/token_window.h"

namespace poniente {

// An id that stands between documents.
struct DocumentDelimiter {
  uint32_t id = 0;
  // It begins documents; else it ends them. It is part of its document.
  bool begins = false;

  friend bool operator==(const DocumentDelimiter&,
                         const DocumentDelimiter&) = default;
};

// What a path alone may not say. What the files do say wins: a contradiction is
// InvalidArgument.
struct TokenSourceOptions {
  // How bytes are read. Never changes which tokens.
  ByteReaderOptions io;
  // One of TokenFormatNames(); empty: found out from the bytes.
  std::string format;
  // Of files without a header; required for them.
  std::optional<StoredType> dtype;
  // The column, field or feature that holds ids, where there are several;
  // empty: what the format's own project calls it.
  std::string column;
  // Of a folder, only files whose names match (fnmatch); empty: the format's
  // own.
  std::string glob;
  // Finds documents by reading all tokens when the source is opened, where the
  // format does not know them better.
  std::optional<DocumentDelimiter> delimiter;
  // Of files that do not name their tokenizer.
  std::optional<Vocabulary> vocabulary;
};

// Opens a token store or the files of another project: `path` is a file, or a
// folder of them. Nothing is converted or copied; compressed formats are
// decoded block by block, of which at most 256 MiB are kept.
//
// The fingerprint of other projects' files covers format, type, the lengths of
// shards and documents, and samples of the ids: they have no checksums, so a
// change elsewhere in a file is not seen.
//
// Errors: NotFound: no such path. InvalidArgument: not a format that is read,
//     with what was looked for; a dtype or column has to be stated; contradicts
//     the options. DataLoss: cut short, or tables that disagree. Unimplemented:
//     needs a library that this build is without.
absl::StatusOr<std::shared_ptr<const TokenSource>> OpenTokenSource(
    const std::string& path, const TokenSourceOptions& options = {});

// Whether OpenTokenSource() would know what the path is without any options.
// What it is may still be damaged.
bool IsTokenSource(const std::string& path);

// "poniente-token-store", "megatron", ...
std::vector<std::string> TokenFormatNames();

// The id between documents, where the format fixes it or the options state it.
std::optional<DocumentDelimiter> DelimiterOf(const TokenSource& source);

// What OpenTokenSource() found odd but read nonetheless: of a catalogue, that
// parts of a corpus are missing; of a token store, nothing.
std::vector<std::string> TokenSourceWarnings(const TokenSource& source);

}  // namespace poniente

#endif  // PONIENTE_OPEN_TOKEN_SOURCE_H_
