// SPDX-License-Identifier: Apache-2.0
// The inputs of a pack divided over processes.

#ifndef PONIENTE_CLI_PACK_PARTS_H_
#define PONIENTE_CLI_PACK_PARTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/arguments.h"
#include "cli/text_inputs.h"

namespace poniente::cli {

// The inputs of part `part.rank` of `part.ranks`: whole ones, in order, so that
// the parts one after the other hold all, and about as many bytes each. What
// has a byte in the middle of several parts belongs to that of its own middle.
// InvalidArgument if one is a stream, of which there is only one reader.
absl::StatusOr<std::vector<TextInput>> InputsOfPart(
    const std::vector<TextInput>& inputs, const Rank& part);

// "DIR/part-00003-of-00008"
std::string PathOfPart(const std::string& folder, const Rank& part);

// FailedPrecondition if the folder is a store itself, or holds parts of another
// division: what reads all below it would take them for parts of this one.
absl::Status CheckPartFolder(const std::string& folder, const Rank& part);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_PACK_PARTS_H_
