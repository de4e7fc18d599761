// SPDX-License-Identifier: Apache-2.0
// Reads a manifest that still is, byte for byte, as EncodeManifest() wrote it.

#ifndef PONIENTE_STORE_MANIFEST_WRITTEN_MANIFEST_H_
#define PONIENTE_STORE_MANIFEST_WRITTEN_MANIFEST_H_

#include <optional>
#include <string_view>

#include "store/manifest/manifest.h"

namespace poniente::internal {

// Without a JSON parser, as nearly all manifests can be: that takes most of the
// time in which thousands of stores are opened. Nullopt for every other text,
// of which ParseManifest() finds out what it is.
std::optional<StoreManifest> ReadWrittenManifest(std::string_view text);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_MANIFEST_WRITTEN_MANIFEST_H_
