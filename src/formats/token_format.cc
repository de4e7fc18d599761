// SPDX-License-Identifier: Apache-2.0
#include "formats/token_format.h"

namespace poniente::internal {

std::span<const TokenFormat> TokenFormats() {
  // Those with magic bytes first, those that ask for neighbouring files last.
  static const TokenFormat formats[] = {
      kMegatronFormat, kFairseqFormat,  kTntidxFormat,    kLlmcFormat,
      kLitpkdsFormat,  kNpyFormat,      kArrowFormat,     kMdsFormat,
      kLitdataFormat,  kLevanterFormat, kDatatroveFormat, kDolmaFormat,
      kRawFormat,
  };
  return formats;
}

}  // namespace poniente::internal
