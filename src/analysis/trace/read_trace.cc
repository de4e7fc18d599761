// SPDX-License-Identifier: Apache-2.0
#include "analysis/trace/read_trace.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "config/tree/stored_width.h"
#include "index/keyed_hash.h"
#include "index/maps/epoch_shuffle.h"
#include "io/loss_mask_source.h"
#include "io/range_source.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/token_source.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 62;
constexpr size_t kMaxReads = size_t{1} << 25;

}  // namespace

absl::StatusOr<std::unique_ptr<const RunReads>> RunReads::Create(
    const DatasetNode& root, const Schedule& schedule,
    std::vector<ConfigSource> sources, uint64_t steps, uint32_t rank,
    uint32_t ranks, const SampleSharing& sharing) {
  PONIENTE_CHECK(rank < ranks);
  std::unique_ptr<RunReads> reads(
      new RunReads(root, schedule, std::move(sources), rank, ranks, sharing));
  PONIENTE_CHECK(reads->sources_.size() ==
                 reads->trace_.tree().leaves().size());
  PONIENTE_RETURN_IF_ERROR(reads->FindFiles());
  PONIENTE_RETURN_IF_ERROR(reads->TakeDraws(steps));
  return reads;
}

absl::Status RunReads::FindFiles() {
  std::map<std::string, uint32_t> known;  // by where the source lies
  for (uint32_t leaf = 0; leaf < sources_.size(); ++leaf) {
    const ConfigSource& source = sources_[leaf];
    const bool is_there = source.data != nullptr;
    const auto [at, is_new] =
        known.emplace(is_there ? "at " + source.location : source.path,
                      static_cast<uint32_t>(files_.size()));
    file_of_.push_back(at->second);
    if (!is_new) continue;
    if (!is_there) {
      if (source.tokens >= kMaxBytes / WidthOf(leaf)) {
        return absl::InvalidArgumentError(
            absl::StrCat("source '", source.path, "': ", source.tokens,
                         " tokens are too many to count their bytes"));
      }
      files_.push_back({source.tokens * WidthOf(leaf), true});
      continue;
    }
    const ByteReader& reader = source.data->reader();
    for (uint32_t file = 0; file < reader.num_files(); ++file) {
      files_.push_back({reader.size(file), false});
    }
  }
  return absl::OkStatus();
}

absl::Status RunReads::TakeDraws(uint64_t steps) {
  const bool cuts_items = trace_.schedule().cuts_items();
  absl::flat_hash_map<std::tuple<uint32_t, uint64_t, Index>, uint64_t> places;
  for (uint64_t step = 0; step < steps && trace_.schedule().Has(step); ++step) {
    const StepPlan plan = trace_.schedule().At(step);
    const uint64_t all = plan.first_sample + plan.batch_size;
    if (all > kMaxTraceSamples) {
      return absl::InvalidArgumentError(absl::StrCat(
          step + 1, " steps have ", all, " samples; at most ", kMaxTraceSamples,
          " can be simulated: take fewer steps"));
    }
    const auto origins = trace_.Resolve(step);
    if (absl::IsOutOfRange(origins.status())) break;  // the data ends before
    PONIENTE_RETURN_IF_ERROR(origins.status());
    StepPlan there = plan;
    there.batch_size = origins->size();
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<bool> is_own,
                              OwnSamples(there));
    for (const SampleOrigin& origin : *origins) {
      uint64_t& items = items_of_pass_[Pass{origin.leaf, origin.epoch}];
      uint64_t place = items;
      if (cuts_items) {
        place =
            places
                .try_emplace(std::tuple(origin.leaf, origin.epoch, origin.item),
                             items)
                .first->second;
      }
      items = std::max(items, place + 1);
      if (!is_own[origin.position]) continue;
      draws_.push_back({origin.leaf,
                        {.index = origin.item,
                         .epoch = origin.epoch,
                         .part_begin = origin.token_begin,
                         .part_length = origin.token_end - origin.token_begin},
                        place});
    }
    step_ends_.push_back(draws_.size());
    end_sample_ = origins->back().sample + 1;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<bool>> RunReads::OwnSamples(
    const StepPlan& plan) const {
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint64_t> own,
                            sharing_.SamplesOf(plan, rank_, ranks_));
  std::vector<bool> is_own(plan.batch_size);
  for (const uint64_t sample : own) is_own[sample - plan.first_sample] = true;
  return is_own;
}

uint64_t RunReads::WidthOf(uint32_t leaf) const {
  return StoredWidth(&sources_[leaf],
                     trace_.tree().leaves()[leaf].node->vocabulary());
}

uint64_t RunReads::Items(uint32_t leaf) const {
  return trace_.tree().leaves()[leaf].node->length_now().readable;
}

uint32_t RunReads::ItemTokens(uint32_t leaf) const {
  const uint32_t tokens = trace_.tree().leaves()[leaf].node->item_tokens();
  return tokens == 0 ? trace_.schedule().max_seq_len() : tokens;
}

Position RunReads::Whole(uint32_t leaf, Index item) const {
  const uint32_t tokens = trace_.tree().leaves()[leaf].node->item_tokens();
  return {.index = item, .part_length = tokens == 0 ? kWholeItem : tokens};
}

absl::Status RunReads::Locate(uint32_t leaf, const Position& position,
                              std::vector<ReadSpan>* spans) const {
  PONIENTE_RETURN_IF_ERROR(LocateTokens(leaf, position, spans));
  return LocateLossMask(leaf, position, spans);
}

absl::Status RunReads::LocateLossMask(uint32_t leaf, const Position& position,
                                      std::vector<ReadSpan>* spans) const {
  const DatasetNode& node = *trace_.tree().leaves()[leaf].node;
  const LossMaskSource* const mask = node.loss_mask();
  const PiecewiseItems* const items = PiecesOf(node);
  if (mask == nullptr || items == nullptr) return absl::OkStatus();
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<ItemPiece> pieces,
                            items->Pieces(position));
  std::vector<LocatedLossMask> masks;
  for (const ItemPiece& piece : pieces) {
    if (piece.is_padding()) continue;
    masks.clear();
    mask->LocateLossMask(piece.begin, piece.end, &masks);
    for (const LocatedLossMask& one : masks) {
      if (!one.range.has_value()) continue;
      spans->push_back({file_of_[leaf] + one.range->file, leaf,
                        one.range->offset, one.range->offset + one.range->bytes,
                        position.index, position.epoch});
    }
  }
  return absl::OkStatus();
}

absl::Status RunReads::LocateTokens(uint32_t leaf, const Position& position,
                                    std::vector<ReadSpan>* spans) const {
  const DatasetNode& node = *trace_.tree().leaves()[leaf].node;
  const auto add = [&](uint32_t file, uint64_t begin, uint64_t bytes) {
    spans->push_back({file_of_[leaf] + file, leaf, begin, begin + bytes,
                      position.index, position.epoch});
  };
  const RangeSource* const ranges = node.ranges();
  if (ranges != nullptr && !ranges->has_pieces()) {
    std::vector<FileRange> located;
    ranges->LocateAll(position.index, position.part_begin, position.part_length,
                      &located);
    for (const FileRange& range : located) {
      add(range.file, range.offset, range.bytes);
    }
    return absl::OkStatus();
  }
  const uint64_t width = WidthOf(leaf);
  if (const PiecewiseItems* const items = PiecesOf(node)) {
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<ItemPiece> pieces,
                              items->Pieces(position));
    const size_t first = spans->size();
    std::vector<FileRange> located;
    for (const ItemPiece& piece : pieces) {
      if (piece.is_padding()) continue;
      if (ranges != nullptr) {
        located.clear();
        ranges->LocateTokens(piece.begin, piece.end, &located);
        for (const FileRange& range : located) {
          add(range.file, range.offset, range.bytes);
        }
        continue;
      }
      if (spans->size() > first && spans->back().end == piece.begin * width) {
        spans->back().end = piece.end * width;
      } else {
        add(0, piece.begin * width, (piece.end - piece.begin) * width);
      }
    }
    return absl::OkStatus();
  }
  const uint64_t begin =
      position.index * node.item_tokens() + position.part_begin;
  add(0, begin * width, position.part_length * width);
  return absl::OkStatus();
}

absl::StatusOr<ReadTrace> RunReads::TraceOf(
    std::span<const Index> items) const {
  ReadTrace trace;
  trace.reads.reserve(draws_.size());
  trace.step_ends.reserve(step_ends_.size());
  size_t next = 0;
  for (const size_t end : step_ends_) {
    for (; next < end; ++next) {
      Position position = draws_[next].position;
      position.index = items[next];
      PONIENTE_RETURN_IF_ERROR(
          Locate(draws_[next].leaf, position, &trace.reads));
    }
    if (trace.reads.size() > kMaxReads) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "the first ", trace.step_ends.size() + 1, " steps read more than ",
          kMaxReads, " pieces of documents: take fewer steps"));
    }
    trace.step_ends.push_back(trace.reads.size());
  }
  return trace;
}

absl::StatusOr<ReadTrace> RunReads::AsConfigured() const {
  std::vector<Index> items(draws_.size());
  for (size_t i = 0; i < draws_.size(); ++i)
    items[i] = draws_[i].position.index;
  PONIENTE_ASSIGN_OR_RETURN(ReadTrace trace, TraceOf(items));
  trace.is_read_later = [this](uint32_t leaf, Index item, uint64_t epoch) {
    return IsDrawnLater(leaf, item, epoch);
  };
  return trace;
}

absl::StatusOr<bool> RunReads::IsDrawnLater(uint32_t leaf, Index item,
                                            uint64_t epoch) const {
  const Schedule& schedule = trace_.schedule();
  const uint64_t end = schedule.steps() == 0 ? UINT64_MAX : schedule.samples();
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<FoundPart> found,
                            trace_.tree().FindParts(leaf, item, epoch));
  for (const FoundPart& part : found) {
    const uint64_t sample = part.position.index;
    if (part.position.epoch != 0 || sample < end_sample_ || sample >= end) {
      continue;
    }
    const StepPlan plan = schedule.At(schedule.StepOf(sample));
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<bool> is_own, OwnSamples(plan));
    if (is_own[sample - plan.first_sample]) return true;
  }
  return false;
}

absl::StatusOr<ReadTrace> RunReads::InOrder(const ShuffleOptions& order) const {
  std::map<uint32_t, std::vector<size_t>> draws_of;  // by leaf
  for (size_t i = 0; i < draws_.size(); ++i) {
    draws_of[draws_[i].leaf].push_back(i);
  }
  auto shuffles = std::make_shared<std::map<uint32_t, EpochShuffle>>();
  std::vector<Index> items(draws_.size());
  for (const auto& [leaf, draws] : draws_of) {
    const TreeLeaf& at = trace_.tree().leaves()[leaf];
    const uint64_t length = Items(leaf);
    PONIENTE_ASSIGN_OR_RETURN(const OrderSpec spec,
                              ResolveShuffle(order, ItemTokens(leaf)));
    PONIENTE_RETURN_IF_ERROR(CheckOrder(spec, length));
    const EpochShuffle& shuffle =
        shuffles
            ->emplace(leaf, EpochShuffle(length, ChildSeed(0, at.path),
                                         kShuffleTag, spec))
            .first->second;
    std::vector<Position> places;
    for (const size_t draw : draws) {
      places.push_back(
          {.index = draws_[draw].place, .epoch = draws_[draw].position.epoch});
    }
    std::vector<ChildPosition> found(places.size());
    shuffle.Forward(places, found);
    for (size_t i = 0; i < draws.size(); ++i) {
      items[draws[i]] = found[i].position.index;
    }
  }
  PONIENTE_ASSIGN_OR_RETURN(ReadTrace trace, TraceOf(items));
  trace.is_read_later = [this, shuffles](
                            uint32_t leaf, Index item,
                            uint64_t epoch) -> absl::StatusOr<bool> {
    const auto pass = items_of_pass_.find(Pass{leaf, epoch});
    return pass == items_of_pass_.end() ||
           shuffles->at(leaf).Inverse(item, epoch) >= pass->second;
  };
  return trace;
}

}  // namespace poniente::internal
