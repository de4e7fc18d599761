// SPDX-License-Identifier: Apache-2.0
#include "store/manifest/known_store.h"

#include <cstddef>
#include <ctime>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "store/manifest/manifest_text.h"
#include "store/manifest/store_folder.h"
#include "util/crc32c.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr char kMendFiles[] = "; copy the store again or pack it again";

std::string FingerprintHex(uint64_t value) {
  return absl::StrCat(absl::Hex(value, absl::kZeroPad16));
}

// Returns a time like "2026-11-22 10:51:06.000000000 UTC".
std::string TimeOf(int64_t nanoseconds) {
  constexpr int64_t kPerSecond = 1'000'000'000;
  int64_t rest = nanoseconds % kPerSecond;
  if (rest < 0) rest += kPerSecond;
  const auto seconds = static_cast<time_t>((nanoseconds - rest) / kPerSecond);
  std::tm parts = {};
  char text[64] = "";
  if (::gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts) == 0) {
    return absl::StrCat(nanoseconds, " ns");
  }
  const std::string digits = absl::StrCat(rest);
  return absl::StrCat(text, ".", std::string(9 - digits.size(), '0'), digits,
                      " UTC");
}

// Makes the errors for a store that differs from what is known of it.
class Difference {
 public:
  explicit Difference(const KnownStore& known) : known_(known) {}

  absl::Status Stale(std::string_view what) const {
    return absl::FailedPreconditionError(
        absl::StrCat("'", known_.path, "' is not the store that ", Witness(),
                     ": ", Absl(what), Remedy()));
  }
  absl::Status StaleTime(std::string_view name, int64_t now,
                         int64_t then) const {
    return Stale(absl::StrCat(Absl(name), " was written ", TimeOf(now),
                              ", not ", TimeOf(then)));
  }
  // Returns the error for a lost or damaged file of a store whose manifest is
  // unchanged.
  absl::Status Lost(const absl::Status& what) const {
    std::string text(what.message());
    if (!known_.catalog.empty()) {
      absl::StrAppend(&text, ", then run `poniente catalog ", known_.catalog,
                      "` again");
    }
    return absl::DataLossError(text);
  }

 private:
  std::string Witness() const {
    return known_.catalog.empty()
               ? "was opened"
               : absl::StrCat("the catalogue of '", known_.catalog, "' lists");
  }
  std::string Remedy() const {
    return known_.catalog.empty() ? "; open it again"
                                  : absl::StrCat("; run `poniente catalog ",
                                                 known_.catalog, "` again");
  }

  const KnownStore& known_;
};

absl::Status CompareManifests(const KnownStore& known, const KnownStore& now) {
  const Difference differs(known);
  if (now.manifest.fingerprint != known.manifest.fingerprint) {
    const std::string tokens =
        now.manifest.tokens == known.manifest.tokens
            ? std::string()
            : absl::StrCat(" (it has ", now.manifest.tokens, " tokens, not ",
                           known.manifest.tokens, ")");
    return differs.Stale(absl::StrCat(
        "its fingerprint is ", FingerprintHex(now.manifest.fingerprint),
        ", not ", FingerprintHex(known.manifest.fingerprint), tokens));
  }
  if (now.manifest_file.bytes != known.manifest_file.bytes) {
    return differs.Stale(absl::StrCat(
        Absl(kManifestName), " has ", now.manifest_file.bytes, " bytes, not ",
        known.manifest_file.bytes, "; the fingerprint is the same"));
  }
  if (now.manifest_file == known.manifest_file) {
    return differs.Stale(absl::StrCat(Absl(kManifestName),
                                      " is another one; its bytes, its time "
                                      "and the fingerprint are the same"));
  }
  return differs.StaleTime(kManifestName, now.manifest_file.mtime_ns,
                           known.manifest_file.mtime_ns);
}

absl::Status CheckManifestUnchanged(const KnownStore& known) {
  FileStamp stamp;
  const absl::StatusOr<std::string> text =
      ReadManifestText(known.location, &stamp);
  if (absl::IsNotFound(text.status())) {
    return Difference(known).Stale(
        absl::StrCat("it has no ", Absl(kManifestName), " any more"));
  }
  if (!text.ok()) return text.status();
  const uint32_t crc32c = Crc32c(std::as_bytes(std::span(*text)));
  if (stamp == known.manifest_file && crc32c == known.manifest_crc32c) {
    return absl::OkStatus();
  }
  const absl::StatusOr<KnownStore> now = ReadKnownStore(known.location);
  if (!now.ok()) return now.status();
  return CompareManifests(known, *now);
}

absl::Status CheckFileUnchanged(const KnownStore& known, size_t number) {
  const StoreFile file = kStoreFiles[number];
  const std::string path =
      StoreFilePath(known.location, file, known.manifest.generation);
  const Difference differs(known);
  const absl::StatusOr<FileStamp> now = ReadStamp(path);
  if (absl::IsNotFound(now.status())) {
    return differs.Lost(absl::DataLossError(
        absl::StrCat("a file of the store at '", known.path,
                     "' is missing: ", now.status().message(), kMendFiles)));
  }
  if (!now.ok()) return now.status();
  const absl::Status whole =
      CheckFileBytes(path, now->bytes, known.manifest.FileBytes(file));
  if (!whole.ok()) return differs.Lost(whole);
  if (!known.file_times_ns.has_value() ||
      now->mtime_ns == (*known.file_times_ns)[number]) {
    return absl::OkStatus();
  }
  return differs.StaleTime(StoreFileName(file, known.manifest.generation),
                           now->mtime_ns, (*known.file_times_ns)[number]);
}

}  // namespace

absl::Status CheckFileBytes(const std::string& path, uint64_t bytes,
                            uint64_t expected) {
  if (bytes == expected) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "'", path, "' has ", bytes, " bytes, its manifest says ", expected, ": ",
      bytes < expected ? "the store was cut short"
                       : "the file is not the one that was written",
      "; copy it again or pack it again"));
}

std::string LocationOf(const std::string& path) {
  if (path.starts_with('/')) return path;
  std::error_code error;  // the current folder was removed: no store is there
  const std::filesystem::path location = std::filesystem::absolute(path, error);
  return error ? path : location.string();
}

absl::StatusOr<KnownStore> ReadKnownStore(const std::string& path) {
  KnownStore known;
  const absl::StatusOr<std::string> text =
      ReadManifestText(path, &known.manifest_file);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(absl::StrCat(
        "no token store at '", path, "': it has no ", Absl(kManifestName),
        "; check the path, or make the store with `poniente pack`"));
  }
  if (!text.ok()) return text.status();
  absl::StatusOr<StoreManifest> manifest = ParseManifest(*text);
  if (!manifest.ok()) {
    return Prepend(manifest.status(),
                   absl::StrCat("'", path, "/", Absl(kManifestName), "'"));
  }
  known.path = path;
  known.location = LocationOf(path);
  known.manifest = *std::move(manifest);
  known.manifest_crc32c = Crc32c(std::as_bytes(std::span(*text)));
  return known;
}

absl::StatusOr<KnownStore> ExamineStore(const std::string& path) {
  PONIENTE_ASSIGN_OR_RETURN(KnownStore known, ReadKnownStore(path));
  absl::Status whole = absl::OkStatus();
  while (true) {
    known.file_times_ns.emplace();
    for (size_t i = 0; i < known.manifest.Files().size(); ++i) {
      const std::string file =
          StoreFilePath(path, kStoreFiles[i], known.manifest.generation);
      const absl::StatusOr<FileStamp> stamp = ReadStamp(file);
      whole = stamp.status();
      if (!whole.ok()) break;
      (*known.file_times_ns)[i] = stamp->mtime_ns;
      PONIENTE_RETURN_IF_ERROR(CheckFileBytes(
          file, stamp->bytes, known.manifest.FileBytes(kStoreFiles[i])));
    }
    if (!absl::IsNotFound(whole)) break;
    // A writer may have committed since the manifest was read, and removed the
    // files that it named. Each turn follows a commit.
    PONIENTE_ASSIGN_OR_RETURN(KnownStore now, ReadKnownStore(path));
    if (now.manifest.generation == known.manifest.generation) {
      return absl::DataLossError(absl::StrCat("a file of the store at '", path,
                                              "' is missing: ", whole.message(),
                                              kMendFiles));
    }
    known = std::move(now);
  }
  if (!whole.ok()) return whole;
  return known;
}

absl::Status CheckUnchanged(const KnownStore& known) {
  PONIENTE_RETURN_IF_ERROR(CheckManifestUnchanged(known));
  for (size_t i = 0; i < known.manifest.Files().size(); ++i) {
    PONIENTE_RETURN_IF_ERROR(CheckFileUnchanged(known, i));
  }
  return absl::OkStatus();
}

ByteFile StoredTokens(const std::string& path, const StoreManifest& manifest) {
  const auto file = [&](StoreFile kind) {
    return StoreFilePath(path, kind, manifest.generation);
  };
  ByteFile tokens;
  tokens.path = file(StoreFile::kTokens);
  tokens.checksums = {file(StoreFile::kChecksums), 0, manifest.block_bytes};
  return tokens;
}

ByteFile StoredLossMask(const std::string& path,
                        const StoreManifest& manifest) {
  const auto file = [&](StoreFile kind) {
    return StoreFilePath(path, kind, manifest.generation);
  };
  const uint64_t blocks_before = manifest.NumBlocks(StoreFile::kTokens) +
                                 manifest.NumBlocks(StoreFile::kDocuments);
  ByteFile mask;
  mask.path = file(StoreFile::kLossMask);
  mask.checksums = {file(StoreFile::kChecksums), 4 * blocks_before,
                    manifest.block_bytes};
  return mask;
}

ByteFile KnownTokensFile(const std::shared_ptr<const KnownStore>& known) {
  ByteFile tokens = StoredTokens(known->location, known->manifest);
  tokens.expected = {known->manifest.FileBytes(StoreFile::kTokens),
                     [known] { return CheckUnchanged(*known); }};
  return tokens;
}

ByteFile KnownLossMaskFile(const std::shared_ptr<const KnownStore>& known) {
  ByteFile mask = StoredLossMask(known->location, known->manifest);
  mask.expected = {known->manifest.FileBytes(StoreFile::kLossMask),
                   [known] { return CheckUnchanged(*known); }};
  return mask;
}

}  // namespace poniente::internal
