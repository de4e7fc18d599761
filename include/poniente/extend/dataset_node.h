// SPDX-License-Identifier: Apache-2.0
// What a tree knows of each of its nodes without knowing the type of the items:
// name, children, index map, file ranges, vocabulary, fingerprint. Planning,
// provenance and the loader walk this and nothing else.

#ifndef PONIENTE_EXTEND_DATASET_NODE_H_
#define PONIENTE_EXTEND_DATASET_NODE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "poniente/extend/index_map.h"
#include "poniente/token_window.h"

namespace poniente {

class DatasetNode;
class RangeSource;

// How long a dataset is, as far as it is known now.
struct LengthState {
  // Items that can be read now; UINT64_MAX if endless.
  uint64_t readable = 0;
  // `readable` can no longer change. An endless dataset is final once what is
  // below it is: until then nothing of it can be read.
  bool is_final = false;
  // There will never be a final length.
  bool is_endless = false;

  static LengthState Final(uint64_t length) { return {length, true, false}; }
  static LengthState Growing(uint64_t length) { return {length, false, false}; }
  static LengthState Endless() { return {UINT64_MAX, true, true}; }

  friend bool operator==(const LengthState&, const LengthState&) = default;
};

struct NamedNode {
  std::string name;
  const DatasetNode* node = nullptr;  // owned by the parent
  // Which of the nodes of this name; 0 but for later views of a component.
  uint32_t view = 0;
};

// What a node is without its children, so that a changed tree can be told where
// it has changed.
struct NodeIdentity {
  // Of the kind and all parameters but the seed.
  uint64_t parameters = 0;
  // Keys its order or its children's; nullopt if it hands on what it is given.
  std::optional<uint64_t> seed = std::nullopt;
  // The seed was stated, not derived from the parent's.
  bool states_seed = false;
  // The node defines an order of its own.
  bool is_order = false;
  // The children's order of declaration matters; else only their names do.
  bool is_sequence = false;
};

// Thread safety: immutable but for the lengths of growing datasets; any number
// of threads.
class DatasetNode {
 public:
  DatasetNode() = default;
  DatasetNode(const DatasetNode&) = delete;
  DatasetNode& operator=(const DatasetNode&) = delete;
  virtual ~DatasetNode();

  // What messages call it: the kind of node, or where a leaf lies.
  virtual std::string name() const = 0;

  // In the order of declaration; none for a leaf.
  virtual std::vector<NamedNode> children() const { return {}; }

  // Null for a leaf. While lengths below are not final: the map of what is
  // readable, for nodes that can give it (Concat, Slice, Map), else null.
  // Identity for a node that makes its items from its child's.
  virtual std::shared_ptr<const IndexMap> map() const { return nullptr; }

  // True if the items are not the children's own but made from them.
  virtual bool makes_items() const { return false; }

  // Where a leaf's items lie in files; null if they lie in memory.
  virtual const RangeSource* ranges() const { return nullptr; }

  // Null if the items are not tokens, or of no known tokenizer.
  virtual const Vocabulary* vocabulary() const { return nullptr; }

  // Tokens in each item; 0 if items differ or are no tokens.
  virtual uint32_t item_tokens() const { return 0; }

  // True if an epoch serves items of a child several times, as Repeat() does.
  virtual bool repeats_items() const { return false; }

  // True if the items are the first ones of the child, as those of Take() are.
  virtual bool is_prefix() const { return false; }

  // True if this node or one below it defines an order of its own, so that a
  // mixture must not put a shuffle in front of it.
  virtual bool has_order() const;

  // Identity of the data and its order. Covers content, names, structure, seeds
  // and weights but not the stages and views after the first of a mixture,
  // which may be edited while a run goes on. Equal on every machine.
  virtual uint64_t fingerprint() const = 0;

  // nullopt for a leaf, and for a node that fingerprint() must stand for.
  virtual std::optional<NodeIdentity> identity() const { return std::nullopt; }

  virtual LengthState length_now() const = 0;
};

}  // namespace poniente

#endif  // PONIENTE_EXTEND_DATASET_NODE_H_
