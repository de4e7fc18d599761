// SPDX-License-Identifier: Apache-2.0
// A store as it was found at one time, and whether it still is.

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

// What its manifest said, and what tells that neither it nor the files that it
// names were written to since.
struct KnownStore {
  std::string path;  // as it was given
  // Where that was: what is opened later is found wherever the process has
  // gone since (chdir).
  std::string location;
  StoreManifest manifest;
  FileStamp manifest_file;
  uint32_t manifest_crc32c = 0;  // of its text
  // When the files changed, in the order of kStoreFiles; their bytes follow
  // from the manifest. Nullopt: they were not looked at.
  std::optional<std::array<int64_t, 3>> file_times_ns;
  // The folder of the catalogue that says all this; empty: an opened store.
  std::string catalog;
};

// The path, from the root on, as the current folder is now.
std::string LocationOf(const std::string& path);

// Reads the manifest, and nothing else. NotFound if there is no store.
absl::StatusOr<KnownStore> ReadKnownStore(const std::string& path);

// The same, with the files. DataLoss if one is missing, or does not have the
// bytes that the manifest says.
absl::StatusOr<KnownStore> ExamineStore(const std::string& path);

// FailedPrecondition, saying what differs and what to do, unless manifest and
// files are what they were; DataLoss if they are damaged.
absl::Status CheckUnchanged(const KnownStore& known);

// DataLoss unless the file has as many bytes as the manifest says.
absl::Status CheckFileBytes(const std::string& path, uint64_t bytes,
                            uint64_t expected);

// The tokens with the checksums of their blocks, which come first in their
// file.
ByteFile StoredTokens(const std::string& path, const StoreManifest& manifest);
// The same, opened, and the store looked
// at, at the first read.
ByteFile KnownTokensFile(const std::shared_ptr<const KnownStore>& known);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_MANIFEST_KNOWN_STORE_H_
