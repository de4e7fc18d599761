// SPDX-License-Identifier: Apache-2.0
#include "config/parse/selection_parser.h"

#include <array>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "config/parse/threshold_parser.h"
#include "index/max_samples.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr ScoreFormat kFormats[] = {ScoreFormat::kAuto, ScoreFormat::kFloat32,
                                    ScoreFormat::kFloat64};

ScoreFormat ParseScoreFormat(TableReader& table) {
  return kFormats[table.Choice("format", {"auto", "f32", "f64"}).value_or(0)];
}

std::string ParsePath(TableReader& table, std::string_view key) {
  const std::optional<std::string> path = table.String(key);
  if (path == "") table.Error(key, "must not be empty");
  return path.value_or("");
}

}  // namespace

std::optional<size_t> OnlyOne(TableReader& table,
                              std::span<const std::string_view> keys) {
  std::optional<size_t> found;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!table.Has(keys[i])) continue;
    if (found.has_value()) {
      table.Error(keys[i],
                  absl::StrCat("cannot be combined with ", Absl(keys[*found])));
    } else {
      found = i;
    }
  }
  if (!found.has_value()) {
    std::string choices;
    for (size_t i = 0; i < keys.size(); ++i) {
      absl::StrAppend(&choices,
                      i == 0                 ? ""
                      : i + 1 == keys.size() ? " or "
                                             : ", ",
                      Absl(keys[i]));
    }
    table.ErrorHere(absl::StrCat("needs one of ", choices));
  }
  return found;
}

std::optional<NodeFilter> ParseFilter(TableReader& node, std::string_view key) {
  const toml::table* const stated = node.Table(key);
  if (stated == nullptr) return std::nullopt;
  TableReader table(*stated, node.LocationOf(key), node.errors(),
                    {KeyTable::kSelection});
  NodeFilter filter;
  filter.location = table.location();
  constexpr std::array<std::string_view, 4> kKinds = {"scores", "bitmap",
                                                      "indices", "fraction"};
  const std::optional<size_t> kind = OnlyOne(table, kKinds);
  filter.kind = static_cast<NodeFilter::Kind>(kind.value_or(0));
  if (filter.kind == NodeFilter::Kind::kFraction) {
    filter.fraction = table.Number("fraction").value_or(0.5);
    if (!(filter.fraction > 0 && filter.fraction < 1)) {
      table.Error("fraction", absl::StrCat("must be above 0 and below 1, got ",
                                           filter.fraction));
    }
    filter.seed = table.Unsigned("seed", 0, kMaxInteger).value_or(0);
  } else if (kind.has_value()) {
    filter.path = ParsePath(table, kKinds[*kind]);
  }
  if (filter.kind == NodeFilter::Kind::kScores && kind.has_value()) {
    filter.at_least =
        ParseThreshold(table, "at_least").value_or(ScoreThreshold());
    filter.format = ParseScoreFormat(table);
    if (!table.Has("at_least")) table.ErrorHere("needs at_least");
  }
  filter.invert = table.Bool("invert").value_or(false);
  table.Finish();
  return filter;
}

std::optional<NodeOrder> ParseOrder(TableReader& node, std::string_view key) {
  const toml::table* const stated = node.Table(key);
  if (stated == nullptr) return std::nullopt;
  TableReader table(*stated, node.LocationOf(key), node.errors(),
                    {KeyTable::kOrder});
  NodeOrder order;
  order.location = table.location();
  constexpr std::array<std::string_view, 2> kKinds = {"scores", "table"};
  if (const auto kind = OnlyOne(table, kKinds)) {
    order.path = ParsePath(table, kKinds[*kind]);
    order.is_table = *kind == 1;
  }
  if (!order.is_table) {
    order.format = ParseScoreFormat(table);
    if (table.Choice("direction", {"ascending", "descending"}) == size_t{1}) {
      order.direction = ScoreDirection::kDescending;
    }
  }
  order.bucket_items =
      table.Unsigned("bucket_items", 1, kMaxSamples).value_or(0);
  order.buckets = table.Unsigned("buckets", 1, kMaxSamples).value_or(0);
  if (table.Has("bucket_items") && table.Has("buckets")) {
    table.Error("buckets", "cannot be combined with bucket_items");
  }
  table.Finish();
  return order;
}

std::optional<NodeOrder> ParseDocumentOrder(TableReader& node,
                                            const Node& spec) {
  constexpr const char* kKey = "order_documents";
  if (!node.Has(kKey)) return std::nullopt;
  if (spec.kind == NodeKind::kDeclared) {
    node.Error(kKey,
               "is not for a source without files (tokens, or a dataset of the "
               "program): where its documents end is not known; leave it out");
    return std::nullopt;
  }
  if (spec.kind != NodeKind::kStore && spec.kind != NodeKind::kHub) {
    node.Error(kKey,
               "is allowed only with path or hf_name: state it for the source "
               "whose documents it orders");
    return std::nullopt;
  }
  std::optional<NodeOrder> order = ParseOrder(node, kKey);
  for (const char* const key : {"overlap", "across_shards"}) {
    if (!node.Has(key)) continue;
    node.Error(key,
               "cannot be combined with order_documents: windows are cut from "
               "the documents in their order, and share no token; leave it "
               "out");
  }
  if (spec.pack_documents.has_value() && spec.pack_documents->is_packed) {
    node.Error(kKey, DocumentOrderOfPacked());
  }
  return order;
}

}  // namespace poniente::internal
