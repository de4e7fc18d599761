// SPDX-License-Identifier: Apache-2.0
// What differs between the sources of two runs: their data, and which documents
// are read, packed and filled in the middle.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/diff/run_diff.h"
#include "analysis/diff/tree_differences.h"
#include "config/write/node_options_writer.h"
#include "poniente/extend/infilled_dataset.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/selection.h"
#include "poniente/token_source.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

class SourceDiff {
 public:
  explicit SourceDiff(TreeDifferences* found)
      : a_(found->a()), b_(found->b()), found_(found) {}

  void CompareSources() {
    using Key = std::pair<std::string, uint32_t>;
    using Leaf = std::optional<uint32_t>;
    std::map<Key, std::pair<Leaf, Leaf>> pairs;
    for (uint32_t leaf = 0; leaf < a_.sources().size(); ++leaf) {
      pairs[KeyOf(a_, leaf)].first = leaf;
    }
    for (uint32_t leaf = 0; leaf < b_.sources().size(); ++leaf) {
      pairs[KeyOf(b_, leaf)].second = leaf;
    }
    for (const auto& [key, leaves] : pairs) {
      const auto& [leaf_a, leaf_b] = leaves;
      std::string name = absl::StrCat("'", key.first, "'");
      if (key.second > 0) absl::StrAppend(&name, " (view ", key.second, ")");
      if (!leaf_b.has_value()) {
        found_->Add("source " + name, SourceWords(a_, *leaf_a), {},
                    found_->AfterLeaves(leaf_a, std::nullopt));
      } else if (!leaf_a.has_value()) {
        found_->Add("source " + name, {}, SourceWords(b_, *leaf_b),
                    found_->AfterLeaves(std::nullopt, leaf_b));
      } else {
        ComparePair(name, *leaf_a, *leaf_b);
      }
    }
  }

 private:
  static std::pair<std::string, uint32_t> KeyOf(const TracedRun& run,
                                                uint32_t leaf) {
    return {run.trace().tree().leaves()[leaf].path, run.ViewOf(leaf)};
  }

  static std::string SourceWords(const TracedRun& run, uint32_t leaf) {
    const ConfigSource& source = run.sources()[leaf];
    switch (SourceKindOf(source)) {
      case SourceKind::kData:
        return absl::StrFormat("%s (%d tokens, fingerprint %016x)",
                               source.location, source.tokens,
                               source.data->fingerprint());
      case SourceKind::kOwn: {
        // 0: not known yet.
        const std::string tokens =
            source.tokens > 0 ? absl::StrCat(source.tokens, " tokens, ") : "";
        return absl::StrFormat(
            "a dataset of the program's own (%sfingerprint %016x)", tokens,
            FingerprintOf(run, leaf));
      }
      case SourceKind::kNumber:
        break;
    }
    return absl::StrCat(source.tokens, " tokens");
  }

  static uint64_t FingerprintOf(const TracedRun& run, uint32_t leaf) {
    return run.trace().tree().leaves()[leaf].node->fingerprint();
  }

  bool AreSameData(uint32_t leaf_a, uint32_t leaf_b) const {
    const ConfigSource& a = a_.sources()[leaf_a];
    const ConfigSource& b = b_.sources()[leaf_b];
    const SourceKind kind = SourceKindOf(a);
    if (kind != SourceKindOf(b)) return false;
    if (kind == SourceKind::kData) {
      return a.data->fingerprint() == b.data->fingerprint();
    }
    if (a.tokens != b.tokens) return false;
    return kind == SourceKind::kNumber ||
           FingerprintOf(a_, leaf_a) == FingerprintOf(b_, leaf_b);
  }

  void ComparePair(const std::string& name, uint32_t leaf_a, uint32_t leaf_b) {
    const ConfigSource& a = a_.sources()[leaf_a];
    const ConfigSource& b = b_.sources()[leaf_b];
    const auto step = [&] { return found_->AfterLeaves(leaf_a, leaf_b); };
    if (!AreSameData(leaf_a, leaf_b)) {
      found_->Add("source " + name, SourceWords(a_, leaf_a),
                  SourceWords(b_, leaf_b), step());
      return;
    }
    const DatasetNode& node_a = *a_.trace().tree().leaves()[leaf_a].node;
    const DatasetNode& node_b = *b_.trace().tree().leaves()[leaf_b].node;
    const std::string packing_a = PackingWords(node_a);
    const std::string packing_b = PackingWords(node_b);
    if (packing_a != packing_b) {
      // The items are others, so documents are compared.
      found_->Add("packing of " + name, packing_a, packing_b, step());
      if (ChoiceOf(a.documents) != ChoiceOf(b.documents)) {
        found_->Add("documents of " + name, DocumentWords(a), DocumentWords(b),
                    step());
      }
    } else if (node_a.fingerprint() != node_b.fingerprint() &&
               node_a.item_tokens() == node_b.item_tokens()) {
      // Other lengths are those of the schedule.
      found_->AddOptionsOr("selection of " + name, node_a, node_b,
                           KeyOf(a_, leaf_a).first, step());
    }
    const DiffValue infilled_a = InfillingWords(a_, leaf_a);
    const DiffValue infilled_b = InfillingWords(b_, leaf_b);
    if (infilled_a != infilled_b) {
      found_->Add("fill_in_the_middle of " + name, infilled_a, infilled_b,
                  step());
    }
    if (a.location != b.location) {
      found_->Add({"location of " + name, a.location, b.location, 0, false});
    }
  }

  // How the documents of a source are packed.
  static std::string PackingWords(const DatasetNode& leaf) {
    const PackedItems* const packed = PackedItemsOf(leaf);
    if (packed == nullptr) return "false";
    if (packed->packing_options() == nullptr) return "true";
    // Where the order by length lies changes no token.
    NodePacking packing = {.options = *packed->packing_options()};
    packing.options.index_file.clear();
    return PackingText(packing, /*is_resolved=*/false, "");
  }

  static uint64_t ChoiceOf(const std::shared_ptr<const Selection>& chosen) {
    return chosen == nullptr ? 0 : chosen->fingerprint();
  }

  static std::string DocumentWords(const ConfigSource& source) {
    if (source.documents == nullptr) return "all";
    return absl::StrCat(source.documents->count(), " of ",
                        source.documents->size());
  }

  // How the documents of a source are filled in the middle; nothing if they are
  // not.
  static DiffValue InfillingWords(const TracedRun& run, uint32_t leaf) {
    const InfilledDataset* const infilled = InfilledOf(run.dataset());
    const InfilledSource* const source =
        infilled == nullptr ? nullptr : infilled->infillings().SourceOf(leaf);
    if (source == nullptr) return {};
    const InfillingOptions& options = source->options;
    std::string words = absl::StrCat("rate ", options.rate);
    for (const InfillingRate& rate : source->rates) {
      absl::StrAppend(&words, ", ", rate.rate, " from step ",
                      run.schedule().StepOf(rate.start_sample));
    }
    absl::StrAppend(&words, ", spm_rate ", options.spm_rate, ", ids ",
                    options.prefix, ", ", options.middle, ", ", options.suffix);
    absl::StrAppend(&words, ", ", Absl(InfilledPiecesName(options.pieces)),
                    " pieces of at least ", options.min_tokens, " tokens");
    return words;
  }

  const TracedRun& a_;
  const TracedRun& b_;
  TreeDifferences* const found_;
};

}  // namespace

void AddSourceDifferences(TreeDifferences* differences) {
  SourceDiff(differences).CompareSources();
}

}  // namespace poniente::internal
