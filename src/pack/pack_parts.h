// SPDX-License-Identifier: Apache-2.0
// The inputs of a pack divided over processes.

#ifndef PONIENTE_PACK_PACK_PARTS_H_
#define PONIENTE_PACK_PACK_PARTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pack/text_inputs.h"

namespace poniente::internal {

// One of so many parts of the inputs, each packed into a store of its own.
struct PackPart {
  uint32_t ordinal = 0;  // from 0 on
  uint32_t parts = 1;
};

// The inputs of a part: whole ones, in order, so that
// the parts one after the other hold all, and about as many bytes each. What
// has a byte in the middle of several parts belongs to that of its own middle.
// InvalidArgument if one is a stream, of which there is only one reader.
absl::StatusOr<std::vector<TextInput>> InputsOfPart(
    const std::vector<TextInput>& inputs, const PackPart& part);

// "DIR/part-00003-of-00008"
std::string PathOfPart(const std::string& folder, const PackPart& part);

// FailedPrecondition if the folder is a store itself, or holds parts of another
// division: what reads all below it would take them for parts of this one.
absl::Status CheckPartFolder(const std::string& folder, const PackPart& part);

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_PACK_PARTS_H_
