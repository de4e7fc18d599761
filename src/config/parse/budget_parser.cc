// SPDX-License-Identifier: Apache-2.0
#include "config/parse/budget_parser.h"

#include "absl/strings/str_cat.h"
#include "config/run_nodes.h"
#include "index/max_samples.h"

namespace poniente::internal {
namespace {

class BudgetChecker {
 public:
  explicit BudgetChecker(ErrorList* errors) : errors_(errors) {}

  void Check(const Node& node, bool is_packed) {
    if (IsOneSource(node)) return CheckSource(node, is_packed);
    if (ChangesItems(node)) {
      errors_->Add(node.location,
                   "has a filter, order, slice or take, and several sources "
                   "below, each of which data.budget cuts: state it for the "
                   "sources");
    }
    if (node.pack_documents.has_value()) {
      is_packed = node.pack_documents->is_packed;
    }
    for (const Node& child : node.children) Check(child, is_packed);
  }

 private:
  // A source, perhaps used under several names. It is cut after the outermost
  // node that changes its items.
  void CheckSource(const Node& outermost, bool is_packed) {
    bool is_changed = false;
    for (const Node* node = &outermost;; node = &node->children[0]) {
      if (node->pack_documents.has_value()) {
        is_packed = node->pack_documents->is_packed;
      }
      const bool is_shuffled =
          node->shuffle && node->shuffle->kind != ShuffleKind::kNone;
      if (is_changed && (node->repeat || is_shuffled)) {
        errors_->Add(node->location,
                     "is repeated or shuffled below a filter, order, slice or "
                     "take, so data.budget would cut other items in each "
                     "epoch: state these changes, or the repetition and the "
                     "shuffle, for one node");
      }
      is_changed |= ChangesItems(*node);
      if (node->kind == NodeKind::kUse) continue;
      if (is_packed && is_changed && node->kind != NodeKind::kDeclared) {
        errors_->Add(outermost.location,
                     "has a filter, order, slice or take of packed windows, "
                     "whose documents data.budget cuts: choose documents, or "
                     "leave the budget out");
      }
      return;
    }
  }

  ErrorList* const errors_;
};

}  // namespace

std::optional<RunBudget> ParseBudget(TableReader& data) {
  const toml::table* const stated = data.Table("budget");
  if (stated == nullptr) return std::nullopt;
  TableReader table(*stated, data.LocationOf("budget"), data.errors(),
                    {KeyTable::kBudget});
  RunBudget budget;
  budget.location = table.location();
  budget.experiment = table.Amount("experiment", 1, kMaxInteger).value_or(1);
  budget.target = table.Amount("target", 1, kMaxInteger).value_or(kMaxInteger);
  budget.seed = table.Unsigned("seed", 0, kMaxInteger).value_or(0);
  for (const char* key : {"experiment", "target"}) {
    if (!table.Has(key)) table.ErrorHere(absl::StrCat("needs ", key));
  }
  if (budget.experiment > budget.target) {
    table.Error("experiment",
                absl::StrCat("must be at most target, ", budget.target,
                             ", got ", budget.experiment));
  }
  table.Finish();
  return budget;
}

void CheckBudgetNodes(const Run& run, ErrorList* errors) {
  if (!run.budget.has_value()) return;
  BudgetChecker(errors).Check(run.data, /*is_packed=*/false);
}

}  // namespace poniente::internal
