// SPDX-License-Identifier: Apache-2.0
// Verifies all of a store and shows the progress.

#ifndef PONIENTE_CLI_COMMANDS_VERIFY_STORE_H_
#define PONIENTE_CLI_COMMANDS_VERIFY_STORE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "poniente/token_store.h"

namespace poniente::cli {

// Reads every token, some at a time, in order. Ends with the first error of
// `take`.
using TakeTokens =
    std::function<absl::Status(uint64_t begin, std::span<const uint32_t> ids)>;
absl::Status ReadAllTokens(const TokenSource& source, const TakeTokens& take);

// Returns whether this is a store that is still being written. Only what has
// been published so far can be verified.
bool IsGrowing(const TokenSource& source);

// Returns whether this is a store, or stores of a catalogue, rather than files
// of another project.
bool HasChecksums(const TokenSource& source);

// Does what VerifyTokenStore() does, with progress; `what` is the word for it,
// "verifying". Reads other projects' files, which have no checksums, to the
// end.
absl::Status VerifyWithProgress(const TokenSource& source,
                                const std::string& what);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_COMMANDS_VERIFY_STORE_H_
