// SPDX-License-Identifier: Apache-2.0
// Checks all of a store, and says how far it is.

#ifndef PONIENTE_CLI_VERIFY_STORE_H_
#define PONIENTE_CLI_VERIFY_STORE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/token_store.h"

namespace poniente::cli {

// Reads nothing but the manifest, so that damaged stores open too.
absl::StatusOr<std::shared_ptr<const TokenStore>> OpenUnchecked(
    const std::string& path);

// As VerifyTokenStore(); `what` is what is being done, "verifying". Other
// projects' files, which have no checksums, are read to the end.
absl::Status VerifyWithProgress(const TokenSource& source,
                                const std::string& what);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_VERIFY_STORE_H_
