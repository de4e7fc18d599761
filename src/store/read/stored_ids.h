// SPDX-License-Identifier: Apache-2.0
// Converts ids from the type in which they are stored to u32.

#ifndef PONIENTE_STORE_READ_STORED_IDS_H_
#define PONIENTE_STORE_READ_STORED_IDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/task.h"
#include "poniente/token_source.h"
#include "poniente/token_window.h"

namespace poniente::internal {

// Converts to.size() ids of `type` from `from`, which need not be aligned, to
// `to`. Returns nullopt on success. If an id is negative or does not fit in
// u32, returns the index of the first such id; the contents of `to` are then
// invalid.
std::optional<size_t> DecodeIds(const std::byte* from, StoredType type,
                                std::span<uint32_t> to);

// Returns the type in which a token store has ids of this type.
StoredType StoredTypeOf(TokenType type);

// Returns whether the type holds negative numbers.
bool IsSigned(StoredType type);

// Returns the stored value of id number `at`, for messages.
int64_t StoredIdAt(const std::byte* from, StoredType type, size_t at);

// Returns the DataLoss error that token `token` of the source is stored as
// `id`, which is not a valid id.
absl::Status NotAnId(const TokenSource& source, uint64_t token, int64_t id);

// Returns the OutOfRange error that the source does not have these tokens.
absl::Status NotInSource(const TokenSource& source, uint64_t begin,
                         uint64_t count);

// Returns the ids of the ranges. Their stored form is in `stored`, in order and
// without gaps, in the source's type.
absl::StatusOr<std::vector<TokenWindow>> DecodeRanges(
    const TokenSource& source, std::span<const TokenRange> ranges,
    const std::byte* stored);

// Implements TokenSource::ReadRanges() for a source whose arrays() contain all
// tokens.
Task<std::vector<TokenWindow>> ReadFromArrays(const TokenSource& source,
                                              std::vector<TokenRange> ranges);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_READ_STORED_IDS_H_
