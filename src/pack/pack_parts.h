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

// Returns the inputs of a part. Parts consist of whole inputs; all parts in
// order have all inputs in order. Divides the bytes of all inputs into equal
// ranges; an input belongs to the part whose range contains its middle.
// InvalidArgument if an input is a stream, which only one process can read.
absl::StatusOr<std::vector<TextInput>> InputsOfPart(
    const std::vector<TextInput>& inputs, const PackPart& part);

// Returns "DIR/part-00003-of-00008".
std::string PathOfPart(const std::string& folder, const PackPart& part);

// Checks the folder of the parts. FailedPrecondition if it is a store itself,
// or holds parts of another division, because readers of the folder would mix
// these with the new parts.
absl::Status CheckPartFolder(const std::string& folder, const PackPart& part);

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_PACK_PARTS_H_
