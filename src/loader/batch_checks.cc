// SPDX-License-Identifier: Apache-2.0
#include "loader/batch_checks.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "dataset/leaf_items.h"
#include "dataset/step_sharing.h"
#include "index/max_samples.h"
#include "io/range_source.h"
#include "loader/loader_errors.h"
#include "loader/rows/loss_mask_rows.h"
#include "loader/rows/part_finder.h"
#include "loader/rows/tensor_filler.h"
#include "loader/state/schedule_agreement.h"
#include "poniente/batch.h"
#include "poniente/extend/infilled_dataset.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/shares.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// What the address space could hold; keeps products of sizes from wrapping.
constexpr uint64_t kMaxBatchBytes = uint64_t{1} << 47;

// One sample of each stretch, as far as it can be looked up now.
absl::Status CheckStretches(const DatasetTree& tree,
                            const AsyncDataset<TokenWindow>& dataset,
                            const Schedule& schedule,
                            const BatchLayout& layout) {
  for (const Stretch& stretch : schedule.stretches()) {
    const uint64_t row_bytes = layout.Bytes(1, stretch.seq_len);
    if (stretch.batch_size > kMaxBatchBytes / row_bytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("a batch of ", stretch.batch_size, " x ",
                       stretch.seq_len, " tokens, of ", row_bytes,
                       " bytes a sample, does not fit in memory"));
    }
    // cu_seqlens count the tokens of a batch in i32.
    if (layout.Has(BatchTensor::kCuSeqlens) &&
        stretch.batch_size > INT32_MAX / stretch.seq_len) {
      return absl::InvalidArgumentError(absl::StrCat(
          "cu_seqlens cannot count the tokens of a batch of ",
          stretch.batch_size, " x ", stretch.seq_len,
          ", more than 2^31 - 1; make batches smaller, or leave the tensor "
          "out"));
    }
    if (stretch.first_sample >= dataset.length_now().readable) continue;
    const Position position = {.index = stretch.first_sample};
    LeafPosition item;
    const absl::Status resolved =
        tree.Resolve(std::span(&position, 1), std::span(&item, 1));
    if (absl::IsFailedPrecondition(resolved)) continue;  // not known yet
    PONIENTE_RETURN_IF_ERROR(resolved);
    const TreeLeaf& leaf = tree.leaves()[item.leaf];
    PONIENTE_RETURN_IF_ERROR(
        CheckLength(leaf, TokensOf(item, WholeTokens(leaf)), stretch.seq_len));
  }
  return absl::OkStatus();
}

// Documents that are not aligned would be refused in the middle of the run.
absl::Status CheckAligned(const DatasetTree& tree, uint64_t chunks) {
  for (const TreeLeaf& leaf : tree.leaves()) {
    if (PiecesOf(leaf) == nullptr) continue;
    const PackedItems* const packed = PackedItemsOf(leaf);
    if (packed != nullptr && packed->align() % chunks == 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "zig-zag per document cuts each document into ", chunks,
        " equal chunks, but those of '", leaf.path, "' ",
        packed == nullptr
            ? std::string("are not packed")
            : absl::StrCat("are multiples of ", packed->align(), " tokens"),
        "; pack them with align = ", chunks, ", or use zig-zag"));
  }
  return absl::OkStatus();
}

absl::Status CheckContext(const DatasetTree& tree, const Schedule& schedule,
                          const LoaderOptions& options) {
  const ContextRank& context = options.context;
  if (context.ranks == 1) return absl::OkStatus();
  for (const Stretch& stretch : schedule.stretches()) {
    PONIENTE_RETURN_IF_ERROR(MakeContextSlice(context.split, stretch.seq_len,
                                              {}, context.rank, context.ranks)
                                 .status());
  }
  if (context.split != ContextSplit::kZigZagPerDocument ||
      options.documents.attention_across) {
    return absl::OkStatus();
  }
  return CheckAligned(tree, 2 * uint64_t{context.ranks});
}

}  // namespace

absl::Status WindowLengthError(std::string_view source, uint64_t has,
                               uint32_t wants) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", Absl(source), "' gives windows of ", has,
                   " tokens, the schedule asks for ", wants));
}

uint64_t WholeTokens(const TreeLeaf& leaf) {
  const RangeSource* ranges = leaf.node->ranges();
  return leaf.is_plain && ranges ? ranges->item_length() : 0;
}

uint64_t TokensOf(const LeafPosition& item, uint64_t whole_tokens) {
  const uint32_t part = item.position.part_length;
  return part == kWholeItem ? whole_tokens : part;
}

absl::Status CheckLength(const TreeLeaf& leaf, uint64_t tokens,
                         uint32_t seq_len) {
  if (tokens == 0 || tokens == seq_len) return absl::OkStatus();
  return internal::Prepend(WindowLengthError(leaf.path, tokens, seq_len),
                           "make the root with Schedule::mixture_options()");
}

absl::Status CheckPackedWindows(const DatasetTree& tree,
                                const AsyncDataset<TokenWindow>& dataset,
                                const Schedule& schedule) {
  const LengthState length = dataset.length_now();
  const uint64_t there = length.is_endless ? kMaxSamples : length.readable;
  const uint64_t end =
      schedule.steps() > 0 ? std::min(schedule.samples(), there) : there;
  const std::span<const Stretch> stretches = schedule.stretches();
  for (uint32_t l = 0; l < tree.leaves().size(); ++l) {
    const TreeLeaf& leaf = tree.leaves()[l];
    if (PackedItemsOf(leaf) == nullptr) continue;
    for (size_t s = 0; s < stretches.size(); ++s) {
      if (stretches[s].seq_len == leaf.node->item_tokens()) continue;
      const uint64_t first = stretches[s].first_sample;
      const uint64_t behind =
          s + 1 < stretches.size() ? stretches[s + 1].first_sample : end;
      if (first >= std::min(behind, end)) continue;
      const auto drawn = tree.EpochsOf(
          l, {{.index = first}, {.index = std::min(behind, end) - 1}});
      if (absl::IsFailedPrecondition(drawn.status()))
        continue;  // not known yet
      PONIENTE_RETURN_IF_ERROR(drawn.status());
      if (!drawn->has_value()) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "windows of packed documents are not cut for other lengths: ",
          WindowLengthError(leaf.path, leaf.node->item_tokens(),
                            stretches[s].seq_len)
              .message(),
          " from step ", stretches[s].first_step,
          " on; give its mixture a view for each length, from the sample on "
          "that the mixture has reached then "
          "(TokenSource::PackedWindowsOfEach(), ComponentView::keeps_epoch). "
          "Weights above such a mixture cannot be changed while the run goes "
          "on, because it would reach another sample"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckBatches(const DatasetTree& tree,
                          const AsyncDataset<TokenWindow>& dataset,
                          const Schedule& schedule,
                          const LoaderOptions& options) {
  PONIENTE_RETURN_IF_ERROR(CheckRank(options.rank, options.ranks));
  constexpr uint32_t kMaxPrefetched = 65536;
  if (options.prefetch_batches > kMaxPrefetched) {
    return absl::InvalidArgumentError(
        absl::StrCat("prefetch_batches must be at most ", kMaxPrefetched,
                     ", got ", options.prefetch_batches));
  }
  if (options.max_held > kMaxPrefetched) {
    return absl::InvalidArgumentError(absl::StrCat("max_held must be at most ",
                                                   kMaxPrefetched, ", got ",
                                                   options.max_held));
  }
  const Vocabulary* vocabulary = dataset.vocabulary();
  if (vocabulary && vocabulary->size - 1 > MaxTokenId(options.token_type)) {
    return absl::InvalidArgumentError(
        absl::StrCat("token_type ", Absl(TokenTypeName(options.token_type)),
                     " does not hold the ids of '", vocabulary->tokenizer,
                     "', which has ", vocabulary->size));
  }
  const uint32_t max_seq_len = schedule.max_seq_len();
  for (const TreeLeaf& leaf : tree.leaves()) {
    const RangeSource* ranges = leaf.node->ranges();
    if (!leaf.is_plain || !ranges || ranges->item_length() == max_seq_len ||
        PackedItemsOf(leaf) != nullptr) {
      continue;
    }
    return WindowLengthError(leaf.path, ranges->item_length(), max_seq_len);
  }
  PONIENTE_RETURN_IF_ERROR(CheckPackedWindows(tree, dataset, schedule));
  if (const InfilledDataset* const infilled = InfilledOf(dataset)) {
    const uint64_t id = infilled->infillings().max_id();
    if (id > MaxTokenId(options.token_type)) {
      return absl::InvalidArgumentError(
          absl::StrCat("token_type ", Absl(TokenTypeName(options.token_type)),
                       " does not hold id ", id, " of fill_in_the_middle"));
    }
  }
  PONIENTE_RETURN_IF_ERROR(CheckScheduleAgrees(dataset, schedule));
  PONIENTE_RETURN_IF_ERROR(TensorFiller::Check(tree, options));
  const BatchLayout layout(options.token_type, options.tensors,
                           options.documents.max_documents);
  PONIENTE_RETURN_IF_ERROR(LossMaskRows::Check(tree, layout));
  PONIENTE_RETURN_IF_ERROR(PartFinder::Check(tree, options));
  if (options.documents.labels_beyond_sample &&
      schedule.mixture_options().sample_overlap > 0) {
    return absl::InvalidArgumentError(
        "labels_beyond_sample cannot be combined with sample_overlap: samples "
        "share tokens, so that some labels would be there twice; leave one of "
        "the two out");
  }
  PONIENTE_RETURN_IF_ERROR(CheckContext(tree, schedule, options));
  PONIENTE_RETURN_IF_ERROR(StepSharing::Check(tree, options.sharing));
  PONIENTE_RETURN_IF_ERROR(CheckStretches(tree, dataset, schedule, layout));
  return tree.CheckEpochs(schedule.samples(), &schedule);
}

}  // namespace poniente::internal
