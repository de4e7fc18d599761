// SPDX-License-Identifier: Apache-2.0
#include "config/tree/packed_lengths.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "config/run_nodes.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

void Append(const LengthFrom& length, std::vector<LengthFrom>* lengths) {
  // Nothing is drawn in the length before.
  if (!lengths->empty() && lengths->back().start == length.start) {
    lengths->pop_back();
  }
  if (!lengths->empty() && lengths->back().tokens == length.tokens) return;
  lengths->push_back(length);
}

bool PacksBelow(const Node& node, bool is_packed) {
  return node.pack_documents.has_value() ? node.pack_documents->is_packed
                                         : is_packed;
}

class Checker {
 public:
  Checker(const std::vector<LengthFrom>& lengths, uint32_t max_seq_len)
      : lengths_(lengths), max_seq_len_(max_seq_len) {}

  absl::Status CheckRoot(const Node& root) const {
    const bool is_cut = changes() || lengths_[0].tokens != max_seq_len_;
    if (!is_cut) return absl::OkStatus();
    if (Used(root).kind != NodeKind::kMixture) {
      return CheckNode(root, false, nullptr);
    }
    PONIENTE_RETURN_IF_ERROR(CheckSizes(root));
    const bool may_change = changes() && PacksOf(root, false) != Packs::kNone;
    bool is_packed = false;
    const NodePacking* packing = nullptr;
    const Node* node = &root;
    for (;; node = &node->children[0]) {
      Enter(*node, &is_packed, &packing);
      if (may_change) PONIENTE_RETURN_IF_ERROR(CheckModifiers(*node));
      if (node->kind != NodeKind::kUse) break;
    }
    for (const Node& child : node->children) {
      PONIENTE_RETURN_IF_ERROR(CheckNode(child, is_packed, packing));
    }
    return absl::OkStatus();
  }

 private:
  bool changes() const { return lengths_.size() > 1; }

  static void Enter(const Node& node, bool* is_packed,
                    const NodePacking** packing) {
    *is_packed = PacksBelow(node, *is_packed);
    if (node.pack_documents.has_value()) *packing = &*node.pack_documents;
  }

  // A root that is not a mixture, a component, or a node below one.
  absl::Status CheckNode(const Node& node, bool is_packed,
                         const NodePacking* packing) const {
    const Packs packs = PacksOf(node, is_packed);
    if (packs == Packs::kNone) return absl::OkStatus();
    if (packs == Packs::kSome) {
      return At(node,
                absl::StrCat("has sources that are packed and others that are "
                             "not, ",
                             Why(),
                             ": make each of them a component of the root's "
                             "mixture, or state pack_documents for all or none "
                             "of them"));
    }
    if (!changes()) return absl::OkStatus();
    Enter(node, &is_packed, &packing);
    PONIENTE_RETURN_IF_ERROR(CheckModifiers(node));
    switch (node.kind) {
      case NodeKind::kStore:
      case NodeKind::kHub:
      case NodeKind::kDeclared:
      case NodeKind::kDataset:
        return CheckChunks(node, packing);
      case NodeKind::kUse:
        return CheckNode(node.children[0], is_packed, packing);
      case NodeKind::kFlat:
      case NodeKind::kConcat:
        return At(
            node,
            absl::StrCat("has packed windows in an order of its own, ", Why(),
                         ": make it a mixture, or one source of its stores "
                         "(poniente catalog)"));
      case NodeKind::kMixture:
        break;
    }
    if (node.mixture.stop_rule != StopRule::kRestart) {
      return At(node, absl::StrCat("ends (stop), ", Why(),
                                   ": state it for the root's mixture"));
    }
    for (const Node& child : node.children) {
      if (child.max_epochs.has_value()) {
        return At(child,
                  absl::StrCat("states max_epochs below another "
                               "mixture, ",
                               Why(), ": make it a component of the root's"));
      }
      PONIENTE_RETURN_IF_ERROR(CheckNode(child, is_packed, packing));
    }
    return absl::OkStatus();
  }

  absl::Status CheckModifiers(const Node& node) const {
    const char* key = nullptr;
    if (node.filter.has_value()) key = "filter";
    if (node.order.has_value()) key = "order";
    if (node.slice.has_value()) key = "slice";
    if (node.take.has_value()) key = "take";
    if (node.repeat.has_value()) key = "repeat";
    if (key == nullptr) return absl::OkStatus();
    return At(node, absl::StrCat("selects windows (", key, "), ", Why(),
                                 ": select documents instead (documents)"));
  }

  absl::Status CheckChunks(const Node& node, const NodePacking* packing) const {
    if (packing == nullptr || packing->options.chunk_documents > 0) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        ToString(packing->location), ": the documents of ",
        node.location.key.empty() ? "the source" : node.location.key,
        " are packed all together, ", Why(),
        ": pack them by chunks, for example pack_documents = { "
        "chunk_documents = 100_000 }"));
  }

  // Windows of two lengths cannot be counted together.
  absl::Status CheckSizes(const Node& root) const {
    const Node& mixture = Used(root);
    if (mixture.mixture.weight_rule != WeightRule::kSizeProportional ||
        PacksOf(root, false) != Packs::kSome) {
      return absl::OkStatus();
    }
    return At(root, absl::StrCat(
                        "weight_rule = \"sizes\" counts windows, which have ",
                        lengths_[0].tokens, " tokens in packed sources and ",
                        max_seq_len_, " in the others; state weights"));
  }

  std::string Why() const {
    if (!changes()) {
      return absl::StrCat("while samples (", lengths_[0].tokens,
                          " tokens) are shorter than max_seq_len (",
                          max_seq_len_, ")");
    }
    return absl::StrCat("while the sequence length changes in this run (",
                        lengths_[0].tokens, " tokens at first, then ",
                        lengths_[1].tokens, ")");
  }

  static absl::Status At(const Node& node, const std::string& what) {
    return absl::InvalidArgumentError(
        absl::StrCat(ToString(node.location), " ", what));
  }

  const std::vector<LengthFrom>& lengths_;
  const uint32_t max_seq_len_;
};

}  // namespace

std::vector<LengthFrom> LengthsOf(const Schedule& schedule) {
  std::vector<LengthFrom> lengths;
  for (const Stretch& stretch : schedule.stretches()) {
    Append({stretch.first_sample, stretch.seq_len}, &lengths);
  }
  return lengths;
}

std::vector<LengthFrom> LengthsBelow(
    const std::vector<LengthFrom>& lengths,
    const std::function<uint64_t(uint64_t)>& before) {
  std::vector<LengthFrom> below;
  for (const LengthFrom& length : lengths) {
    Append({length.start == 0 ? 0 : before(length.start), length.tokens},
           &below);
  }
  return below;
}

ViewChanges ThresholdsOf(const Node& component,
                         const std::vector<RunStage>& stages,
                         const std::vector<uint64_t>& starts) {
  ViewChanges changes;
  for (size_t i = 0; i < stages.size(); ++i) {
    const auto threshold = stages[i].thresholds.find(component.name);
    if (threshold == stages[i].thresholds.end()) continue;
    ViewChange& change = changes[starts[i]];
    change.threshold = threshold->second;
    change.threshold_key =
        absl::StrCat(stages[i].location.key, ".thresholds.", component.name);
  }
  return changes;
}

void AddLengths(const std::vector<LengthFrom>& lengths, ViewChanges* changes) {
  for (const LengthFrom& length : lengths) {
    if (length.start > 0) (*changes)[length.start].tokens = length.tokens;
  }
}

Packs PacksOf(const Node& node, bool is_packed) {
  is_packed = PacksBelow(node, is_packed);
  if (node.kind == NodeKind::kDataset) return Packs::kNone;
  if (node.children.empty()) return is_packed ? Packs::kAll : Packs::kNone;
  bool some = false;
  bool all = true;
  for (const Node& child : node.children) {
    const Packs packs = PacksOf(child, is_packed);
    some |= packs != Packs::kNone;
    all &= packs == Packs::kAll;
  }
  return all ? Packs::kAll : some ? Packs::kSome : Packs::kNone;
}

absl::Status CheckPackedLengths(const Run& run,
                                const std::vector<LengthFrom>& lengths,
                                uint32_t max_seq_len) {
  return Checker(lengths, max_seq_len).CheckRoot(run.data);
}

}  // namespace poniente::internal
