// SPDX-License-Identifier: Apache-2.0
// Describes the part of a tree that decided the samples served so far. It has
// separate members, so that a message can say which of them has changed. It
// leaves out everything that may still be edited.

#ifndef PONIENTE_DATASET_TREE_PAST_H_
#define PONIENTE_DATASET_TREE_PAST_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "poniente/extend/dataset_node.h"

namespace poniente::internal {

// A leaf that the past has drawn from.
struct PastSource {
  // Names from the root down, joined by '/'; several leaves of one path are
  // kept apart.
  std::string path;
  // Fingerprint of the leaf's content, and of how its documents are filled in
  // the middle up to the last sample; nullopt while it grows.
  std::optional<uint64_t> fingerprint = std::nullopt;
  // Of a leaf that grows, or counts as growing: of its content up to the last
  // item of the past, or of its era; nullopt if it is not known, or if that
  // item depends on how much there is of the leaf, as below Concat().
  std::optional<uint64_t> begin = std::nullopt;

  friend bool operator==(const PastSource&, const PastSource&) = default;
};

// Weights and stages of the root mixture.
struct PastWeights {
  // End of the block of the last sample: no stage may begin before it.
  uint64_t end = 0;
  uint64_t stages = 0;
  uint64_t hash = 0;

  friend bool operator==(const PastWeights&, const PastWeights&) = default;
};

// The past of a tree. Seed, structure, weights and data are hashed separately,
// so that a change of one is not reported as a change of another.
struct TreePast {
  // Seed of the topmost node that has an order or several children.
  std::optional<uint64_t> seed;
  // Hash of kinds of nodes, names, shuffles, starts of views and stated seeds.
  // nullopt while a length that an order depends on is not final; nothing below
  // is known then either.
  std::optional<uint64_t> structure;
  // Weights of the root mixture; nullopt if the root is not a mixture.
  std::optional<PastWeights> weights;
  // Hash of all mixtures below it; nullopt if there are none.
  std::optional<uint64_t> nested;
  // Sources by path, in bytewise order.
  std::vector<PastSource> sources;

  friend bool operator==(const TreePast&, const TreePast&) = default;
};

// Returns the past of the first `samples` samples of the root, which may be
// more than it has.
//
// A mixture is hashed up to the end of the block that it has begun. An endless
// mixture below it is hashed as far as the blocks above have drawn from it; so
// are Take, Slice, Repeat and Map. Components not drawn yet are left out. All
// other nodes (and finite mixtures below a mixture) are hashed whole, with
// everything below them: they have shuffled everything, so there is no future
// to leave out.
//
// Above a leaf that grows, or has grown since, nothing that depends on how much
// of the leaf is there counts. `grew`: paths of leaves that count as growing,
// because they grew when a state was saved.
TreePast PastOf(const DatasetNode& root, uint64_t samples,
                std::span<const std::string> grew = {});

// Returns the seed of PastOf() alone, without a look at the data of the leaves,
// and also if a function throws that says how long they are.
std::optional<uint64_t> SeedOfPast(const DatasetNode& root, uint64_t samples);

}  // namespace poniente::internal

#endif  // PONIENTE_DATASET_TREE_PAST_H_
