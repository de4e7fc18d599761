// SPDX-License-Identifier: Apache-2.0
// manifest.json: encodes and decodes a manifest, without I/O.

#ifndef PONIENTE_STORE_MANIFEST_MANIFEST_TEXT_H_
#define PONIENTE_STORE_MANIFEST_MANIFEST_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "store/manifest/manifest.h"

namespace poniente::internal {

// Returns the text of manifest.json.
std::string EncodeManifest(const StoreManifest& manifest);

// Parses a manifest. Accepts the text that EncodeManifest() wrote, and any
// other JSON with the same members and values. InvalidArgument for another
// format or version, DataLoss for all other errors; messages do not name the
// path.
absl::StatusOr<StoreManifest> ParseManifest(std::string_view text);

// Returns whether the text is JSON of another kind: not damaged, but without
// the format of a token store.
bool IsOfOtherFormat(std::string_view text);

// Do the same for scratch-growth.json, which has no files, fingerprint and
// checksum of checksums: a store without a loss mask that is being written, of
// which `tokens`, `documents` and `name_bytes` are durable.
std::string EncodeGrowth(const StoreManifest& manifest);
absl::StatusOr<StoreManifest> ParseGrowth(std::string_view text);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_MANIFEST_MANIFEST_TEXT_H_
