// SPDX-License-Identifier: Apache-2.0
// What looks wrong in the ids of a source.

#ifndef PONIENTE_CLI_COMMANDS_SOURCE_WARNINGS_H_
#define PONIENTE_CLI_COMMANDS_SOURCE_WARNINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "poniente/token_source.h"

namespace poniente::cli {

// Checks some ids from the beginning, the middle and the end, or all of them.
// They should be below `vocabulary_size`; 0: the size that the source states,
// if it does.
absl::Status WarnOfIds(const TokenSource& source, uint64_t vocabulary_size,
                       bool looks_at_all, std::vector<std::string>* warnings);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_COMMANDS_SOURCE_WARNINGS_H_
