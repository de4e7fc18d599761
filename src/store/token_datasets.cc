// SPDX-License-Identifier: Apache-2.0
#include "store/token_datasets.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "io/range_source.h"
#include "poniente/index_map_dataset.h"
#include "util/byte_order.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

template <class Stored>
void Widen(const std::byte* from, std::span<uint32_t> to) {
  for (size_t i = 0; i < to.size(); ++i) {
    to[i] = LoadLittle<Stored>(from + i * sizeof(Stored));
  }
}

void Decode(const std::byte* from, uint32_t width, std::span<uint32_t> to) {
  if (width == 1) return Widen<uint8_t>(from, to);
  if (width == 2) return Widen<uint16_t>(from, to);
  return Widen<uint32_t>(from, to);
}

// What the two share: items that are ranges of tokens.
class RangesDataset : public AsyncDataset<TokenWindow>, public PiecewiseItems {
 public:
  explicit RangesDataset(std::shared_ptr<const TokenStore> store)
      : store_(std::move(store)) {}

  std::string name() const override { return store_->path(); }
  const Vocabulary* vocabulary() const override {
    return &store_->vocabulary();
  }

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
        co_await ReadRanges(*store_, *std::move(ranges));
    co_return items;
  }

 protected:
  const TokenStore& store() const { return *store_; }
  // REQUIRES: index < length.
  virtual absl::StatusOr<TokenRange> ItemRange(uint64_t index) const = 0;

  // The tokens that the position asks for.
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

  const std::shared_ptr<const TokenStore> store_;
};

class WindowsDataset final : public RangesDataset, public RangeSource {
 public:
  WindowsDataset(std::shared_ptr<const TokenStore> store, uint32_t length)
      : RangesDataset(std::move(store)),
        length_(length),
        num_windows_(this->store().num_tokens() / length),
        width_(TokenTypeBytes(this->store().token_type())) {}

  uint64_t fingerprint() const override {
    return Derive(store().fingerprint(), Tag("windows"), length_);
  }
  LengthState length_now() const override {
    return LengthState::Final(num_windows_);
  }

  uint32_t item_tokens() const override { return length_; }
  const RangeSource* ranges() const override { return this; }
  const ByteReader& reader() const override { return store().reader(); }
  uint32_t width_bytes() const override { return width_; }
  uint32_t item_length() const override { return length_; }
  // A writer refuses other ids, and checksums tell of what it did not write.
  bool ids_are_checked() const override {
    return reader().verify_checksums() != VerifyChecksums::kOff;
  }
  FileRange Locate(uint64_t item, uint32_t begin,
                   uint32_t count) const override {
    const uint64_t width = width_;
    return {0, (item * length_ + begin) * width, count * width};
  }

  absl::StatusOr<std::vector<ItemPiece>> Pieces(
      const Position& position) const override {
    PONIENTE_ASSIGN_OR_RETURN(const TokenRange tokens, Find(position));
    return store().DocumentPieces(tokens.begin, tokens.end);
  }
  absl::StatusOr<std::vector<PieceOfItem>> ItemsOf(
      uint64_t document) const override {
    PONIENTE_ASSIGN_OR_RETURN(const TokenRange tokens,
                              store().DocumentRange(document));
    return CutIntoItems(tokens, tokens.begin, length_, length_now().readable);
  }

 protected:
  absl::StatusOr<TokenRange> ItemRange(uint64_t index) const override {
    return TokenRange{index * length_, (index + 1) * length_};
  }

 private:
  const uint32_t length_;
  // Of the store: asked for at each batch.
  const uint64_t num_windows_;
  const uint32_t width_;
};

class DocumentsDataset final : public RangesDataset {
 public:
  using RangesDataset::RangesDataset;

  uint64_t fingerprint() const override {
    return Derive(store().fingerprint(), Tag("docs"));
  }
  LengthState length_now() const override {
    return LengthState::Final(store().num_documents());
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
  absl::StatusOr<std::vector<PieceOfItem>> ItemsOf(
      uint64_t document) const override {
    PONIENTE_ASSIGN_OR_RETURN(const TokenRange tokens,
                              store().DocumentRange(document));
    std::vector<PieceOfItem> items;
    if (tokens.size() > 0) {
      items.push_back({document, 0, tokens.begin, tokens.end});
    }
    return items;
  }

 protected:
  absl::StatusOr<TokenRange> ItemRange(uint64_t index) const override {
    return store().DocumentRange(index);
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

std::vector<PieceOfItem> CutIntoItems(TokenRange document, uint64_t offset,
                                      uint64_t length, uint64_t num_items) {
  const uint64_t end = std::min(offset + document.size(), num_items * length);
  std::vector<PieceOfItem> items;
  for (uint64_t at = offset; at < end;) {
    const uint64_t item = at / length;
    const uint64_t to = std::min(end, (item + 1) * length);
    const uint64_t begin = document.begin + (at - offset);
    items.push_back({item, static_cast<uint32_t>(at - item * length), begin,
                     begin + (to - at)});
    at = to;
  }
  return items;
}

Task<std::vector<TokenWindow>> ReadRanges(const TokenStore& store,
                                          std::vector<TokenRange> ranges) {
  const uint32_t width = TokenTypeBytes(store.token_type());
  uint64_t bytes = 0;
  for (const TokenRange& range : ranges) bytes += range.size() * width;
  const auto stored = std::make_unique_for_overwrite<std::byte[]>(bytes);

  std::vector<ReadRequest> requests;
  requests.reserve(ranges.size());
  std::byte* to = stored.get();
  for (const TokenRange& range : ranges) {
    const size_t size = range.size() * width;
    if (size == 0) continue;
    requests.push_back({&store.reader(), 0, range.begin * width, {to, size}});
    to += size;
  }
  const absl::Status read = co_await ReadBatch(requests);
  if (!read.ok()) co_return read;

  std::vector<TokenWindow> windows(ranges.size());
  const std::byte* from = stored.get();
  for (size_t i = 0; i < ranges.size(); ++i) {
    windows[i].tokens.resize(ranges[i].size());
    Decode(from, width, windows[i].tokens);
    from += ranges[i].size() * width;
  }
  co_return windows;
}

DatasetPtr<TokenWindow> MakeWindows(std::shared_ptr<const TokenStore> store,
                                    uint32_t length) {
  return std::make_shared<WindowsDataset>(std::move(store), length);
}

DatasetPtr<TokenWindow> MakeDocuments(std::shared_ptr<const TokenStore> store) {
  return std::make_shared<DocumentsDataset>(std::move(store));
}

}  // namespace poniente::internal
