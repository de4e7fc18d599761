// SPDX-License-Identifier: Apache-2.0
// A store as it was found at one time, and whether it is still the same.

#ifndef PONIENTE_STORE_MANIFEST_KNOWN_STORE_H_
#define PONIENTE_STORE_MANIFEST_KNOWN_STORE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/byte_reader.h"
#include "store/manifest/manifest.h"
#include "store/posix_file.h"

namespace poniente::internal {

// What the store's manifest said, and what shows that neither the manifest nor
// the files that it names have been written since.
struct KnownStore {
  std::string path;  // as it was given
  // Where that path was. The store can still be opened later if the process has
  // changed its folder meanwhile (chdir).
  std::string location;
  StoreManifest manifest;
  FileStamp manifest_file;
  uint32_t manifest_crc32c = 0;  // of its text
  // When the files changed, in the order of kStoreFiles; their sizes follow
  // from the manifest. nullopt: the files were not examined.
  std::optional<std::array<int64_t, 3>> file_times_ns;
  // The folder of the catalogue that states this; empty for an opened store.
  std::string catalog;
};

// Returns the absolute path, relative to the current folder of the process.
std::string LocationOf(const std::string& path);

// Reads the manifest and nothing else. NotFound if there is no store.
absl::StatusOr<KnownStore> ReadKnownStore(const std::string& path);

// Does the same and examines the files. DataLoss if one is missing or its size
// differs from the manifest's.
absl::StatusOr<KnownStore> ExamineStore(const std::string& path);

// Returns OK if manifest and files are unchanged; FailedPrecondition, with the
// difference and the remedy, if they are not; DataLoss if they are damaged.
absl::Status CheckUnchanged(const KnownStore& known);

// Returns DataLoss unless the file has as many bytes as the manifest says.
absl::Status CheckFileBytes(const std::string& path, uint64_t bytes,
                            uint64_t expected);

// Returns the tokens with the checksums of their blocks, which come first in
// their file.
ByteFile StoredTokens(const std::string& path, const StoreManifest& manifest);
// Does the same for a file that is opened, and its store examined, at the first
// read.
ByteFile KnownTokensFile(const std::shared_ptr<const KnownStore>& known);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_MANIFEST_KNOWN_STORE_H_
