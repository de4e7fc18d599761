// SPDX-License-Identifier: Apache-2.0
// Checks all of a store, and says how far it is.

#ifndef PONIENTE_CLI_VERIFY_STORE_H_
#define PONIENTE_CLI_VERIFY_STORE_H_

#include <string>

#include "absl/status/status.h"
#include "poniente/token_store.h"

namespace poniente::cli {

// As VerifyTokenStore(); `what` is what is being done, "verifying". Other
// projects' files, which have no checksums, are read to the end.
absl::Status VerifyWithProgress(const TokenSource& source,
                                const std::string& what);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_VERIFY_STORE_H_
