// SPDX-License-Identifier: Apache-2.0
#include "analysis/diff/tree_differences.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/diff/stated_options.h"

namespace poniente::internal {
namespace {

std::string LengthWords(const DatasetNode& node) {
  const LengthState length = node.length_now();
  if (length.is_endless) return "endless";
  return absl::StrCat(length.readable, " items");
}

}  // namespace

std::string NodeWords(const std::string& path) {
  return path.empty() ? "the root" : absl::StrCat("'", path, "'");
}

void TreeDifferences::Add(std::string what, DiffValue a, DiffValue b,
                          std::optional<uint64_t> from_step) {
  differences_->push_back(
      {std::move(what), std::move(a), std::move(b), from_step, true});
}

bool TreeDifferences::AddOptions(const std::string& path,
                                 std::optional<uint64_t> from_step) {
  const std::vector<OptionDifference> options =
      DiffOptions(a_.run(), b_.run(), path);
  for (const OptionDifference& one : options) {
    std::string what = absl::StrCat(one.key, " of ", NodeWords(path));
    if (told_.insert(what).second) {
      Add(std::move(what), one.a, one.b, from_step);
    }
  }
  return !options.empty();
}

void TreeDifferences::AddOptionsOr(std::string what, const DatasetNode& a,
                                   const DatasetNode& b,
                                   const std::string& path,
                                   std::optional<uint64_t> from_step) {
  if (AddOptions(path, from_step)) return;
  const std::string items_a = LengthWords(a);
  const std::string items_b = LengthWords(b);
  const auto words = [&](const DatasetNode& node, const std::string& items) {
    if (items_a != items_b) return items;
    return absl::StrFormat("%s, fingerprint %016x", items, node.fingerprint());
  };
  Add(std::move(what), words(a, items_a), words(b, items_b), from_step);
}

std::optional<uint64_t> TreeDifferences::AfterLeaves(
    std::optional<uint32_t> leaf_a, std::optional<uint32_t> leaf_b) {
  return After(leaf_a.has_value() ? reads_a_.Of(*leaf_a) : std::nullopt,
               leaf_b.has_value() ? reads_b_.Of(*leaf_b) : std::nullopt);
}

std::optional<uint64_t> TreeDifferences::AfterBelow(const std::string& path) {
  return After(reads_a_.Below(path), reads_b_.Below(path));
}

std::optional<uint64_t> TreeDifferences::StepOf(uint64_t sample) const {
  if (compared_.steps == 0) return std::nullopt;
  const StepPlan last = a_.schedule().At(compared_.steps - 1);
  if (sample >= last.first_sample + last.batch_size) return std::nullopt;
  return a_.schedule().StepOf(sample);
}

// Where reading begins is known by the block: a difference there cannot matter
// before the runs differ.
std::optional<uint64_t> TreeDifferences::After(
    std::optional<uint64_t> read_a, std::optional<uint64_t> read_b) const {
  if (!read_a.has_value() && !read_b.has_value()) return std::nullopt;
  if (!compared_.first.has_value()) return std::nullopt;
  const uint64_t read =
      std::min(read_a.value_or(UINT64_MAX), read_b.value_or(UINT64_MAX));
  return std::max(read, compared_.first->step);
}

}  // namespace poniente::internal
