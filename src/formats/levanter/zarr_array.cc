// SPDX-License-Identifier: Apache-2.0
#include "formats/levanter/zarr_array.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "formats/core/found_path.h"
#include "formats/core/input_bytes.h"
#include "formats/levanter/blosc_block.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kMaxZarrMetadataBytes = uint64_t{1} << 20;

// Returns the number that is the name of a file; nullopt for other names, such
// as those of locks that writers leave.
std::optional<uint64_t> NumberOf(const std::string& name) {
  uint64_t number = 0;
  if (!absl::SimpleAtoi(name, &number) || absl::StrCat(number) != name) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

absl::StatusOr<ZarrArray> ZarrArray::Open(const std::string& folder) {
  ZarrArray array;
  array.folder_ = folder;
  const std::string metadata_path = absl::StrCat(folder, "/zarr.json");
  PONIENTE_ASSIGN_OR_RETURN(const FileBytes metadata,
                            FileBytes::Open(metadata_path));
  PONIENTE_ASSIGN_OR_RETURN(const std::string text,
                            ReadAllText(metadata, kMaxZarrMetadataBytes));
  PONIENTE_ASSIGN_OR_RETURN(array.metadata_, ParseZarr3(metadata_path, text));
  if (!array.metadata_.blosc.empty()) {
    PONIENTE_RETURN_IF_ERROR(Prepend(CheckBloscDecodes(array.metadata_.blosc),
                                     absl::StrCat("'", metadata_path, "'")));
  }
  array.bytes_ = metadata.size();

  const std::string chunks = absl::StrCat(folder, "/c");
  std::error_code error;
  if (!std::filesystem::exists(chunks, error)) return array;
  PONIENTE_ASSIGN_OR_RETURN(const FoundPath found, FindPath(chunks));
  for (const std::string& name : found.files) {
    const std::optional<uint64_t> number = NumberOf(name);
    if (!number) continue;
    PONIENTE_ASSIGN_OR_RETURN(const FileBytes file,
                              FileBytes::Open(found.Below(name)));
    File one{*number, file.path(), file.size(), {}};
    PONIENTE_ASSIGN_OR_RETURN(one.chunks,
                              ReadShardIndex(file, array.metadata_));
    array.bytes_ += file.size();
    array.files_.push_back(std::move(one));
  }
  std::sort(array.files_.begin(), array.files_.end(),
            [](const File& a, const File& b) { return a.number < b.number; });
  return array;
}

void ZarrArray::CutTo(uint64_t chunks) {
  while (!files_.empty() &&
         (chunks == 0 ||
          files_.back().number > (chunks - 1) / metadata_.chunks_per_file())) {
    bytes_ -= files_.back().bytes;
    files_.pop_back();
  }
  files_.shrink_to_fit();
}

uint64_t ZarrArray::CountStored(uint64_t chunks) const {
  const uint64_t per_file = metadata_.chunks_per_file();
  uint64_t count = 0;
  for (const File& file : files_) {
    if (file.number > chunks / per_file) break;
    const uint64_t some =
        std::min<uint64_t>(chunks - file.number * per_file, file.chunks.size());
    for (uint64_t i = 0; i < some; ++i) count += file.chunks[i].bytes > 0;
  }
  return count;
}

const ZarrArray::File* ZarrArray::FileOf(uint64_t chunk) const {
  const uint64_t number = chunk / metadata_.chunks_per_file();
  const auto found = std::lower_bound(
      files_.begin(), files_.end(), number,
      [](const File& file, uint64_t n) { return file.number < n; });
  if (found == files_.end() || found->number != number) return nullptr;
  return &*found;
}

StoredChunk ZarrArray::ChunkIn(const File& file, uint64_t chunk) const {
  const uint64_t i = chunk % metadata_.chunks_per_file();
  return i < file.chunks.size() ? file.chunks[i] : StoredChunk{};
}

std::string ZarrArray::Where(uint64_t chunk) const {
  const File& file = *FileOf(chunk);
  return absl::StrCat("'", file.path, "': chunk ",
                      chunk % metadata_.chunks_per_file(), " at byte ",
                      ChunkIn(file, chunk).offset);
}

}  // namespace poniente::internal
