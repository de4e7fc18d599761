// SPDX-License-Identifier: Apache-2.0
// What a tree knows about each of its nodes without knowing the type of the
// items: name, children, index map, file ranges, vocabulary, fingerprint.
// Planning, provenance and the loader need nothing else.

#ifndef PONIENTE_EXTEND_DATASET_NODE_H_
#define PONIENTE_EXTEND_DATASET_NODE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "poniente/extend/busy_time.h"
#include "poniente/extend/index_map.h"
#include "poniente/token_window.h"

namespace poniente {

class DatasetNode;
class ItemSets;
class LossMaskSource;
class RangeSource;

// How long a dataset is, as far as is known now.
struct LengthState {
  // Items that can be read now; UINT64_MAX if endless and final.
  uint64_t readable = 0;
  // `readable` can no longer change. An endless dataset is final once
  // everything below it is.
  bool is_final = false;
  // There will never be a final length.
  bool is_endless = false;

  static LengthState Final(uint64_t length) { return {length, true, false}; }
  static LengthState Growing(uint64_t length) { return {length, false, false}; }
  static LengthState Endless() { return {UINT64_MAX, true, true}; }

  friend bool operator==(const LengthState&, const LengthState&) = default;
};

// A child of a node, with its name.
struct NamedNode {
  std::string name = {};
  const DatasetNode* node = nullptr;  // owned by the parent
  // Number of the view, for a component with several views of the same name;
  // otherwise 0.
  uint32_t view = 0;
  // The view has the sources of the view before it, without some of their
  // items: its leaves count as the same (DatasetTree::leaves()).
  bool shares_sources = false;
  // Above 0 for a component that a mixture got while it was read: the number of
  // the change. Its leaves come behind all that were there before it
  // (DatasetTree::leaves()), and it is not part of the mixture's fingerprint.
  uint64_t added = 0;
};

// What a node is without its children. Comparing identities shows where a tree
// has changed.
struct NodeIdentity {
  // Hash of the kind and all parameters except the seed.
  uint64_t parameters = 0;
  // Seed of the node: keys the node's order, if the node has one. The seeds of
  // the children are derived from it. Nullopt if the node passes on its
  // parent's seed.
  std::optional<uint64_t> seed = std::nullopt;
  // The seed was stated, not derived from the parent's seed.
  bool states_seed = false;
  // The node defines an order of its own.
  bool is_order = false;
  // The children's order of declaration matters; if not, only their names do.
  bool is_sequence = false;
};

namespace internal {

// Marks nodes that make their items of what lies in memory, or of the items of
// their children. Once their lengths are final, they wait for nothing but their
// children and functions of the user's, which may run on threads.
class OnlyComputes {
 protected:
  ~OnlyComputes() = default;
};

// Marks those that call no function but an index map.
class OnlyCopies : public OnlyComputes {
 protected:
  ~OnlyCopies() = default;
};

}  // namespace internal

// A node of a tree, without the type of its items.
//
// Thread safety: immutable except for the lengths of growing datasets; any
// number of threads.
class DatasetNode {
 public:
  DatasetNode() = default;
  DatasetNode(const DatasetNode&) = delete;
  DatasetNode& operator=(const DatasetNode&) = delete;
  virtual ~DatasetNode();

  // Returns the name used in messages: the kind of node, or where a leaf lies.
  virtual std::string name() const = 0;

  // Returns the children in order of declaration; none for a leaf.
  virtual std::vector<NamedNode> children() const { return {}; }

  // Returns the index map; null for a leaf. While lengths below are not final,
  // returns the map of the readable items for nodes that have one (Concat,
  // Slice, EraShuffle, Map), else null. For a node that makes its items from
  // its child's, returns the identity.
  virtual std::shared_ptr<const IndexMap> map() const { return nullptr; }

  // Returns whether the items are made from the children's items rather than
  // being the children's own.
  virtual bool makes_items() const { return false; }

  // Returns whether a node that makes items leaves the documents of each item
  // where they are, and changes only their tokens, anew in each epoch. Loaders
  // know such a node (InfilledDataset) if it is the root, and what lies below
  // it then counts as plain leaves (TreeLeaf::is_plain).
  virtual bool keeps_pieces() const { return false; }

  // Returns where a leaf's items lie in files; null if they lie in memory.
  virtual const RangeSource* ranges() const { return nullptr; }

  // Returns where a leaf's source says which of its tokens have loss; null if
  // all of them have. Loaders join it to labels and loss masks, and refuse such
  // a leaf where they cannot.
  virtual const LossMaskSource* loss_mask() const { return nullptr; }

  // Returns whether a leaf reads its items from files. If not, a loader that
  // waits for the leaf reports the leaf, not the disk, as the cause.
  virtual bool reads_files() const { return ranges() != nullptr; }

  // Returns the tokenizer; null if the items are not tokens or their tokenizer
  // is not known.
  virtual const Vocabulary* vocabulary() const { return nullptr; }

  // Returns the tokens in each item; 0 if lengths differ or the items are not
  // tokens.
  virtual uint32_t item_tokens() const { return 0; }

  // Returns the sets in which each epoch reads a leaf's items; null if they
  // come in no sets.
  virtual std::shared_ptr<const ItemSets> item_sets() const { return nullptr; }

  // Returns whether an epoch serves items of a child several times, as Repeat()
  // does.
  virtual bool repeats_items() const { return false; }

  // Returns whether the items are the first ones of the child, as with Take().
  virtual bool is_prefix() const { return false; }

  // Returns whether this node or one below it defines an order of its own, so
  // that a mixture must not permute it.
  virtual bool has_order() const;

  // Returns the identity of the data and its order, equal on every machine. It
  // covers content, names, structure, seeds and weights. It does not cover the
  // stages and views of a mixture after the first, which may be edited during a
  // run.
  virtual uint64_t fingerprint() const = 0;

  // Returns a hash of the content of a leaf's first `items` items: the same
  // while the leaf grows and once it is complete. nullopt if it is not known,
  // or there are fewer items. May read, and block meanwhile.
  virtual std::optional<uint64_t> BeginFingerprint(uint64_t items) const {
    (void)items;
    return std::nullopt;
  }

  // Returns the node's identity; nullopt for a leaf, and for a node that only
  // fingerprint() can identify.
  virtual std::optional<NodeIdentity> identity() const { return std::nullopt; }

  // Returns the length as far as it is known now, without waiting.
  virtual LengthState length_now() const = 0;

  // Begins to count how long the parent's calls of this node take; for a node
  // that makes items, how long its function takes. Loaders call this for nodes
  // that read no files.
  void CountTime() const;
  // Returns the time counted; null before CountTime().
  internal::BusyTime* busy_time() const {
    // Acquire: the object was made on another thread.
    return busy_time_.load(std::memory_order_acquire);
  }

 private:
  mutable std::atomic<internal::BusyTime*> busy_time_ = nullptr;  // owned
};

}  // namespace poniente

#endif  // PONIENTE_EXTEND_DATASET_NODE_H_
