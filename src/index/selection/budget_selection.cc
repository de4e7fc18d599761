// SPDX-License-Identifier: Apache-2.0
#include "index/selection/budget_selection.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "index/int128.h"
#include "index/keyed_hash.h"
#include "poniente/permutation.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kWordBits = 64;
// Places that are mapped together.
constexpr uint64_t kBatchPlaces = 1024;

absl::Status NoMemory(uint64_t size) {
  return absl::ResourceExhaustedError(
      absl::StrCat("no memory for a bitmap of ", size,
                   " items; cut parts of the dataset, or free some memory"));
}

// Calls take(item) for the items at the first `count` places.
template <class Take>
void ForEachKept(uint64_t size, uint64_t count, uint64_t seed,
                 const Take& take) {
  if (count == 0) return;
  const Permutation permutation(size, KeyHash(seed).Add(kBudgetTag).key());
  std::array<uint64_t, kBatchPlaces> places;
  for (uint64_t done = 0; done < count; done += kBatchPlaces) {
    const std::span<uint64_t> batch(
        places.data(),
        static_cast<size_t>(std::min(kBatchPlaces, count - done)));
    std::iota(batch.begin(), batch.end(), done);
    permutation.Forward(batch, batch);
    for (const uint64_t item : batch) take(item);
  }
}

template <class ItemOf>
absl::StatusOr<Selection> SelectKept(uint64_t all, uint64_t size,
                                     uint64_t count, uint64_t seed,
                                     const ItemOf& item_of) {
  if (all > Selection::kMaxItems) {
    return absl::InvalidArgumentError(
        absl::StrCat("a selection from ", all, " items, only ",
                     Selection::kMaxItems, " are possible"));
  }
  std::vector<uint64_t> words;
  try {
    words.resize(static_cast<size_t>((all + kWordBits - 1) / kWordBits));
  } catch (const std::bad_alloc&) {
    return NoMemory(all);
  }
  ForEachKept(size, count, seed, [&](uint64_t ordinal) {
    const uint64_t item = item_of(ordinal);
    words[item / kWordBits] |= uint64_t{1} << item % kWordBits;
  });
  return Selection::FromBitmap(all, std::move(words));
}

}  // namespace

uint64_t BudgetItems(uint64_t items, uint64_t experiment, uint64_t target) {
  PONIENTE_CHECK(experiment >= 1 && experiment <= target)
      << experiment << " of " << target;
  return static_cast<uint64_t>((Uint128{items} * experiment + (target - 1)) /
                               target);
}

absl::StatusOr<Selection> SelectByBudget(uint64_t size, uint64_t experiment,
                                         uint64_t target, uint64_t seed) {
  return SelectKept(size, size, BudgetItems(size, experiment, target), seed,
                    [](uint64_t ordinal) { return ordinal; });
}

absl::StatusOr<Selection> SelectByBudget(const Selection& among,
                                         uint64_t experiment, uint64_t target,
                                         uint64_t seed) {
  return SelectKept(among.size(), among.count(),
                    BudgetItems(among.count(), experiment, target), seed,
                    [&](uint64_t ordinal) { return among.Select(ordinal); });
}

}  // namespace poniente::internal
