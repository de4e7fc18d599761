// SPDX-License-Identifier: Apache-2.0
// What made the ids of sources: the versions of a tokenizer, and its model.

#ifndef PONIENTE_STORE_CATALOG_TOKENIZER_ORIGIN_H_
#define PONIENTE_STORE_CATALOG_TOKENIZER_ORIGIN_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "poniente/token_source.h"
#include "store/manifest/manifest.h"

namespace poniente::internal {

struct LibraryDifference {
  // The number of the source that differs.
  size_t source = 0;
  // The two sources, the versions of both, and what to do. One sentence.
  std::string text;
};

// Compares the libraries that made the ids of the sources' stores, as far as
// they are known, with that of the first store of the same tokenizer. Returns
// one difference for each library of a tokenizer other than its first.
std::vector<LibraryDifference> LibraryDifferences(
    std::span<const TokenSource* const> sources);

struct RecordedModel {
  TokenizerModel model;
  std::string store;  // the folder of the store that names it

  friend bool operator==(const RecordedModel&, const RecordedModel&) = default;
};

// Returns the model that the source's store names, or the first store of a
// catalogue. Reads the store's manifest, because catalogues do not list models.
// Returns nullopt if no model is named, or if the manifest cannot be read.
std::optional<RecordedModel> ModelOf(const TokenSource& source);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_CATALOG_TOKENIZER_ORIGIN_H_
