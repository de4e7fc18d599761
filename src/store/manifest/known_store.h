// SPDX-License-Identifier: Apache-2.0
// Remembers a store as it was found, and checks whether it is still the same.

#ifndef PONIENTE_STORE_MANIFEST_KNOWN_STORE_H_
#define PONIENTE_STORE_MANIFEST_KNOWN_STORE_H_

#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/byte_reader.h"
#include "store/manifest/manifest.h"
#include "store/posix_file.h"

namespace poniente::internal {

// The manifest of a store, and the facts that show whether the manifest or the
// files that it names have been written since.
struct KnownStore {
  std::string path;  // as it was given
  // The absolute form of `path`. With it, the store can still be opened after
  // the process has changed its current folder (chdir).
  std::string location;
  StoreManifest manifest;
  FileStamp manifest_file;
  uint32_t manifest_crc32c = 0;  // of the manifest's text
  // Modification times of the files, in the order of kStoreFiles; their sizes
  // follow from the manifest. nullopt: the files were not examined.
  // 0 for a file that the store does not have.
  std::optional<std::array<int64_t, std::size(kStoreFiles)>> file_times_ns;
  // The folder of the catalogue that lists the store; empty if no catalogue was
  // used.
  std::string catalog;
};

// Returns `path` as an absolute path. A relative path starts at the current
// folder of the process.
std::string LocationOf(const std::string& path);

// Reads the manifest and nothing else. NotFound if there is no store.
absl::StatusOr<KnownStore> ReadKnownStore(const std::string& path);

// Reads the manifest and examines the files. DataLoss if a file is missing or
// its size differs from the manifest's.
absl::StatusOr<KnownStore> ExamineStore(const std::string& path);

// Returns OK if the manifest and the files are unchanged; FailedPrecondition,
// with the difference and a remedy, if they have changed; DataLoss if they are
// damaged.
absl::Status CheckUnchanged(const KnownStore& known);

// Returns DataLoss unless the file has as many bytes as the manifest says.
absl::Status CheckFileBytes(const std::string& path, uint64_t bytes,
                            uint64_t expected);

// Returns the tokens file with the location of its checksums, which are the
// first ones in the checksums file.
ByteFile StoredTokens(const std::string& path, const StoreManifest& manifest);
// Returns the file of the loss mask, whose checksums are the last ones there.
// REQUIRES: manifest.has_loss_mask.
ByteFile StoredLossMask(const std::string& path, const StoreManifest& manifest);
// Return the same for a store that is examined, and a file that is opened, at
// the first read.
ByteFile KnownTokensFile(const std::shared_ptr<const KnownStore>& known);
ByteFile KnownLossMaskFile(const std::shared_ptr<const KnownStore>& known);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_MANIFEST_KNOWN_STORE_H_
