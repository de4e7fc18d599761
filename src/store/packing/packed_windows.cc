// SPDX-License-Identifier: Apache-2.0
// Windows of whole documents, packed: implements TokenSource::PackedWindows().
// The datasets implement PiecewiseItems, and RangeSource if the source has
// arrays.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "index/packing/packing_options.h"
#include "index/packing/window_packing.h"
#include "io/range_source.h"
#include "poniente/async_dataset.h"
#include "poniente/extend/index_map_dataset.h"
#include "poniente/extend/item_sets.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/packing.h"
#include "poniente/token_source.h"
#include "store/packing/document_numbers.h"
#include "store/packing/packed_documents.h"
#include "store/packing/packing_plans.h"
#include "store/read/piece_reads.h"
#include "store/read/source_loss_mask.h"
#include "store/read/stored_ids.h"
#include "util/rounding.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

class PackedDataset : public AsyncDataset<TokenWindow>,
                      public PiecewiseItems,
                      public PackedItems {
 public:
  PackedDataset(std::shared_ptr<const Packed> packed, uint64_t seed)
      : packed_(std::move(packed)), loss_mask_(source()), seed_(seed) {}

  std::string name() const override { return source().path(); }
  const Vocabulary* vocabulary() const override {
    return source().known_vocabulary();
  }
  const LossMaskSource* loss_mask() const override { return loss_mask_.get(); }
  bool reads_files() const override { return true; }
  uint32_t item_tokens() const override { return packed_->window_tokens; }
  uint32_t padding_id() const override {
    return source().end_of_document().value_or(0);
  }
  // If each epoch has an order of its own, a mixture adds none. With chunks,
  // any other order would read all of the source at once.
  bool has_order() const override {
    return is_shuffled() || packed_->options.chunk_documents > 0;
  }
  uint64_t fingerprint() const override {
    return is_shuffled() ? Derive(packed_->fingerprint, seed_)
                         : packed_->fingerprint;
  }
  LengthState length_now() const override {
    return LengthState::Final(plans().num_windows());
  }
  std::shared_ptr<const ItemSets> item_sets() const override {
    return MakeSets(packed_, seed_);
  }
  const PackingSummary& packing_summary() const override {
    return plans().summary();
  }
  const PackingOptions* packing_options() const override {
    return &packed_->options;
  }
  absl::StatusOr<bool> FindSquaredLengths(
      std::span<const Position> positions, bool may_read,
      std::span<uint64_t> squares) const override;

  Task<std::vector<TokenWindow>> GetBatch(
      std::span<const Index> indices) const override {
    const std::vector<Position> positions = WholeItems(indices);
    absl::StatusOr<std::vector<TokenWindow>> items = co_await GetAt(positions);
    co_return items;
  }

  Task<std::vector<TokenWindow>> GetAt(
      std::span<const Position> positions) const override {
    absl::StatusOr<std::vector<TokenWindow>> items =
        co_await ReadPieces(*this, source(), positions, padding_id());
    co_return items;
  }

  absl::StatusOr<std::vector<ItemPiece>> Pieces(
      const Position& position) const override {
    std::vector<ItemPiece> pieces;
    PONIENTE_RETURN_IF_ERROR(
        Find(position, /*may_read=*/true, &pieces).status());
    return pieces;
  }
  bool HasPiecesInMemory(const Position& position) const override {
    std::vector<ItemPiece> pieces;
    const absl::StatusOr<bool> found =
        Find(position, /*may_read=*/false, &pieces);
    return !found.ok() || *found;
  }
  absl::StatusOr<bool> FindInMemory(
      const Position& position, std::vector<ItemPiece>* pieces) const override {
    return Find(position, /*may_read=*/false, pieces);
  }
  uint32_t align() const override { return packed_->options.align; }
  bool items_overlap() const override { return packed_->options.overlap > 0; }
  absl::StatusOr<bool> FindGoesOn(const ItemPiece& piece, bool may_read,
                                  bool* goes_on) const override {
    return FindPieceGoesOn(source(), piece, EndTokens(packed_->options),
                           may_read, goes_on);
  }
  absl::StatusOr<bool> FindEnds(const ItemPiece& piece, bool may_read,
                                PieceEnds* ends) const override {
    return FindPieceEnds(source(), piece, EndTokens(packed_->options), may_read,
                         ends);
  }
  absl::StatusOr<std::vector<PieceOfItem>> ItemsOf(
      uint64_t document) const override {
    return ItemsIn(document, 0);
  }
  absl::StatusOr<std::vector<PieceOfItem>> ItemsIn(
      uint64_t document, uint64_t epoch) const override;
  bool changes_with_epoch() const override { return is_shuffled(); }

 protected:
  bool is_shuffled() const { return packed_->options.shuffle; }
  const TokenSource& source() const { return *packed_->source; }
  const std::shared_ptr<const Packed>& packed() const { return packed_; }
  uint64_t seed() const { return seed_; }

 private:
  const PackingPlans& plans() const { return *packed_->plans; }
  PackingOrder OrderOf(uint64_t epoch) const {
    return packed_->OrderOf(seed_, epoch);
  }
  absl::StatusOr<PackedBin> BinOf(const Position& position,
                                  bool may_read) const {
    return plans().BinOf(position.index, OrderOf(position.epoch), may_read);
  }

  absl::Status CheckPosition(const Position& position) const;
  // Sets `pieces` to those of an item. Returns false if that takes a read and
  // must not.
  absl::StatusOr<bool> Find(const Position& position, bool may_read,
                            std::vector<ItemPiece>* pieces) const;

  const std::shared_ptr<const Packed> packed_;
  const SourceLossMask loss_mask_;
  const uint64_t seed_;
};

absl::Status PackedDataset::CheckPosition(const Position& position) const {
  if (position.index >= plans().num_windows()) {
    return CheckReadable(*this, std::span(&position.index, 1));
  }
  const bool is_whole = position.part_begin == 0 &&
                        (position.part_length == kWholeItem ||
                         position.part_length == packed_->window_tokens);
  if (is_whole) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "tokens ", position.part_begin, " to ",
      uint64_t{position.part_begin} + position.part_length, " of item ",
      position.index, " of '", name(),
      "': windows of packed documents are not cut, because that would cut "
      "documents; pack them for windows of the length asked for"));
}

// Items of one epoch that follow one another are looked up together.
absl::StatusOr<bool> PackedDataset::FindSquaredLengths(
    std::span<const Position> positions, bool may_read,
    std::span<uint64_t> squares) const {
  std::vector<uint64_t> windows;
  for (size_t begin = 0; begin < positions.size();) {
    const uint64_t epoch = positions[begin].epoch;
    windows.clear();
    for (size_t i = begin; i < positions.size() && positions[i].epoch == epoch;
         ++i) {
      PONIENTE_RETURN_IF_ERROR(CheckPosition(positions[i]));
      windows.push_back(positions[i].index);
    }
    PONIENTE_ASSIGN_OR_RETURN(
        const bool found,
        plans().FindSquaredLengths(windows, OrderOf(epoch), may_read,
                                   squares.subspan(begin, windows.size())));
    if (!found) return false;
    begin += windows.size();
  }
  return true;
}

absl::StatusOr<bool> PackedDataset::Find(const Position& position,
                                         bool may_read,
                                         std::vector<ItemPiece>* pieces) const {
  PONIENTE_RETURN_IF_ERROR(CheckPosition(position));
  PONIENTE_ASSIGN_OR_RETURN(const PackedBin at, BinOf(position, may_read));
  if (at.chunk == nullptr) return false;
  std::vector<PackedPiece> packed;
  at.chunk->packing.AppendBinPieces(at.bin, at.seats, &packed);
  const DocumentNumbers& numbers = at.chunk->order.numbers();
  // The documents lie far apart: waits for the memory of all of them at once.
  for (const PackedPiece& piece : packed) numbers.Prefetch(piece.ordinal);
  absl::InlinedVector<uint64_t, 32> documents(packed.size());
  for (size_t i = 0; i < packed.size(); ++i) {
    if (!may_read && !numbers.HasRead(packed[i].ordinal)) return false;
    PONIENTE_RETURN_IF_ERROR(
        numbers.Read(packed[i].ordinal, std::span(&documents[i], 1)));
  }
  if (!may_read && !source().HasRangesInMemory(documents)) return false;
  absl::InlinedVector<TokenRange, 32> ranges(packed.size());
  PONIENTE_RETURN_IF_ERROR(
      source().DocumentRanges(documents, std::span<TokenRange>(ranges)));
  const uint32_t end_tokens = EndTokens(packed_->options);
  pieces->clear();
  pieces->reserve(packed.size() + 1);
  uint32_t end = 0;
  const auto pad_to = [&](uint32_t offset, uint64_t kind) {
    if (offset > end) pieces->push_back({kind, 0, offset - end});
    end = offset;
  };
  for (size_t i = 0; i < packed.size(); ++i) {
    const PackedPiece& piece = packed[i];
    if (ranges[i].size() != piece.document_length + end_tokens) {
      return absl::DataLossError(absl::StrCat(
          "document ", documents[i], " of '", name(), "' has ",
          ranges[i].size(), " tokens, ", piece.document_length + end_tokens,
          " when documents were ordered by length: the source or the file of "
          "that order was changed; delete the file and open the source again"));
    }
    const uint64_t begin = ranges[i].begin + piece.begin;
    pieces->push_back({documents[i], begin, begin + piece.length});
    end = piece.offset + piece.length;
    pad_to(static_cast<uint32_t>(RoundUp(end, packed_->options.align)),
           kAlignmentPadding);
  }
  pad_to(packed_->window_tokens, kNoDocument);
  return true;
}

absl::StatusOr<std::vector<PieceOfItem>> PackedDataset::ItemsIn(
    uint64_t document, uint64_t epoch) const {
  std::vector<PieceOfItem> items;
  const std::span<const uint64_t> one(&document, 1);
  TokenRange tokens;
  // Keeps no ends for the sake of a single document.
  if (source().HasRangesInMemory(one)) {
    PONIENTE_RETURN_IF_ERROR(
        source().DocumentRanges(one, std::span(&tokens, 1)));
  } else {
    PONIENTE_ASSIGN_OR_RETURN(tokens, source().DocumentRange(document));
  }
  PONIENTE_ASSIGN_OR_RETURN(
      const std::vector<PackedPlace> places,
      plans().PlacesOf(document, tokens.size(), OrderOf(epoch)));
  for (const PackedPlace& place : places) {
    const uint64_t begin = tokens.begin + place.begin;
    items.push_back({place.window, place.offset, begin, begin + place.length});
  }
  return items;
}

template <class Base>
class Reseeded : public Base {
 public:
  using Base::Base;
  DatasetPtr<TokenWindow> WithSeed(uint64_t seed) const override {
    if (!this->is_shuffled() || seed == this->seed()) {
      return this->shared_from_this();
    }
    this->packed()->plans->AddSeed();
    return std::make_shared<Reseeded>(this->packed(), seed);
  }
};

// The windows of a source whose tokens lie in files as they are: loaders read
// them straight into batches.
class PackedRanges : public PackedDataset, public RangeSource {
 public:
  using PackedDataset::PackedDataset;

  const RangeSource* ranges() const override { return this; }
  const ByteReader& reader() const override { return source().reader(); }
  uint32_t width_bytes() const override {
    return StoredTypeBytes(source().stored_type());
  }
  uint32_t item_length() const override { return item_tokens(); }
  bool ids_are_checked() const override { return source().ids_are_checked(); }
  uint64_t id_limit() const override {
    return StoredTypeLimit(source().stored_type());
  }
  bool ids_are_signed() const override {
    return IsSigned(source().stored_type());
  }
  bool has_pieces() const override { return true; }
  void LocateTokens(uint64_t begin, uint64_t end,
                    std::vector<FileRange>* ranges) const override {
    source().AppendFileRanges(begin, end, ranges);
  }
};

absl::Status CheckLength(uint64_t length) {
  if (length > 0 && length < kWholeItem) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the length of a window must be 1 to ", kWholeItem - 1,
                   " tokens, got ", length));
}

absl::Status PackingError(const TokenSource& source,
                          const absl::Status& error) {
  return Prepend(
      error, absl::StrCat("packing the documents of '", source.path(), "'"));
}

DatasetPtr<TokenWindow> DatasetOf(std::shared_ptr<const TokenSource> source,
                                  std::unique_ptr<const PackingPlans> plans,
                                  uint32_t window_tokens,
                                  const PackingOptions& options,
                                  const std::optional<Selection>& documents) {
  const bool has_ranges = source->has_file_ranges();
  auto packed = std::make_shared<const Packed>(
      std::move(source), std::move(plans), window_tokens, options, documents);
  if (has_ranges) {
    return std::make_shared<Reseeded<PackedRanges>>(std::move(packed), 0);
  }
  return std::make_shared<Reseeded<PackedDataset>>(std::move(packed), 0);
}

absl::StatusOr<DatasetPtr<TokenWindow>> MakePackedWindows(
    std::shared_ptr<const TokenSource> source, uint64_t length,
    const PackingOptions& options, const std::optional<Selection>& documents) {
  PONIENTE_RETURN_IF_ERROR(CheckLength(length));
  const auto window_tokens = static_cast<uint32_t>(length);
  absl::StatusOr<std::unique_ptr<const PackingPlans>> plans =
      PackingPlans::Open(source, window_tokens, options, documents);
  if (!plans.ok()) return PackingError(*source, plans.status());
  return DatasetOf(std::move(source), *std::move(plans), window_tokens, options,
                   documents);
}

absl::StatusOr<std::vector<DatasetPtr<TokenWindow>>> MakePackedWindowsOfEach(
    const std::shared_ptr<const TokenSource>& source,
    std::span<const uint64_t> lengths, const PackingOptions& options,
    const std::optional<Selection>& documents) {
  if (options.chunk_documents == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "windows of several lengths of '", source->path(),
        "' need documents that are packed by chunks: state chunk_documents"));
  }
  std::vector<uint32_t> tokens;
  for (const uint64_t length : lengths) {
    PONIENTE_RETURN_IF_ERROR(CheckLength(length));
    tokens.push_back(static_cast<uint32_t>(length));
  }
  auto plans = PackingPlans::OpenEach(source, tokens, options, documents);
  if (!plans.ok()) return PackingError(*source, plans.status());
  std::vector<DatasetPtr<TokenWindow>> made;
  for (size_t i = 0; i < tokens.size(); ++i) {
    made.push_back(DatasetOf(source, std::move((*plans)[i]), tokens[i], options,
                             documents));
  }
  return made;
}

}  // namespace
}  // namespace poniente::internal

namespace poniente {

absl::StatusOr<DatasetPtr<TokenWindow>> TokenSource::PackedWindows(
    uint64_t length, const PackingOptions& options) const {
  return internal::MakePackedWindows(shared_from_this(), length, options,
                                     std::nullopt);
}

absl::StatusOr<DatasetPtr<TokenWindow>> TokenSource::PackedWindows(
    uint64_t length, const PackingOptions& options,
    const Selection& documents) const {
  return internal::MakePackedWindows(shared_from_this(), length, options,
                                     documents);
}

absl::StatusOr<std::vector<DatasetPtr<TokenWindow>>>
TokenSource::PackedWindowsOfEach(std::span<const uint64_t> lengths,
                                 const PackingOptions& options) const {
  return internal::MakePackedWindowsOfEach(shared_from_this(), lengths, options,
                                           std::nullopt);
}

absl::StatusOr<std::vector<DatasetPtr<TokenWindow>>>
TokenSource::PackedWindowsOfEach(std::span<const uint64_t> lengths,
                                 const PackingOptions& options,
                                 const Selection& documents) const {
  return internal::MakePackedWindowsOfEach(shared_from_this(), lengths, options,
                                           documents);
}

}  // namespace poniente
