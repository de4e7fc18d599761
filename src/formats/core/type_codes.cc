// SPDX-License-Identifier: Apache-2.0
#include "formats/core/type_codes.h"

#include "absl/strings/str_cat.h"
#include "util/status_macros.h"

namespace poniente::internal {

absl::StatusOr<StoredType> TypeOfCode(const std::string& path, uint64_t offset,
                                      uint64_t code) {
  switch (code) {
    case 1:
      return StoredType::kU8;
    case 2:
      return StoredType::kI8;
    case 3:
      return StoredType::kI16;
    case 4:
      return StoredType::kI32;
    case 5:
      return StoredType::kI64;
    case 8:
      return StoredType::kU16;
    case 9:
      return StoredType::kU32;
    case 10:
      return StoredType::kU64;
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "'", path, "' has ", code, " as the code of its type at byte ",
          offset, code == 6 || code == 7 ? ", which means fractions" : "",
          "; token ids have 1 to 5 or 8 to 10"));
  }
}

absl::Status CheckStatedType(const std::string& path, StoredType type,
                             const TokenSourceOptions& options) {
  if (!options.dtype || *options.dtype == type) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "'", path, "' holds ", Absl(StoredTypeName(type)), ", stated was ",
      Absl(StoredTypeName(*options.dtype)), "; leave the dtype out"));
}

}  // namespace poniente::internal
