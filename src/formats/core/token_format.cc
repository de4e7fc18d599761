// SPDX-License-Identifier: Apache-2.0
#include "formats/core/token_format.h"

namespace poniente::internal {

std::span<const TokenFormat> TokenFormats() {
  // Formats with magic bytes and index files come first. Folders of bare arrays
  // come last, because they are recognised by only one or two of their files.
  static const TokenFormat formats[] = {
      kMegatronFormat, kFairseqFormat, kTntidxFormat,    kLlmcFormat,
      kLitpkdsFormat,  kArrowFormat,   kMdsFormat,       kLitdataFormat,
      kLevanterFormat, kDolmaFormat,   kDatatroveFormat, kNpyFormat,
      kRawFormat,
  };
  return formats;
}

}  // namespace poniente::internal
