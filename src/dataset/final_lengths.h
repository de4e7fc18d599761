// SPDX-License-Identifier: Apache-2.0
// For nodes whose children must have final lengths.

#ifndef PONIENTE_DATASET_FINAL_LENGTHS_H_
#define PONIENTE_DATASET_FINAL_LENGTHS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "poniente/extend/dataset_node.h"

namespace poniente::internal {

// Returns the readable lengths; InvalidArgument, naming the child, if one is
// endless. There may be fewer names than lengths.
inline absl::StatusOr<std::vector<uint64_t>> FinalLengths(
    std::span<const LengthState> lengths,
    std::span<const std::string> names = {}) {
  std::vector<uint64_t> finite;
  finite.reserve(lengths.size());
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i].is_endless) {
      return absl::InvalidArgumentError(absl::StrCat(
          "component '", i < names.size() ? names[i] : absl::StrCat(i),
          "' is endless; Take() a finite part of it"));
    }
    finite.push_back(lengths[i].readable);
  }
  return finite;
}

}  // namespace poniente::internal

#endif  // PONIENTE_DATASET_FINAL_LENGTHS_H_
