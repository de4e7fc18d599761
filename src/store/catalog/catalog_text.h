// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes the text of a catalogue, without I/O. docs/catalog.md
// describes the format.

#ifndef PONIENTE_STORE_CATALOG_CATALOG_TEXT_H_
#define PONIENTE_STORE_CATALOG_CATALOG_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "store/manifest/known_store.h"

namespace poniente::internal {

inline constexpr std::string_view kCatalogFormat = "poniente-catalog";
// A catalogue that lists a store with a loss mask has the second version, all
// others have the first.
inline constexpr uint64_t kCatalogVersion = 2;
inline constexpr uint64_t kMaskedCatalogVersion = 3;

// Returns the text of a catalogue, without the fields `catalog` and
// `manifest.tokenizer_model` of the stores.
// REQUIRES: the paths of `stores` are relative to the folder of the catalogue,
// unique and in bytewise order; each store has its file_times_ns.
std::string EncodeCatalog(const std::vector<KnownStore>& stores);

// Parses a catalogue. Accepts only text that EncodeCatalog() wrote, now or as
// version 1, which has no tokenizer_library.
// InvalidArgument for another format or version; DataLoss, with the line, for
// all other errors. Messages do not name the path.
absl::StatusOr<std::vector<KnownStore>> ParseCatalog(std::string_view text);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_CATALOG_CATALOG_TEXT_H_
