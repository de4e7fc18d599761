// SPDX-License-Identifier: Apache-2.0
// Follows indices through a whole tree before anything is read: from a root
// index to (leaf, item, epoch), and back.

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

class Schedule;

// A leaf of a tree and the names that lead to it.
struct TreeLeaf {
  // Names from the root to the leaf, joined by '/'; unnamed nodes are left out.
  // Example: "prose/fortunes".
  std::string path = {};
  const DatasetNode* node = nullptr;  // owned by the tree
  // The root yields the leaf's own items: no function on the path makes new
  // ones.
  bool is_plain = true;
};

// An item of a leaf, in the leaf's own index and epoch.
struct LeafPosition {
  uint32_t leaf = 0;
  Position position = {};

  friend bool operator==(const LeafPosition&, const LeafPosition&) = default;
};

// The index maps of a tree, composed from the root to the leaves.
//
// Determinism: pure, as the maps are.
// Ownership: borrows the tree, which must outlive it.
// Thread safety: immutable; any number of threads.
class DatasetTree {
 public:
  explicit DatasetTree(const DatasetNode& root);

  // Returns the leaves in order of declaration, depth first, but those of
  // components that were added while the run went on behind all others, in the
  // order of these changes. Those of a view that shares the sources of the view
  // before it (NamedNode) are the leaves of that view.
  std::span<const TreeLeaf> leaves() const { return leaves_; }
  // Returns the numbers of the leaves as a walk through the tree meets them
  // first: in order of declaration, depth first, whenever they were added.
  std::vector<uint32_t> LeavesDepthFirst() const;

  // Writes to out[i] the leaf item that positions[i] of the root refers to.
  // Errors: OutOfRange for an index past a length; FailedPrecondition while a
  // length that a map depends on is not final. REQUIRES: out.size() ==
  // positions.size().
  absl::Status Resolve(std::span<const Position> positions,
                       std::span<LeafPosition> out) const;

  // Returns the one position of the root that reads this item of the leaf in
  // this epoch of the leaf; nullopt if there is none. FailedPrecondition as
  // above.
  absl::StatusOr<std::optional<Position>> Find(const LeafPosition& item) const;

  // Returns every position of the root that reads all or part of the item in
  // this epoch of the leaf, each with the part that it reads. There are several
  // only where items are cut. FailedPrecondition as above.
  absl::StatusOr<std::vector<FoundPart>> FindParts(uint32_t leaf, Index item,
                                                   uint64_t epoch) const;

  // Epochs [first, last] of a leaf.
  struct Epochs {
    uint64_t first = 0;
    uint64_t last = 0;
  };
  // Returns a range of epochs of the leaf that contains every epoch that the
  // positions in `span` read from; nullopt if they read nothing from the leaf.
  // FailedPrecondition as above.
  absl::StatusOr<std::optional<Epochs>> EpochsOf(uint32_t leaf,
                                                 const IndexSpan& span) const;

  // Checks that the first `samples` samples of the root (0: all) keep to the
  // max_epochs of every component. InvalidArgument, naming mixture, component
  // and sample, if not, and, if the root mixture ends, the steps that the
  // `schedule` has until then. Components whose lengths are not known yet pass.
  absl::Status CheckEpochs(uint64_t samples,
                           const Schedule* schedule = nullptr) const;

 private:
  struct Node {
    const DatasetNode* node;
    std::vector<uint32_t> children;  // numbers in nodes_
    uint32_t parent = 0;             // of the root: itself
    uint32_t place = 0;              // among the parent's children
    uint32_t leaf = 0;               // for leaves: number in leaves_
  };

  // What is known of a node that is added to the tree.
  struct Above {
    std::string path = {};
    bool is_plain = true;
    uint64_t added = 0;  // the last change that added a node on the way to it
    // The leaf that the first one below the node is, if the node's leaves are
    // known already. Counts on for each leaf.
    uint32_t* shared = nullptr;
  };
  uint32_t Add(const DatasetNode& node, const Above& above);
  void PutAddedLast();
  // Returns the first leaf below a node.
  uint32_t FirstLeafBelow(uint32_t number) const;
  absl::StatusOr<std::optional<Position>> FindFrom(uint32_t number,
                                                   Position position) const;
  absl::Status AppendPartsFrom(uint32_t number, Index item, uint64_t epoch,
                               std::vector<FoundPart>* all) const;
  absl::StatusOr<std::optional<IndexSpan>> SpanOf(uint32_t node,
                                                  const IndexSpan& span) const;
  absl::Status CheckEpochsBelow(uint32_t node, const std::string& path,
                                const IndexSpan& span,
                                const Schedule* schedule) const;
  absl::Status ResolveBelow(uint32_t node, std::span<const Position> positions,
                            std::span<const uint32_t> places,
                            std::span<LeafPosition> out) const;

  std::vector<Node> nodes_;
  std::vector<TreeLeaf> leaves_;
  std::vector<std::vector<uint32_t>> nodes_of_leaf_;
  std::vector<uint64_t> added_;  // by leaf: the change that added it, or 0
};

}  // namespace poniente

#endif  // PONIENTE_DATASET_TREE_H_
