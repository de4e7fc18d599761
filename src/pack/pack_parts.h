// SPDX-License-Identifier: Apache-2.0
// Divides the inputs of a pack among processes.

#ifndef PONIENTE_PACK_PACK_PARTS_H_
#define PONIENTE_PACK_PACK_PARTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pack/text_inputs.h"

namespace poniente::internal {

// One part of the inputs; each part is packed into its own store.
struct PackPart {
  uint32_t ordinal = 0;  // from 0 on
  uint32_t parts = 1;
};

// Returns the inputs of a part: whole ones, in order. All parts in sequence
// hold all inputs, with about the same number of bytes each. An input that
// spans several parts belongs to the part that contains its middle.
// InvalidArgument if an input is a stream, which has only one reader.
absl::StatusOr<std::vector<TextInput>> InputsOfPart(
    const std::vector<TextInput>& inputs, const PackPart& part);

// Returns "DIR/part-00003-of-00008".
std::string PathOfPart(const std::string& folder, const PackPart& part);

// Checks the folder of the parts. FailedPrecondition if it is itself a store,
// or holds parts of another division: readers of the whole folder would take
// them for parts of this one.
absl::Status CheckPartFolder(const std::string& folder, const PackPart& part);

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_PACK_PARTS_H_
