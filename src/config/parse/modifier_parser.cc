// SPDX-License-Identifier: Apache-2.0
#include "config/parse/modifier_parser.h"

#include <array>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/parse/run_points.h"
#include "config/parse/selection_parser.h"
#include "index/max_samples.h"
#include "index/packing/packing_options.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

BlockShuffleOptions ParseBlockShuffle(TableReader& node) {
  BlockShuffleOptions options;
  TableReader table(*node.Table("block_shuffle"),
                    node.LocationOf("block_shuffle"), node.errors(),
                    {KeyTable::kBlockShuffle});
  options.chunk_tokens = table.Unsigned("chunk_tokens", 1, kMaxSamples);
  options.chunk_items = table.Unsigned("chunk_items", 1, kMaxSamples);
  options.window_chunks = table.Unsigned("window_chunks", 1, kMaxSamples)
                              .value_or(options.window_chunks);
  if (table.Has("chunk_tokens") && table.Has("chunk_items")) {
    table.Error("chunk_items", "cannot be combined with chunk_tokens");
  }
  table.Finish();
  return options;
}

std::optional<NodePacking> ParsePacking(TableReader& node, const Node& spec) {
  if (!node.Has("pack_documents")) return std::nullopt;
  NodePacking packing;
  packing.location = node.LocationOf("pack_documents");
  if (!node.IsTable("pack_documents")) {
    packing.is_packed = node.Bool("pack_documents").value_or(true);
  } else {
    TableReader table(*node.Table("pack_documents"),
                      node.LocationOf("pack_documents"), node.errors(),
                      {KeyTable::kPacking});
    PackingOptions& options = packing.options;
    // In the order of LongDocuments.
    if (const auto policy = table.Choice(
            "long_documents",
            {"split", "truncate", "truncate_left", "drop", "refuse"})) {
      options.long_documents = static_cast<LongDocuments>(*policy);
    }
    // In the order of EndOfDocument.
    if (const auto end = table.Choice("end_of_document", {"keep", "drop"})) {
      options.end_of_document = static_cast<EndOfDocument>(*end);
    }
    const auto number = [&](const char* key, uint64_t least, uint64_t most,
                            uint32_t* value) {
      *value = static_cast<uint32_t>(
          table.Unsigned(key, least, most).value_or(*value));
    };
    number("align", 1, UINT32_MAX, &options.align);
    number("max_documents", 0, UINT32_MAX, &options.max_documents);
    number("overlap", 0, 1, &options.overlap);
    number("parts", 1, 256, &options.parts);
    options.shuffle = table.Bool("shuffle").value_or(options.shuffle);
    number("chunk_documents", 0, UINT32_MAX, &options.chunk_documents);
    number("shuffle_chunks", 1, kMaxShuffleChunks, &options.shuffle_chunks);
    if (table.Has("shuffle_chunks") && options.chunk_documents == 0) {
      table.Error(
          "shuffle_chunks",
          "is allowed only with chunk_documents, because documents that "
          "are packed together have no chunks");
    }
    options.index_file = table.String("index_file").value_or("");
    const bool is_source =
        spec.kind == NodeKind::kStore || spec.kind == NodeKind::kHub;
    if (table.Has("index_file") && !is_source) {
      table.Error("index_file",
                  "is allowed only with path or hf_name, because "
                  "each source has a file of its own");
    }
    table.Finish();
  }
  for (const char* const key : {"overlap", "across_shards"}) {
    if (!packing.is_packed || !node.Has(key)) continue;
    node.Error(key,
               "cannot be combined with pack_documents, which does not cut "
               "windows from the documents end to end; leave it out");
  }
  if (packing.is_packed && spec.kind == NodeKind::kDeclared) {
    node.Error(
        "pack_documents",
        "is not for a source without files (tokens, or a dataset of the "
        "program): where its documents end is not known; leave it out, or "
        "state false");
  }
  return packing;
}

std::optional<NodeInfilling> ParseInfilling(TableReader& node) {
  constexpr const char* kKey = "fill_in_the_middle";
  if (!node.Has(kKey)) return std::nullopt;
  NodeInfilling infilling;
  infilling.location = node.LocationOf(kKey);
  if (!node.IsTable(kKey)) {
    infilling.is_infilled = node.Bool(kKey).value_or(false);
    if (infilling.is_infilled) {
      node.Error(kKey,
                 "needs a table with prefix, middle and suffix, or false");
    }
    return infilling;
  }
  TableReader table(*node.Table(kKey), infilling.location, node.errors(),
                    {KeyTable::kInfilling});
  InfillingOptions& options = infilling.options;
  options.rate = table.Number("rate").value_or(options.rate);
  options.spm_rate = table.Number("spm_rate").value_or(options.spm_rate);
  for (const auto& [key, id] : {std::pair("prefix", &options.prefix),
                                {"middle", &options.middle},
                                {"suffix", &options.suffix}}) {
    *id = static_cast<uint32_t>(table.Unsigned(key, 0, UINT32_MAX).value_or(0));
    if (!table.Has(key)) table.ErrorHere(absl::StrCat("needs ", key));
  }
  // In the order of InfilledPieces.
  if (const auto pieces = table.Choice("pieces", {"all", "whole"})) {
    options.pieces = static_cast<InfilledPieces>(*pieces);
  }
  options.min_tokens = static_cast<uint32_t>(
      table.Unsigned("min_tokens", kMinInfilledTokens, UINT32_MAX)
          .value_or(options.min_tokens));
  const absl::Status checked = CheckInfillingOptions(options);
  const bool has_ids =
      table.Has("prefix") && table.Has("middle") && table.Has("suffix");
  if (!checked.ok() && has_ids) {
    table.ErrorHere(std::string(checked.message()));
  }
  table.Finish();
  return infilling;
}

std::optional<NodeHoldOut> ParseHoldOut(TableReader& node, const Node& spec) {
  const toml::table* const stated = node.Table("hold_out");
  if (stated == nullptr) return std::nullopt;
  TableReader table(*stated, node.LocationOf("hold_out"), node.errors(),
                    {KeyTable::kHoldOut});
  NodeHoldOut hold_out;
  hold_out.location = table.location();
  constexpr std::array<std::string_view, 2> kUnits = {"documents", "windows"};
  if (const auto unit = OnlyOne(table, kUnits)) {
    const double share = table.Number(kUnits[*unit]).value_or(0.5);
    if (!(share > 0 && share < 1)) {
      table.Error(kUnits[*unit],
                  absl::StrCat("must be above 0 and below 1, got ", share));
    }
    (*unit == 0 ? hold_out.documents : hold_out.windows) = share;
  }
  hold_out.seed = table.Unsigned("seed", 0, kMaxInteger).value_or(0);
  hold_out.invert = table.Bool("invert").value_or(false);
  table.Finish();
  if (hold_out.documents > 0 && spec.kind == NodeKind::kDeclared) {
    node.Error("hold_out",
               "cannot hold out documents of a source without data: where they "
               "end is not known; state hold_out = { windows = ... }");
  }
  for (const char* const key : {"overlap", "across_shards"}) {
    if (!node.Has(key)) continue;
    node.Error(key,
               "cannot be combined with hold_out: what is held out must share "
               "no token with what is read; leave it out");
  }
  return hold_out;
}

void ParseShuffle(TableReader& node, Node* spec) {
  constexpr std::string_view kShuffleKeys[] = {"shuffle", "era_shuffle",
                                               "block_shuffle"};
  std::string_view stated;
  for (const std::string_view key : kShuffleKeys) {
    if (!node.Has(key)) continue;
    if (!stated.empty()) {
      node.Error(key, absl::StrCat("cannot be combined with ", Absl(stated)));
    } else {
      stated = key;
    }
  }
  if (const auto shuffle = node.Bool("shuffle")) {
    spec->shuffle = *shuffle ? ShuffleOptions::Full() : ShuffleOptions::None();
  }
  if (const auto items = node.Unsigned("era_shuffle", 1, kMaxSamples)) {
    spec->shuffle = ShuffleOptions::Eras(*items);
  }
  if (node.IsTable("block_shuffle")) {
    spec->shuffle = ShuffleOptions::Blocks(ParseBlockShuffle(node));
  } else if (const auto is_default = node.Bool("block_shuffle")) {
    spec->shuffle =
        *is_default ? ShuffleOptions::Blocks() : ShuffleOptions::None();
  }
  const NodeKind kind = Used(*spec).kind;
  if (stated.empty() || !spec->shuffle.has_value()) return;
  const bool is_mixture = kind == NodeKind::kMixture;
  if (spec->shuffle->kind == ShuffleKind::kNone) {
    if (is_mixture) {
      node.Error(stated, "cannot be false: a mixture has an order of its own");
    } else if (kind == NodeKind::kFlat) {
      node.Error(stated,
                 "cannot be false: flat shuffles; concat keeps the order");
    }
  } else if (spec->shuffle->kind != ShuffleKind::kFull &&
             (is_mixture || spec->order.has_value())) {
    node.Error(stated,
               is_mixture
                   ? "is not allowed here: a mixture has an order of its "
                     "own; state it for its components"
                   : "cannot be combined with order");
  } else if (spec->shuffle->kind != ShuffleKind::kFull &&
             spec->order_documents.has_value()) {
    node.Error(stated,
               "cannot be combined with order_documents: state bucket_items "
               "there, which shuffles as many windows among themselves");
  } else if (spec->shuffle->kind != ShuffleKind::kFull &&
             spec->kind == NodeKind::kUse && kind == NodeKind::kFlat) {
    node.Error(stated,
               "is not allowed here: the node that is used has an order of its "
               "own; state it there");
  }
}

// What needs all documents or windows of a source, or other files.
void CheckGrowing(TableReader& node, const Node& spec) {
  if (!spec.files.growing) return;
  if (spec.kind != NodeKind::kStore) {
    node.Error("growing", "is allowed only with path");
    return;
  }
  const bool is_packed =
      spec.pack_documents.has_value() && spec.pack_documents->is_packed;
  for (const char* const key :
       {"format", "dtype", "column", "glob", "document_end", "document_begin",
        "loss_mask", "overlap", "across_shards", "tokenizer", "pack_documents",
        "hold_out", "documents", "order_documents", "filter", "order"}) {
    if (!node.Has(key)) continue;
    if (std::string_view(key) == "pack_documents" && !is_packed) continue;
    node.Error(key,
               "cannot be combined with growing: the windows of a store that "
               "is being written are cut from its documents as they come; "
               "leave one of the two out (growing need not be stated for a "
               "store that is complete)");
  }
}

}  // namespace

void ParseModifiers(TableReader& node, Node* spec) {
  spec->pack_documents = ParsePacking(node, *spec);
  spec->fill_in_the_middle = ParseInfilling(node);
  spec->hold_out = ParseHoldOut(node, *spec);
  if (spec->kind == NodeKind::kStore) {
    spec->documents = ParseFilter(node, "documents");
    for (const char* const key : {"overlap", "across_shards"}) {
      if (!spec->documents.has_value() || !node.Has(key)) continue;
      node.Error(
          key,
          "cannot be combined with documents: windows are cut from those "
          "that are left, end to end; leave it out");
    }
  } else if (node.Has("documents")) {
    node.Error("documents", "is allowed only with path");
  }
  spec->order_documents = ParseDocumentOrder(node, *spec);
  spec->filter = ParseFilter(node, "filter");
  spec->order = ParseOrder(node, "order");
  if (spec->order.has_value() && spec->order_documents.has_value() &&
      (spec->order_documents->bucket_items > 0 ||
       spec->order_documents->buckets > 0)) {
    node.Error("order",
               "cannot be combined with buckets of order_documents, because "
               "it puts the windows into another order: state bucket_items or "
               "buckets in order");
  }
  if (const auto ends = node.Integers("slice", 2, kMaxSamples)) {
    spec->slice = NodeSlice{(*ends)[0], (*ends)[1]};
    if (spec->slice->begin >= spec->slice->end) {
      node.Error("slice",
                 absl::StrCat("must be [begin, end] with begin below "
                              "end, got [",
                              spec->slice->begin, ", ", spec->slice->end, "]"));
    }
  }
  spec->take = node.Unsigned("take", 1, kMaxSamples);
  spec->repeat = node.Unsigned("repeat", 1, kMaxSamples);
  ParseShuffle(node, spec);
  CheckGrowing(node, *spec);
}

}  // namespace poniente::internal
