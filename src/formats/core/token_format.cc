// SPDX-License-Identifier: Apache-2.0
#include "formats/core/token_format.h"

namespace poniente::internal {

std::span<const TokenFormat> TokenFormats() {
  // Those with magic bytes and index files first; folders of bare arrays, which
  // are told by a file or two in them, last.
  static const TokenFormat formats[] = {
      kMegatronFormat, kFairseqFormat, kTntidxFormat,    kLlmcFormat,
      kLitpkdsFormat,  kArrowFormat,   kMdsFormat,       kLitdataFormat,
      kLevanterFormat, kDolmaFormat,   kDatatroveFormat, kNpyFormat,
      kRawFormat,
  };
  return formats;
}

}  // namespace poniente::internal
