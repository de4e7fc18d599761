// SPDX-License-Identifier: Apache-2.0
// Parses manifests that are byte for byte as EncodeManifest() wrote them.

#ifndef PONIENTE_STORE_MANIFEST_WRITTEN_MANIFEST_H_
#define PONIENTE_STORE_MANIFEST_WRITTEN_MANIFEST_H_

#include <optional>
#include <string_view>

#include "store/manifest/manifest.h"

namespace poniente::internal {

// Parses the text of EncodeManifest(), which nearly all manifests have, without
// a JSON parser. A JSON parser would take most of the time of opening thousands
// of stores. Returns nullopt for any other text; pass that to ParseManifest().
std::optional<StoreManifest> ReadWrittenManifest(std::string_view text);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_MANIFEST_WRITTEN_MANIFEST_H_
