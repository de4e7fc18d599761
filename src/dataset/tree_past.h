// SPDX-License-Identifier: Apache-2.0
// What of a tree decided the samples served so far, in parts, so that it can be
// said which of them has changed. What may still be edited is in none of them.

#ifndef PONIENTE_DATASET_TREE_PAST_H_
#define PONIENTE_DATASET_TREE_PAST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "poniente/extend/dataset_node.h"

namespace poniente::internal {

// A leaf that the past has drawn from.
struct PastSource {
  // Names from the root down, joined by '/'; several leaves of one path are
  // told apart.
  std::string path;
  // Of its content; nullopt while it grows.
  std::optional<uint64_t> fingerprint;

  friend bool operator==(const PastSource&, const PastSource&) = default;
};

// Weights and stages of the root mixture.
struct PastWeights {
  // The block of the last sample ends here: no stage may begin before.
  uint64_t end = 0;
  uint64_t stages = 0;
  uint64_t hash = 0;

  friend bool operator==(const PastWeights&, const PastWeights&) = default;
};

// Seed, structure, weights and data are hashed apart, so that a change of one
// is not taken for one of another.
struct TreePast {
  // Of the topmost node that has an order or several children.
  std::optional<uint64_t> seed;
  // Kinds of nodes, names, shuffles, starts of views, stated seeds. nullopt
  // while a length that an order follows from is not final: then nothing below
  // is known either.
  std::optional<uint64_t> structure;
  // nullopt if the root is no mixture.
  std::optional<PastWeights> weights;
  // Of all mixtures below it; nullopt if there is none.
  std::optional<uint64_t> nested;
  // By path, bytewise.
  std::vector<PastSource> sources;

  friend bool operator==(const TreePast&, const TreePast&) = default;
};

// Of the first `samples` of the root, which may be more than it has.
//
// A mixture is hashed up to the end of the block that it has begun, an endless
// one below it as far as the blocks above have drawn of it, and so are Take,
// Slice, Repeat and Map; components not drawn yet are left out. All other nodes
// (and finite mixtures below a mixture) are hashed whole, with all below them:
// where they have shuffled everything, there is no future to leave out.
TreePast PastOf(const DatasetNode& root, uint64_t samples);

}  // namespace poniente::internal

#endif  // PONIENTE_DATASET_TREE_PAST_H_
