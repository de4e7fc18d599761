// SPDX-License-Identifier: Apache-2.0
// What makes the ids of `poniente pack`: bytes, a model, or the inputs.

#ifndef PONIENTE_CLI_COMMANDS_PACK_TOKENIZER_H_
#define PONIENTE_CLI_COMMANDS_PACK_TOKENIZER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/arguments.h"
#include "pack/packing.h"

namespace poniente::cli {

// Returns the error of a wrong command line.
absl::Status PackUsageError(std::string what);

// Reads the tokenizer, the vocabulary and the end-of-document id; opens token
// files, and adds what may be a mistake in them to `warnings`. REQUIRES: the
// inputs and their format have been read.
absl::Status ReadTokenizer(const Arguments& arguments,
                           internal::PackRequest* request,
                           std::vector<std::string>* warnings);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_COMMANDS_PACK_TOKENIZER_H_
