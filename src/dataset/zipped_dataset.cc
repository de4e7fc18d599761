// SPDX-License-Identifier: Apache-2.0
#include "poniente/zipped_dataset.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

std::string LengthText(const NamedNode& child) {
  const LengthState length = child.node->length_now();
  return absl::StrCat(
      "'", child.name, "' ",
      length.is_endless ? "is endless" : absl::StrCat("has ", length.readable));
}

}  // namespace

NodeIdentity ZipIdentity(size_t children) {
  return {.parameters = Derive(0, Tag("zip"), uint64_t{children}),
          .is_sequence = true};
}

uint64_t ZipFingerprint(std::span<const NamedNode> children) {
  uint64_t print = Derive(0, Tag("zip"), uint64_t{children.size()});
  for (const NamedNode& child : children) {
    print = Derive(print, Tag("child"), std::string_view(child.name),
                   child.node->fingerprint());
  }
  return print;
}

absl::Status CheckZip(std::span<const NamedNode> children) {
  absl::flat_hash_set<std::string> names;
  for (const NamedNode& child : children) {
    if (child.node == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("zip: '", child.name, "' has no dataset"));
    }
    if (!names.insert(child.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("zip: two datasets are named '", child.name, "'"));
    }
  }
  return CheckZipLengths(children);
}

absl::Status CheckZipLengths(std::span<const NamedNode> children) {
  const auto readable = [](const NamedNode& child) {
    return child.node->length_now().readable;
  };
  // The shortest length that is final is the length of all, or an error.
  const NamedNode* shortest = nullptr;
  for (const NamedNode& child : children) {
    const LengthState length = child.node->length_now();
    if (!length.is_final || length.is_endless) continue;
    if (shortest == nullptr || length.readable < readable(*shortest)) {
      shortest = &child;
    }
  }
  if (shortest == nullptr) return absl::OkStatus();
  for (const NamedNode& child : children) {
    const LengthState length = child.node->length_now();
    if (!length.is_endless && length.readable <= readable(*shortest) &&
        (!length.is_final || length.readable == readable(*shortest))) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("zip: ", LengthText(*shortest), " items, ",
                     LengthText(child), "; Take() the same number of each"));
  }
  return absl::OkStatus();
}

LengthState ZipLength(std::span<const NamedNode> children) {
  LengthState all = LengthState::Endless();
  bool has_one_length = true;
  for (const NamedNode& child : children) {
    const LengthState length = child.node->length_now();
    if (&child != &children.front() && (length.is_endless != all.is_endless ||
                                        length.readable != all.readable)) {
      has_one_length = false;
    }
    all.readable = std::min(all.readable, length.readable);
    all.is_final = all.is_final && length.is_final;
    all.is_endless = all.is_endless && length.is_endless;
  }
  // Requests beyond a length that differs must ask, and get the error.
  if (!has_one_length) all.is_final = false;
  return all;
}

}  // namespace poniente::internal
