// SPDX-License-Identifier: Apache-2.0
// A dataset of which only the size is known yet, to plan runs with.

#ifndef PONIENTE_DECLARED_WINDOWS_H_
#define PONIENTE_DECLARED_WINDOWS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/token_window.h"

namespace poniente {

// Windows of `length` tokens of a store that is not there yet and will hold
// `tokens` tokens. Everything that follows from sizes and names alone (plans,
// the order of a run, which step reads an item) is what it will be with a store
// of as many tokens in its place; its fingerprint is another.
//
// name: what messages call it.
// vocabulary: nullopt if not known; it then mixes with any other.
// Determinism, ownership, thread safety: as AsyncDataset says.
// Errors: InvalidArgument unless 0 < length < 2^32 - 1. FailedPrecondition from
//     every attempt to read an item, with the name.
absl::StatusOr<DatasetPtr<TokenWindow>> DeclaredWindows(
    const std::string& name, uint64_t tokens, uint64_t length,
    std::optional<Vocabulary> vocabulary = std::nullopt);

}  // namespace poniente

#endif  // PONIENTE_DECLARED_WINDOWS_H_
