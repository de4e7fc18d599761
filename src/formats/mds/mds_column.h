// SPDX-License-Identifier: Apache-2.0
// Finds the column of MDS rows that holds ids, and its encoding.

#ifndef PONIENTE_FORMATS_MDS_MDS_COLUMN_H_
#define PONIENTE_FORMATS_MDS_MDS_COLUMN_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/mds/mds_index.h"
#include "poniente/open_token_source.h"

namespace poniente::internal {

// A NumPy type of ids: its name in encodings, and its code in the heads of
// arrays.
struct MdsArrayType {
  std::string_view name;
  uint8_t code;
  StoredType type;
};
std::span<const MdsArrayType> MdsArrayTypes();

// Where a column lies in each row.
struct MdsTokenColumn {
  enum class Kind {
    kBytes,  // ids alone
    kTyped,  // a head without the type, then ids
    kAny,    // a head with the type, then ids
    kFixed   // `tokens` ids in each row, without a head
  };
  std::string name;
  Kind kind = Kind::kBytes;
  StoredType type = StoredType::kI64;  // not for kAny
  uint64_t tokens = 0;
  // Sizes of all columns of the row, in order; nullopt if the size varies.
  std::vector<std::optional<uint64_t>> sizes;
  uint32_t place = 0;  // its own in `sizes`

  uint64_t SizeWords() const;
  // Returns the bytes of all columns whose size does not vary.
  uint64_t FixedBytes() const;
  // Returns whether no other column varies in size. If so, and if the array has
  // one axis, the size of a row alone gives its number of tokens.
  bool FollowsFromSizes() const;
};

// Returns the column that options.column names, or else `tokens` or
// `input_ids`, or else the only column that can hold ids. InvalidArgument, with
// the columns and their encodings, if there is none.
absl::StatusOr<MdsTokenColumn> FindMdsTokenColumn(
    const std::string& path, const MdsColumns& columns,
    const TokenSourceOptions& options);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_MDS_MDS_COLUMN_H_
