// SPDX-License-Identifier: Apache-2.0
#include "loader/drop_checks.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "dataset/joined_path.h"
#include "dataset/steering/dropped_source.h"

namespace poniente::internal {
namespace {

constexpr size_t kShown = 4;
// Up to here, it is looked up again what a change drops.
constexpr uint64_t kFewDocuments = 1024;

std::string WholeOf(const RunChange& split) {
  return JoinedPath(split.path, split.components[0]);
}

}  // namespace

absl::Status CheckIsNotSplit(const RunChange& change, const Journal& journal) {
  if (change.kind != RunChange::Kind::kDrop) return absl::OkStatus();
  for (const JournalEntry& entry : journal.EntriesOf(RunChange::Kind::kSplit)) {
    const std::string whole = WholeOf(entry.change);
    if (!IsAtOrBelow(change.path, whole)) continue;
    const auto add_part = [&entry](std::string* out,
                                   const ComponentText& part) {
      absl::StrAppend(out, "'", JoinedPath(entry.change.path, part.name), "'");
    };
    return absl::InvalidArgumentError(absl::StrCat(
        change.masks ? "mask" : "drop", " documents of '", change.path,
        "': change ", entry.number, " has split '", whole,
        "', which is not read any more; name each of its parts: ",
        absl::StrJoin(entry.change.added, ", ", add_part)));
  }
  return absl::OkStatus();
}

std::string WarningOfNothing(const JournalEntry& entry,
                             const DatasetTree& tree) {
  const RunChange& change = entry.change;
  if (change.kind != RunChange::Kind::kDrop || change.masks ||
      change.drops_items) {
    return "";
  }
  uint64_t documents = 0;
  for (const NumberRange& range : change.dropped) {
    documents += range.end - range.begin;
  }
  if (documents > kFewDocuments) return "";
  bool is_found = false;
  for (const TreeLeaf& leaf : tree.leaves()) {
    if (leaf.path != change.path) continue;
    is_found = true;
    const auto items = DroppedItemsOf(*leaf.node, change);
    if (!items.ok() || !items->empty()) return "";
  }
  if (!is_found) return "";
  return absl::StrCat(
      "change ", entry.number, " drops documents of '", change.path,
      "' of which the run reads nothing (they are held out, left out, or in no "
      "whole window), so it changes nothing; evaluations are not changed by "
      "drops");
}

std::string WarningOfOthers(const JournalEntry& entry, const Journal& journal,
                            const DatasetTree& tree) {
  if (entry.change.kind != RunChange::Kind::kDrop) return "";
  std::set<uint64_t> prints;
  for (const TreeLeaf& leaf : tree.leaves()) {
    if (leaf.path == entry.change.path) prints.insert(leaf.node->fingerprint());
  }
  std::set<std::string> others;
  for (const TreeLeaf& leaf : tree.leaves()) {
    if (leaf.path != entry.change.path &&
        prints.contains(leaf.node->fingerprint())) {
      others.insert(leaf.path);
    }
  }
  if (others.empty()) return "";
  for (const JournalEntry& one : journal.EntriesOf(RunChange::Kind::kDrop)) {
    if (one.change.dropped == entry.change.dropped &&
        one.change.drops_items == entry.change.drops_items) {
      others.erase(one.change.path);
    }
  }
  for (const JournalEntry& one : journal.EntriesOf(RunChange::Kind::kSplit)) {
    std::erase_if(others, [&one](const std::string& path) {
      return IsAtOrBelow(path, WholeOf(one.change));
    });
  }
  if (others.empty()) return "";
  std::string names;
  size_t shown = 0;
  for (const std::string& path : others) {
    if (shown++ == kShown) break;
    absl::StrAppend(&names, names.empty() ? "" : ", ", "'", path, "'");
  }
  if (others.size() > kShown) {
    absl::StrAppend(&names, " and ", others.size() - kShown, " more");
  }
  return absl::StrCat(
      "change ", entry.number, entry.change.masks ? " masks" : " drops",
      entry.change.drops_items ? " items" : " documents", " of '",
      entry.change.path, "', but the same data is also read as ", names,
      ", where they stay; make the same change there if they are to go");
}

}  // namespace poniente::internal
