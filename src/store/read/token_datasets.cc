// SPDX-License-Identifier: Apache-2.0
#include "store/read/token_datasets.h"

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "index/keyed_hash.h"
#include "io/range_source.h"
#include "poniente/extend/index_map_dataset.h"
#include "store/read/piece_reads.h"
#include "store/read/source_loss_mask.h"
#include "store/read/stored_ids.h"
#include "store/read/window_grid.h"
#include "util/in_parallel.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// The base of all datasets whose items are ranges of tokens.
class RangesDataset : public AsyncDataset<TokenWindow> {
 public:
  explicit RangesDataset(std::shared_ptr<const TokenSource> source)
      : source_(std::move(source)), loss_mask_(*source_) {}

  std::string name() const override { return source_->path(); }
  const Vocabulary* vocabulary() const override {
    return source_->known_vocabulary();
  }
  const LossMaskSource* loss_mask() const override { return loss_mask_.get(); }
  bool reads_files() const override { return true; }

  Task<std::vector<TokenWindow>> GetBatch(
      std::span<const Index> indices) const override {
    const std::vector<Position> positions = WholeItems(indices);
    absl::StatusOr<std::vector<TokenWindow>> items = co_await GetAt(positions);
    co_return items;
  }

  Task<std::vector<TokenWindow>> GetAt(
      std::span<const Position> positions) const override {
    absl::StatusOr<std::vector<TokenRange>> ranges = FindAll(positions);
    if (!ranges.ok()) co_return ranges.status();
    absl::StatusOr<std::vector<TokenWindow>> items =
        co_await source_->ReadRanges(*std::move(ranges));
    co_return items;
  }

 protected:
  const TokenSource& source() const { return *source_; }
  // REQUIRES: index < length.
  virtual absl::StatusOr<TokenRange> ItemRange(uint64_t index) const = 0;

  // Returns the tokens that the position asks for.
  absl::StatusOr<TokenRange> Find(const Position& position) const {
    if (position.index >= length_now().readable) {
      PONIENTE_RETURN_IF_ERROR(
          CheckReadable(*this, std::span(&position.index, 1)));
    }
    PONIENTE_ASSIGN_OR_RETURN(const TokenRange item, ItemRange(position.index));
    return PartOf(*this, item, position);
  }

 private:
  absl::StatusOr<std::vector<TokenRange>> FindAll(
      std::span<const Position> positions) const {
    std::vector<TokenRange> ranges;
    ranges.reserve(positions.size());
    for (const Position& position : positions) {
      PONIENTE_ASSIGN_OR_RETURN(const TokenRange part, Find(position));
      ranges.push_back(part);
    }
    return ranges;
  }

  const std::shared_ptr<const TokenSource> source_;
  const SourceLossMask loss_mask_;
};

class Windows : public RangesDataset, public RangeSource {
 public:
  Windows(std::shared_ptr<const TokenSource> source, uint32_t length,
          const WindowRule& rule)
      : RangesDataset(std::move(source)),
        length_(length),
        rule_(rule),
        grid_(this->source().shard_ends(), length, rule),
        width_(StoredTypeBytes(this->source().stored_type())),
        num_windows_(grid_.num_windows()),
        stride_(length - rule.overlap) {
    const size_t arrays = this->source().arrays().size();
    const bool has_ranges = this->source().has_file_ranges();
    is_one_array_ = arrays == 1;
    is_split_ = arrays == 0 ? has_ranges : arrays > 1 && rule.across_shards;
    has_ranges_ = has_ranges && (!is_split_ || grid_.is_uniform());
  }

  uint64_t fingerprint() const override {
    const uint64_t plain =
        Derive(source().fingerprint(), Tag("windows"), length_);
    WindowRule rule = rule_;
    if (source().num_shards() == 1) rule.across_shards = true;
    if (rule == WindowRule()) return plain;
    return Derive(plain, Tag("cut"), uint64_t{rule.overlap},
                  uint64_t{rule.across_shards}, uint64_t{rule.keep_tail});
  }
  // The windows of sources that grow are plain.
  std::optional<uint64_t> BeginFingerprint(uint64_t items) const override {
    if (rule_ != WindowRule() || source().num_shards() != 1 ||
        items > num_windows_) {
      return std::nullopt;
    }
    return source().BeginFingerprint(items * length_);
  }
  LengthState length_now() const override {
    return LengthState::Final(num_windows_);
  }

  uint32_t item_tokens() const override {
    return grid_.is_uniform() ? length_ : 0;
  }
  const RangeSource* ranges() const override {
    return has_ranges_ ? this : nullptr;
  }
  const ByteReader& reader() const override { return source().reader(); }
  uint32_t width_bytes() const override { return width_; }
  uint32_t item_length() const override { return item_tokens(); }
  bool ids_are_checked() const override { return source().ids_are_checked(); }
  uint64_t id_limit() const override {
    return StoredTypeLimit(source().stored_type());
  }
  bool ids_are_signed() const override {
    return IsSigned(source().stored_type());
  }
  FileRange Locate(uint64_t item, uint32_t begin,
                   uint32_t count) const override {
    const uint64_t width = width_;
    if (is_one_array_) {
      const TokenArray& array = source().arrays()[0];
      return {array.file, array.offset + (item * stride_ + begin) * width,
              count * width};
    }
    const TokenArray& array = source().arrays()[grid_.PartOf(item)];
    const uint64_t token = grid_.Window(item).begin + begin - array.first_token;
    return {array.file, array.offset + token * width, count * width};
  }
  bool items_are_split() const override { return is_split_; }
  void LocateAll(uint64_t item, uint32_t begin, uint32_t count,
                 std::vector<FileRange>* ranges) const override {
    if (!is_split_) {
      ranges->push_back(Locate(item, begin, count));
      return;
    }
    const uint64_t first = grid_.Window(item).begin + begin;
    source().AppendFileRanges(first, first + count, ranges);
  }
  void LocateTokens(uint64_t begin, uint64_t end,
                    std::vector<FileRange>* ranges) const override {
    source().AppendFileRanges(begin, end, ranges);
  }

 protected:
  absl::StatusOr<TokenRange> ItemRange(uint64_t index) const override {
    return grid_.Window(index);
  }
  const WindowGrid& grid() const { return grid_; }
  bool overlaps() const { return rule_.overlap > 0; }

 private:
  const uint32_t length_;
  const WindowRule rule_;
  const WindowGrid grid_;
  // Copies of values that are used in each batch.
  const uint32_t width_;
  const uint64_t num_windows_;
  const uint64_t stride_;
  bool is_one_array_ = false;
  bool is_split_ = false;
  bool has_ranges_ = false;
};

// The windows of a source whose documents are known.
class WindowsOfDocuments final : public Windows, public PiecewiseItems {
 public:
  using Windows::Windows;

  absl::StatusOr<std::vector<ItemPiece>> Pieces(
      const Position& position) const override {
    PONIENTE_ASSIGN_OR_RETURN(const TokenRange tokens, Find(position));
    return source().DocumentPieces(tokens.begin, tokens.end);
  }
  bool HasPiecesInMemory(const Position& position) const override {
    const absl::StatusOr<TokenRange> tokens = Find(position);
    return !tokens.ok() ||
           source().HasPiecesInMemory(tokens->begin, tokens->end);
  }
  bool items_overlap() const override { return overlaps(); }
  uint32_t padding_id() const override {
    return source().end_of_document().value_or(0);
  }
  absl::StatusOr<bool> FindGoesOn(const ItemPiece& piece, bool may_read,
                                  bool* goes_on) const override {
    *goes_on = false;
    if (piece.end >= source().num_tokens()) return true;
    if (!may_read &&
        !source().HasPiecesInMemory(piece.end - 1, piece.end + 1)) {
      return false;
    }
    // The last token of the piece and the one behind it: of one document?
    PONIENTE_ASSIGN_OR_RETURN(
        const std::vector<ItemPiece> pieces,
        source().DocumentPieces(piece.end - 1, piece.end + 1));
    *goes_on = pieces.size() == 1;
    return true;
  }
  absl::StatusOr<bool> FindEnds(const ItemPiece& piece, bool may_read,
                                PieceEnds* ends) const override {
    return FindPieceEnds(source(), piece, /*end_tokens=*/0, may_read, ends);
  }
  absl::StatusOr<std::vector<PieceOfItem>> ItemsOf(
      uint64_t document) const override {
    PONIENTE_ASSIGN_OR_RETURN(const TokenRange tokens,
                              source().DocumentRange(document));
    return grid().Pieces(tokens);
  }
  absl::StatusOr<std::vector<uint64_t>> ItemsOfEach(
      std::span<const uint64_t> documents) const override {
    // Many documents have their ends all over the source's.
    const size_t parts = documents.size() / kDocumentsPerPart + 1;
    std::vector<std::vector<uint64_t>> items(parts);
    std::vector<absl::Status> statuses(parts);
    InParallel(parts, [&](size_t part) {
      const size_t first = part * kDocumentsPerPart;
      statuses[part] = AppendItems(
          documents.subspan(
              first, std::min(kDocumentsPerPart, documents.size() - first)),
          &items[part]);
    });
    for (size_t part = 0; part < parts; ++part) {
      PONIENTE_RETURN_IF_ERROR(statuses[part]);
      if (part == 0) continue;
      items[0].insert(items[0].end(), items[part].begin(), items[part].end());
    }
    return std::move(items[0]);
  }

 private:
  static constexpr size_t kDocumentsPerPart = 16384;

  absl::Status AppendItems(std::span<const uint64_t> documents,
                           std::vector<uint64_t>* items) const {
    std::vector<TokenRange> ranges(documents.size());
    PONIENTE_RETURN_IF_ERROR(source().DocumentRanges(documents, ranges));
    for (const TokenRange& tokens : ranges) {
      for (const PieceOfItem& piece : grid().Pieces(tokens)) {
        items->push_back(piece.item);
      }
    }
    return absl::OkStatus();
  }
};

class DocumentsDataset final : public RangesDataset, public PiecewiseItems {
 public:
  using RangesDataset::RangesDataset;

  uint64_t fingerprint() const override {
    return Derive(source().fingerprint(), Tag("docs"));
  }
  LengthState length_now() const override {
    return LengthState::Final(source().num_documents());
  }

  absl::StatusOr<std::vector<ItemPiece>> Pieces(
      const Position& position) const override {
    PONIENTE_ASSIGN_OR_RETURN(const TokenRange tokens, Find(position));
    std::vector<ItemPiece> pieces;
    if (tokens.size() > 0) {
      pieces.push_back({position.index, tokens.begin, tokens.end});
    }
    return pieces;
  }
  uint32_t padding_id() const override {
    return source().end_of_document().value_or(0);
  }
  absl::StatusOr<bool> FindEnds(const ItemPiece& piece, bool may_read,
                                PieceEnds* ends) const override {
    return FindPieceEnds(source(), piece, /*end_tokens=*/0, may_read, ends);
  }
  absl::StatusOr<std::vector<PieceOfItem>> ItemsOf(
      uint64_t document) const override {
    PONIENTE_ASSIGN_OR_RETURN(const TokenRange tokens,
                              source().DocumentRange(document));
    std::vector<PieceOfItem> items;
    if (tokens.size() > 0) {
      items.push_back({document, 0, tokens.begin, tokens.end});
    }
    return items;
  }

 protected:
  absl::StatusOr<TokenRange> ItemRange(uint64_t index) const override {
    return source().DocumentRange(index);
  }
};

}  // namespace

absl::StatusOr<TokenRange> PartOf(const DatasetNode& node, TokenRange item,
                                  const Position& position) {
  if (position.part_length == kWholeItem && position.part_begin == 0) {
    return item;
  }
  PONIENTE_RETURN_IF_ERROR(CheckPart(node, position, item.size()));
  const uint64_t begin = item.begin + position.part_begin;
  return TokenRange{begin, begin + position.part_length};
}

DatasetPtr<TokenWindow> MakeWindows(std::shared_ptr<const TokenSource> source,
                                    uint32_t length, const WindowRule& rule) {
  if (source->knows_documents()) {
    return std::make_shared<WindowsOfDocuments>(std::move(source), length,
                                                rule);
  }
  return std::make_shared<Windows>(std::move(source), length, rule);
}

DatasetPtr<TokenWindow> MakeDocuments(
    std::shared_ptr<const TokenSource> source) {
  return std::make_shared<DocumentsDataset>(std::move(source));
}

}  // namespace poniente::internal
