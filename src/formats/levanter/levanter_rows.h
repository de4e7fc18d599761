// SPDX-License-Identifier: Apache-2.0
// Reads where the rows of a Levanter field end, from its array `offsets`.

#ifndef PONIENTE_FORMATS_LEVANTER_LEVANTER_ROWS_H_
#define PONIENTE_FORMATS_LEVANTER_LEVANTER_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/levanter/zarr3.h"
#include "store/read/compact_ends.h"

namespace poniente::internal {

// Fills `decoded` with a chunk of the array; returns false if it is not stored.
using ChunkReader = std::function<absl::StatusOr<bool>(
    uint64_t chunk, std::span<std::byte> decoded)>;

// Appends the lengths of the rows to `ends`; returns their sum. Item 0 of
// `offsets` is the number of rows, item i the end of row i - 1. `folder` is for
// messages.
// Errors: DataLoss if rows end before they begin, or if `ends` would need more
//     than `most_memory` bytes (no writer stores that many rows in so small a
//     file).
absl::StatusOr<uint64_t> ReadRowEnds(const std::string& folder,
                                     const Zarr3Array& offsets,
                                     const ChunkReader& read,
                                     uint64_t most_memory, CompactEnds* ends);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_LEVANTER_LEVANTER_ROWS_H_
