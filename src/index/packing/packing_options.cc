// SPDX-License-Identifier: Apache-2.0
#include "index/packing/packing_options.h"

#include <array>
#include <cstddef>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "index/packing/bin_plan.h"
#include "util/status_macros.h"

namespace poniente::internal {

namespace {

constexpr uint32_t kMaxParts = 256;

}  // namespace

absl::Status CheckPackingOptions(uint32_t window_tokens,
                                 const PackingOptions& options) {
  if (window_tokens == 0 || window_tokens == UINT32_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("windows of packed documents have 1 to 2^32 - 2 tokens, "
                     "got ",
                     window_tokens));
  }
  if (options.align == 0 || window_tokens % options.align != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the alignment of packed documents must divide the window, got ",
        options.align, " for windows of ", window_tokens, " tokens"));
  }
  if (window_tokens / options.align > kMaxBinUnits) {
    return absl::InvalidArgumentError(
        absl::StrCat("windows of ", window_tokens,
                     " tokens are too long to pack documents "
                     "with an alignment of ",
                     options.align, "; make it at least ",
                     (window_tokens - 1) / kMaxBinUnits + 1));
  }
  if (options.parts == 0 || options.parts > kMaxParts) {
    return absl::InvalidArgumentError(
        absl::StrCat("parts of packed documents must be from 1 to ", kMaxParts,
                     ", got ", options.parts));
  }
  if (options.overlap > 1 || options.overlap >= window_tokens) {
    return absl::InvalidArgumentError(absl::StrCat(
        "pieces of a packed document may share 0 or 1 tokens, and fewer than a "
        "window has, got ",
        options.overlap, " for windows of ", window_tokens, " tokens"));
  }
  if (options.shuffle_chunks == 0 ||
      options.shuffle_chunks > kMaxShuffleChunks) {
    return absl::InvalidArgumentError(
        absl::StrCat("shuffle_chunks of packed documents must be from 1 to ",
                     kMaxShuffleChunks, ", got ", options.shuffle_chunks));
  }
  return absl::OkStatus();
}

}  // namespace poniente::internal

namespace poniente {
namespace {

constexpr std::array<std::string_view, 2> kEndNames = {"keep", "drop"};
constexpr std::array<std::string_view, 5> kPolicyNames = {
    "split", "truncate", "truncate_left", "drop", "refuse"};

}  // namespace

std::string_view LongDocumentsName(LongDocuments policy) {
  return kPolicyNames[static_cast<size_t>(policy)];
}

std::string_view EndOfDocumentName(EndOfDocument policy) {
  return kEndNames[static_cast<size_t>(policy)];
}

absl::StatusOr<LongDocuments> ParseLongDocuments(std::string_view name) {
  for (size_t i = 0; i < kPolicyNames.size(); ++i) {
    if (kPolicyNames[i] == name) return static_cast<LongDocuments>(i);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "long documents are split, truncate, truncate_left, drop or refuse, not "
      "'",
      internal::Absl(name), "'"));
}

}  // namespace poniente
