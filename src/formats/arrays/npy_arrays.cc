// SPDX-License-Identifier: Apache-2.0
// Reads NumPy's .npy, one file or a folder of them. As in KempnerForge, each
// file is a shard: windows are cut from each file separately, and its tail is
// dropped.
#include "formats/arrays/npy_arrays.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/arrays/tatm_metadata.h"
#include "formats/core/token_format.h"
#include "store/selection_files/npy.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr std::string_view kZipMagic = "PK\3\4";
// A folder is recognised by its first array. If that is damaged, a few more are
// tried.
constexpr size_t kMaxArraysLookedAt = 8;

// Returns whether this is a NumPy array, or a .npz file under another name.
bool IsNumPys(std::span<const std::byte> head) {
  return IsNpy(head) || BeginsWith(head, kZipMagic);
}

absl::StatusOr<StoredType> SharedType(const std::string& path,
                                      const NpyArray& array) {
  if (array.kind == 'u' || array.kind == 'i') {
    return ParseStoredType(
        absl::StrCat(std::string(1, array.kind), 8 * array.width));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", path, "' holds ",
      array.kind == 'b' ? "bools" : "floating-point numbers", " of ",
      array.width, " bytes, expected ids; save array.astype('<u4')"));
}

bool RecognizesNpyArrays(const FoundPath& found) {
  if (!found.is_folder) {
    return IsNpy(found.head) ||
           (found.HasMagic(kZipMagic) && HasSuffix(found.path, ".npy"));
  }
  size_t looked_at = 0;
  const std::vector<std::string> names = found.Chosen("*.npy");
  for (const std::string& name : names) {
    const absl::StatusOr<FileBytes> file = FileBytes::Open(found.Below(name));
    if (file.ok()) {
      const auto head = ReadHead(*file, kNpyPrefixBytes);
      if (head.ok() && IsNumPys(*head)) return true;
    }
    if (++looked_at == kMaxArraysLookedAt) return false;
  }
  return false;
}

absl::StatusOr<TokenLayout> OpenNpyArrays(const FoundPath& found,
                                          const TokenSourceOptions& options) {
  PONIENTE_ASSIGN_OR_RETURN(
      TokenLayout layout,
      LayOutFileArrays(found, options, "*.npy", FindNpyIds));
  layout.windows.across_shards = false;
  ApplyTatmMetadata(found, &layout);
  return layout;
}

}  // namespace

namespace {

// Returns the array. Bools are u8 if `reads_bools`, else errors.
absl::StatusOr<FileArray> FindNumbers(const InputBytes& input,
                                      bool reads_bools) {
  PONIENTE_ASSIGN_OR_RETURN(
      const std::optional<NpyArray> array,
      FindNpy(
          input.path(), input.size(),
          [&](uint64_t offset, std::span<std::byte> into) {
            return input.ReadAt(offset, into);
          },
          NpyShape::kListOrRows));
  if (array.has_value() && array->kind == 'b' && reads_bools) {
    return FileArray{StoredType::kU8, array->data_offset, array->count};
  }
  if (array.has_value()) {
    PONIENTE_ASSIGN_OR_RETURN(const StoredType type,
                              SharedType(input.path(), *array));
    return FileArray{type, array->data_offset, array->count};
  }
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<std::byte> head,
                            ReadHead(input, kZipMagic.size()));
  if (BeginsWith(head, kZipMagic)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", input.path(),
        "' is an archive of arrays (.npz), which is not read; unpack it by "
        "numpy.save('tokens.npy', numpy.load(PATH)['NAME'])"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", input.path(), "' has ", input.size(),
      " bytes and does not begin with NumPy's magic \\x93NUMPY; if it holds "
      "nothing but ids, state the format raw and their dtype"));
}

}  // namespace

absl::StatusOr<FileArray> FindNpyIds(const InputBytes& input) {
  return FindNumbers(input, /*reads_bools=*/false);
}

absl::StatusOr<TokenLayout> LayOutNpyNumbers(
    const FoundPath& found, const TokenSourceOptions& options) {
  return LayOutFileArrays(found, options, "*.npy", [](const InputBytes& input) {
    return FindNumbers(input, /*reads_bools=*/true);
  });
}

const TokenFormat kNpyFormat = {"npy",
                                "NumPy arrays (.npy), alone or in a folder",
                                RecognizesNpyArrays, OpenNpyArrays};

}  // namespace poniente::internal
