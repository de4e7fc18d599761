// SPDX-License-Identifier: Apache-2.0
// The formats that can be read, one row each.

#ifndef PONIENTE_FORMATS_CORE_TOKEN_FORMAT_H_
#define PONIENTE_FORMATS_CORE_TOKEN_FORMAT_H_

#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "formats/core/found_path.h"
#include "formats/core/token_layout.h"
#include "poniente/open_token_source.h"

namespace poniente::internal {

struct TokenFormat {
  // Name in options and in `poniente inspect`: lower case, for example
  // "megatron".
  std::string_view name;
  // Description for messages: "Megatron's .bin and .idx".
  std::string_view what;
  // Returns whether the path certainly has this format, from magic bytes and
  // from the files that must be there, never from a suffix alone. Cheap. A
  // damaged path of the format is recognised, too: opening it says what is
  // wrong.
  bool (*recognizes)(const FoundPath& found);
  // Lays out the path. REQUIRES: recognised, or asked for by name.
  absl::StatusOr<TokenLayout> (*open)(const FoundPath& found,
                                      const TokenSourceOptions& options);
};

// Returns all formats, in the order in which they are tried.
std::span<const TokenFormat> TokenFormats();

// The rows; each is in its format's file.
extern const TokenFormat kArrowFormat;      // arrow.cc
extern const TokenFormat kDatatroveFormat;  // datatrove.cc
extern const TokenFormat kDolmaFormat;      // dolma.cc
extern const TokenFormat kFairseqFormat;    // megatron.cc
extern const TokenFormat kLevanterFormat;   // levanter.cc
extern const TokenFormat kLitdataFormat;    // litdata.cc
extern const TokenFormat kLitpkdsFormat;    // litpkds.cc
extern const TokenFormat kLlmcFormat;       // llmc.cc
extern const TokenFormat kMdsFormat;        // mds.cc
extern const TokenFormat kMegatronFormat;   // megatron.cc
extern const TokenFormat kNpyFormat;        // npy_arrays.cc
extern const TokenFormat kRawFormat;        // raw.cc
extern const TokenFormat kTntidxFormat;     // tntidx.cc

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CORE_TOKEN_FORMAT_H_
