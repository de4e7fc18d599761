// SPDX-License-Identifier: Apache-2.0
// Checks all of a store, and says how far it is.

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

// A store, or stores of a catalogue: not files of other projects.
bool HasChecksums(const TokenSource& source);

// As VerifyTokenStore(); `what` is what is being done, "verifying". Other
// projects' files, which have no checksums, are read to the end.
absl::Status VerifyWithProgress(const TokenSource& source,
                                const std::string& what);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_COMMANDS_VERIFY_STORE_H_
