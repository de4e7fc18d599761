// SPDX-License-Identifier: Apache-2.0
// Where items come from, through a whole tree: index -> (leaf, item, epoch)
// before anything is read, and back.

#ifndef PONIENTE_DATASET_TREE_H_
#define PONIENTE_DATASET_TREE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/extend/dataset_node.h"
#include "poniente/extend/index_map.h"

namespace poniente {

// A leaf of a tree and the names that lead to it.
struct TreeLeaf {
  // Names from the root down, joined by '/'; unnamed nodes are left out.
  // "prose/fortunes".
  std::string path;
  const DatasetNode* node = nullptr;  // owned by the tree
  // Items of the root are the leaf's own: no function makes them on the way.
  bool is_plain = true;
};

// An item of a leaf, in the leaf's own index and epoch.
struct LeafPosition {
  uint32_t leaf = 0;
  Position position;

  friend bool operator==(const LeafPosition&, const LeafPosition&) = default;
};

// The index maps of a tree, composed.
//
// Determinism: pure, as the maps are.
// Ownership: borrows the tree, which must outlive it.
// Thread safety: immutable; any number of threads.
class DatasetTree {
 public:
  explicit DatasetTree(const DatasetNode& root);

  // In the order of declaration, depth first.
  std::span<const TreeLeaf> leaves() const { return leaves_; }

  // Writes to out[i] the leaf item that positions[i] of the root is.
  // Errors: OutOfRange for an index past a length; FailedPrecondition while a
  // length that a map follows from is not final.
  // REQUIRES: out.size() == positions.size().
  absl::Status Resolve(std::span<const Position> positions,
                       std::span<LeafPosition> out) const;

  // The one position of the root that reads this item of the leaf in this
  // epoch of the leaf; nullopt if none does. FailedPrecondition as above.
  absl::StatusOr<std::optional<Position>> Find(const LeafPosition& item) const;

  // Every position of the root that reads the item, or a part of it, in this
  // epoch of the leaf, with the part. Several where items are cut.
  // FailedPrecondition as above.
  absl::StatusOr<std::vector<FoundPart>> FindParts(uint32_t leaf, Index item,
                                                   uint64_t epoch) const;

  // The epochs of the leaf that these positions of the root may read from:
  // at least those they do; nullopt if none. FailedPrecondition as above.
  struct Epochs {
    uint64_t first = 0;
    uint64_t last = 0;
  };
  absl::StatusOr<std::optional<Epochs>> EpochsOf(uint32_t leaf,
                                                 const IndexSpan& span) const;

  // InvalidArgument, naming mixture, component and sample, if the first
  // `samples` of the root (0: all there are) draw a component of a mixture
  // beyond its max_epochs. Ok as far as lengths are not known yet.
  absl::Status CheckEpochs(uint64_t samples) const;

 private:
  struct Node {
    const DatasetNode* node;
    std::vector<uint32_t> children;  // numbers in nodes_
    uint32_t parent = 0;             // the root is its own
    uint32_t place = 0;              // among the parent's children
    uint32_t leaf = 0;               // for leaves: number in leaves_
  };

  uint32_t Add(const DatasetNode& node, const std::string& path, bool is_plain);
  absl::StatusOr<std::optional<IndexSpan>> SpanOf(uint32_t node,
                                                  const IndexSpan& span) const;
  absl::Status CheckEpochsBelow(uint32_t node, const std::string& path,
                                const IndexSpan& span) const;
  absl::Status ResolveBelow(uint32_t node, std::span<const Position> positions,
                            std::span<const uint32_t> places,
                            std::span<LeafPosition> out) const;

  std::vector<Node> nodes_;
  std::vector<TreeLeaf> leaves_;
  std::vector<uint32_t> node_of_leaf_;
};

}  // namespace poniente

#endif  // PONIENTE_DATASET_TREE_H_
