// SPDX-License-Identifier: Apache-2.0
#include "loader/rows/id_errors.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "io/range_source.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr char kOfFiles[] =
    "the data is corrupt or of another tokenizer: check it with `poniente "
    "inspect --verify`";

absl::Status WrongId(const TreeLeaf& leaf, uint64_t item, std::string_view what,
                     std::string_view remedy) {
  return absl::DataLossError(absl::StrCat("'", leaf.path, "' item ", item,
                                          ": token id ", Absl(what), "; ",
                                          Absl(remedy)));
}

std::string NotBelow(uint64_t id, uint64_t limit) {
  return absl::StrCat(id, " is not below ", limit,
                      ", the size of the vocabulary or of what its type holds");
}

}  // namespace

absl::Status NotAnIdOfFile(const TreeLeaf& leaf, uint64_t item, uint64_t id,
                           uint64_t limit) {
  const RangeSource& ranges = *leaf.node->ranges();
  const uint32_t above = 64 - 8 * ranges.width_bytes();  // bits
  const int64_t stored = static_cast<int64_t>(id << above) >> above;
  if (ranges.ids_are_signed() && stored < 0) {
    return WrongId(leaf, item, absl::StrCat(stored, " is negative"), kOfFiles);
  }
  return WrongId(leaf, item, NotBelow(id, limit), kOfFiles);
}

absl::Status NotAnIdOf(const TreeLeaf& leaf, uint64_t item, uint64_t id,
                       uint64_t limit) {
  const char* remedy =
      "since it is a dataset of the program's own, its tokens must be below "
      "the vocabulary that it states";
  if (!leaf.is_plain && leaf.node->reads_files()) {
    remedy =
        "a function above the source makes its tokens (Map, MapBatches), and "
        "must make ids below that number, or what it gets is corrupt or of "
        "another tokenizer: check that with `poniente inspect --verify`";
  } else if (!leaf.is_plain) {
    remedy =
        "a function above the source makes its tokens (Map, MapBatches), and "
        "must make ids below that number";
  } else if (leaf.node->reads_files()) {
    remedy = kOfFiles;
  } else if (leaf.node->vocabulary() == nullptr) {
    remedy =
        "it is a dataset of the program's own that states no vocabulary(): "
        "state one, and a token_type that holds its ids";
  }
  return WrongId(leaf, item, NotBelow(id, limit), remedy);
}

}  // namespace poniente::internal
