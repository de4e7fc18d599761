// SPDX-License-Identifier: Apache-2.0
// Where the rows of a Levanter field end: its array `offsets`.

#ifndef PONIENTE_FORMATS_LEVANTER_LEVANTER_ROWS_H_
#define PONIENTE_FORMATS_LEVANTER_LEVANTER_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/core/compact_ends.h"
#include "formats/levanter/zarr3.h"

namespace poniente::internal {

// Fills `decoded` with a chunk of the array; false if none is stored.
using ChunkReader = std::function<absl::StatusOr<bool>(
    uint64_t chunk, std::span<std::byte> decoded)>;

// Appends the lengths of the rows to `ends`; gives their sum. Item 0 of
// `offsets` is how many rows there are, item i the end of row i - 1. `folder`
// is for messages.
// Errors: DataLoss: rows end before they begin, or take `ends` over
//     `most_memory` bytes: no writer stores so many in so few.
absl::StatusOr<uint64_t> ReadRowEnds(const std::string& folder,
                                     const Zarr3Array& offsets,
                                     const ChunkReader& read,
                                     uint64_t most_memory, CompactEnds* ends);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_LEVANTER_LEVANTER_ROWS_H_
