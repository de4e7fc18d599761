// SPDX-License-Identifier: Apache-2.0
// Ids from the type in which they are stored to u32.

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

// Fills `to`. The place of the first that is negative or does not fit u32, if
// there is one; what `to` then holds is not to be used. `from` need not be
// aligned. REQUIRES: it holds to.size() of the type.
std::optional<size_t> DecodeIds(const std::byte* from, StoredType type,
                                std::span<uint32_t> to);

// `id` as it is stored, for messages.
int64_t StoredIdAt(const std::byte* from, StoredType type, size_t at);

// DataLoss: token `token` of the source is stored as `id`, which is no id.
absl::Status NotAnId(const TokenSource& source, uint64_t token, int64_t id);

// Ids of the ranges, which lie end to end in `stored` in the source's type.
absl::StatusOr<std::vector<TokenWindow>> DecodeRanges(
    const TokenSource& source, std::span<const TokenRange> ranges,
    const std::byte* stored);

// TokenSource::ReadRanges() of a source whose arrays() hold all tokens.
Task<std::vector<TokenWindow>> ReadFromArrays(const TokenSource& source,
                                              std::vector<TokenRange> ranges);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_READ_STORED_IDS_H_
