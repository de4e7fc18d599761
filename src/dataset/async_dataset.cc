// SPDX-License-Identifier: Apache-2.0
#include "poniente/async_dataset.h"

#include "absl/strings/str_cat.h"

namespace poniente::internal {

absl::Status PartOfItemError(const DatasetNode& node) {
  return absl::InvalidArgumentError(
      absl::StrCat("dataset '", node.name(),
                   "' gives whole items only; a part of one was asked for"));
}

absl::Status EndlessError(const DatasetNode& node) {
  return absl::FailedPreconditionError(absl::StrCat(
      "dataset '", node.name(),
      "' is endless and has no final length; Take() a finite part of it"));
}

absl::Status CheckReadable(const DatasetNode& node,
                           std::span<const Index> indices) {
  const uint64_t length = node.length_now().readable;
  for (const Index index : indices) {
    if (index < length) continue;
    return absl::OutOfRangeError(absl::StrCat("index ", index, " of '",
                                              node.name(), "', which has ",
                                              length, " items"));
  }
  return absl::OkStatus();
}

}  // namespace poniente::internal
