// SPDX-License-Identifier: Apache-2.0
// A mixture from one of whose sources documents or items are dropped.

#ifndef PONIENTE_DATASET_STEERING_DROPPED_SOURCE_H_
#define PONIENTE_DATASET_STEERING_DROPPED_SOURCE_H_

#include <cstdint>
#include <map>
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

// The items that were dropped from a component so far, for datasets that read
// the same leaves, which are known by their fingerprints.
class DropsOf {
 public:
  // REQUIRES: the mixture has the component.
  static absl::StatusOr<DropsOf> Component(
      const MixtureDataset<TokenWindow>& mixture, std::string_view component);

  // Returns the dataset without it. Errors as WithoutDropped().
  absl::StatusOr<DatasetPtr<TokenWindow>> Without(
      const DatasetPtr<TokenWindow>& all) const;

 private:
  // Adds what nodes leave out that changes have put there.
  absl::Status AddBelow(const DatasetNode& node);

  std::map<uint64_t, std::vector<NumberRange>> items_;  // by leaf
};

}  // namespace poniente::internal

#endif  // PONIENTE_DATASET_STEERING_DROPPED_SOURCE_H_
