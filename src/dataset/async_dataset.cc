// SPDX-License-Identifier: Apache-2.0
#include "poniente/async_dataset.h"

#include <new>
#include <string>

#include "absl/strings/str_cat.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Names the dataset in an error, even if its name() throws.
std::string WhichDataset(const DatasetNode& node) {
  try {
    return absl::StrCat("dataset '", node.name(), "'");
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    return "a dataset (its name() throws)";
  }
}

}  // namespace

absl::Status CannotWaitError(const DatasetNode& node, uint64_t n) {
  return absl::UnimplementedError(absl::StrCat(
      WhichDataset(node), " has ", node.length_now().readable,
      " items and grows, but does not override WaitForLength(), which must "
      "wait until there are ",
      n));
}

absl::Status PartOfItemError(const DatasetNode& node) {
  return absl::InvalidArgumentError(
      absl::StrCat("dataset '", node.name(),
                   "' gives whole items only; a part of one was asked for"));
}

absl::Status CheckPart(const DatasetNode& node, const Position& position,
                       uint64_t tokens) {
  const uint64_t end = uint64_t{position.part_begin} + position.part_length;
  if (end <= tokens) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(
      "tokens ", position.part_begin, " to ", end, " of item ", position.index,
      " of '", node.name(), "', which has ", tokens));
}

absl::Status CutToParts(const DatasetNode& node,
                        std::span<const Position> positions,
                        std::vector<TokenWindow>* windows) {
  for (size_t i = 0; i < positions.size() && i < windows->size(); ++i) {
    const Position& position = positions[i];
    if (position.part_length == kWholeItem) continue;
    std::vector<uint32_t>& tokens = (*windows)[i].tokens;
    PONIENTE_RETURN_IF_ERROR(CheckPart(node, position, tokens.size()));
    tokens.resize(size_t{position.part_begin} + position.part_length);
    tokens.erase(tokens.begin(), tokens.begin() + position.part_begin);
  }
  return absl::OkStatus();
}

std::vector<Position> WithoutParts(std::span<const Position> positions) {
  std::vector<Position> whole(positions.begin(), positions.end());
  for (Position& position : whole) {
    position.part_begin = 0;
    position.part_length = kWholeItem;
  }
  return whole;
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

absl::Status AtItems(const absl::Status& error, const DatasetNode& node,
                     std::span<const Position> positions) try {
  if (absl::IsCancelled(error)) return error;
  std::string where = WhichDataset(node);
  if (positions.size() == 1) {
    absl::StrAppend(&where, " item ", positions[0].index, " epoch ",
                    positions[0].epoch);
  } else if (!positions.empty()) {
    absl::StrAppend(&where, ", one of ", positions.size(), " items");
  }
  return Prepend(error, where);
} catch (const std::bad_alloc&) {
  return OutOfMemory();
}

}  // namespace poniente::internal
