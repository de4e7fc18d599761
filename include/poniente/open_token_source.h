// SPDX-License-Identifier: Apache-2.0
// Opens the token files of other projects in place. docs/formats.md lists the
// formats and how each is recognised.

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

// An id that marks where documents begin or end.
struct DocumentDelimiter {
  uint32_t id = 0;
  // True if the id begins documents, false if it ends them. It is part of its
  // document.
  bool begins = false;

  friend bool operator==(const DocumentDelimiter&,
                         const DocumentDelimiter&) = default;
};

// Files beside the tokens of another project that say which tokens have loss:
// one number per token, in the order of the tokens. Entry t belongs to token t
// itself. The files are opened as a source is, in any format that is not
// compressed; without a header, their size tells the width of the numbers.
struct LossMaskFiles {
  // Empty: the path of the tokens.
  std::string path = {};
  // Pattern (fnmatch) of the names of the files to read in a folder. Empty: the
  // format's own.
  std::string glob = {};
  // Column or field that holds the mask, where there are several.
  std::string column = {};
  // What the numbers mean. Neither: 1 has loss, 0 has none, and all others are
  // errors. `no_loss`: every other number has loss, as in labels, where -100
  // has none. `loss`: only this number has loss, as in files of roles. At most
  // one of both.
  std::optional<int64_t> no_loss = std::nullopt;
  std::optional<int64_t> loss = std::nullopt;

  friend bool operator==(const LossMaskFiles&, const LossMaskFiles&) = default;
};

// Settings that the path alone may not determine. The files take precedence: an
// option that contradicts them is InvalidArgument.
struct TokenSourceOptions {
  // How bytes are read. Never changes which tokens are read.
  ByteReaderOptions io = {};
  // One of TokenFormatNames(). Empty: detected from the bytes.
  std::string format = {};
  // Type of the ids; required for files without a header.
  std::optional<StoredType> dtype = std::nullopt;
  // Name of the column, field or feature that holds the ids, where there are
  // several. Empty: the usual name in the format's own project.
  std::string column = {};
  // Pattern (fnmatch) of the names of the files to read in a folder. Empty: the
  // format's own.
  std::string glob = {};
  // The id between documents. If the format itself does not know the documents,
  // opening the source reads all tokens to find them by this id.
  std::optional<DocumentDelimiter> delimiter = std::nullopt;
  // Tokenizer, for files that do not name it.
  std::optional<Vocabulary> vocabulary = std::nullopt;
  // The loss mask, for files of other projects. Token stores have their own.
  std::optional<LossMaskFiles> loss_mask = std::nullopt;
};

// Opens a token store or the files of another project: `path` is a file, or a
// folder of files. Nothing is converted or copied. Compressed formats are
// decoded block by block, and at most 256 MiB of decoded blocks are kept.
//
// The files of other projects have no checksums. Their fingerprint covers the
// format, the type, the lengths of shards and documents, and samples of the
// ids, and of the loss mask if there is one. A change elsewhere in a file
// therefore leaves it the same.
//
// Prefixes of pairs that have a mask by themselves are opened with it: `data`
// of data_packed_input_ids_document and data_packed_labels_document (MindSpeed,
// ModelLink), and of data-text and data-role (Megatron-LLM). All others need
// options.loss_mask; a mask that lies beside the tokens under a usual name, but
// is not read, is a warning.
//
// Errors: NotFound: no such path. InvalidArgument: no known format (the message
//     says what was looked for), a dtype or column has to be stated, or the
//     files contradict the options, or the loss mask is not that of the tokens.
//     DataLoss: a file is cut short, or tables disagree. Unimplemented: the
//     files are compressed or encrypted in a way that is not read (a mask must
//     not be compressed at all), or need a library that this build does not
//     have.
absl::StatusOr<std::shared_ptr<const TokenSource>> OpenTokenSource(
    const std::string& path, const TokenSourceOptions& options = {});

// Returns whether OpenTokenSource() would recognise the path without any
// options. The files may still be damaged.
bool IsTokenSource(const std::string& path);

// Returns the names of all formats: "poniente-token-store", "megatron", ...
std::vector<std::string> TokenFormatNames();

// Returns the id between documents, if the format fixes it or the options state
// it.
std::optional<DocumentDelimiter> DelimiterOf(const TokenSource& source);

// Returns a line for each thing that OpenTokenSource() found unusual but
// accepted. For a catalogue, these are the missing parts of a corpus; for a
// token store, there are none.
std::vector<std::string> TokenSourceWarnings(const TokenSource& source);

}  // namespace poniente

#endif  // PONIENTE_OPEN_TOKEN_SOURCE_H_
