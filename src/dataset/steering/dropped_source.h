// SPDX-License-Identifier: Apache-2.0
// A mixture from one of whose sources documents or items are dropped.

#ifndef PONIENTE_DATASET_STEERING_DROPPED_SOURCE_H_
#define PONIENTE_DATASET_STEERING_DROPPED_SOURCE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/extend/dataset_node.h"
#include "poniente/journal.h"
#include "poniente/mixture_dataset.h"
#include "poniente/token_window.h"

namespace poniente::internal {

// Returns the items of a leaf that a change (kDrop) drops, in ascending order:
// those that it names, or that have a token of a document that it names. May
// read the ends of documents, and block meanwhile. InvalidArgument if there is
// no such item, or the leaf does not know its documents; OutOfRange if there is
// no such document; errors of reads.
absl::StatusOr<std::vector<uint64_t>> DroppedItemsOf(const DatasetNode& leaf,
                                                     const RunChange& change);

// Where a source lies below a mixture.
struct SourceBelow {
  std::string component;
  // Names from there to the source; none if it is the component.
  std::span<const std::string> names;
};

// Returns the mixture without what `change` (kDrop) drops, from its sample
// `start` on (docs/index-math.md 2.9). May read the ends of documents, and
// block meanwhile.
//
// Errors: InvalidArgument, naming the source, if there is none, its documents
//     are not known, a number is not one of its documents or items, nothing is
//     left of the component, or a node above the source numbers or repeats its
//     items so that none can be taken out. Errors of reads.
absl::StatusOr<DatasetPtr<TokenWindow>> WithoutDropped(
    const MixtureDataset<TokenWindow>& mixture, const SourceBelow& source,
    uint64_t start, const RunChange& change);

// Returns the dataset without some items of its leaves, by their numbers, in
// any order. Errors as WithoutDropped().
absl::StatusOr<DatasetPtr<TokenWindow>> WithoutItemsOfLeaves(
    const DatasetPtr<TokenWindow>& dataset,
    std::vector<std::vector<uint64_t>> items);

// Returns whether nodes of this kind have all items of what lies below them,
// however many these are, in an order of their own.
bool TakesAnyLength(std::string_view kind);

// Returns whether the node serves the same items in the same order in each
// epoch: neither it nor a node below it has an order, other than by scores
// without buckets, of documents or of items. False for packed documents in an
// order of their own.
bool IsSameInEachEpoch(const DatasetNode& node);

}  // namespace poniente::internal

#endif  // PONIENTE_DATASET_STEERING_DROPPED_SOURCE_H_
