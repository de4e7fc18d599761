// SPDX-License-Identifier: Apache-2.0
// The index.json that lists the files of a folder.

#ifndef PONIENTE_FORMATS_CORE_JSON_INDEX_H_
#define PONIENTE_FORMATS_CORE_JSON_INDEX_H_

#include <string>

#include "absl/status/statusor.h"
#include "formats/core/found_path.h"

namespace poniente::internal {

struct JsonIndex {
  std::string path;
  // The folder that the names in it are relative to.
  std::string folder;
  std::string text;
};

// Reads the index of a folder, or the file itself. InvalidArgument if the
// folder has none, or if it is larger than 1 GiB.
absl::StatusOr<JsonIndex> ReadJsonIndex(const FoundPath& found);

// Returns the first 64 KiB of the index; empty if it cannot be read or is not a
// JSON object.
std::string JsonIndexHead(const FoundPath& found);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CORE_JSON_INDEX_H_
