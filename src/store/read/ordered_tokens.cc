// SPDX-License-Identifier: Apache-2.0
#include "store/read/ordered_tokens.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "util/check.h"
#include "util/rounding.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Documents whose lengths, or places, are read together.
constexpr uint64_t kMeasured = 65536;

absl::Status CheckCount(const TokenSource& store, std::string_view what,
                        uint64_t items) {
  if (items == store.num_documents()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the ", Absl(what), " is of ", items, " items, '", store.path(), "' has ",
      store.num_documents(), " documents; make the ", Absl(what),
      " anew from scores of these documents"));
}

absl::Status LengthsChanged(const TokenSource& store) {
  return absl::DataLossError(absl::StrCat(
      "'", store.path(),
      "': its documents have other lengths than when it was opened: the "
      "documents file was changed; restore it from a copy or pack the store "
      "again"));
}

// The documents among [first, end) that are selected.
std::vector<uint64_t> DocumentsIn(const Selection* selection, uint64_t first,
                                  uint64_t end) {
  if (selection != nullptr) {
    first = selection->CountBelow(first);
    end = selection->CountBelow(end);
  }
  std::vector<uint64_t> documents(end - first);
  std::iota(documents.begin(), documents.end(), first);
  if (selection != nullptr) selection->Select(documents, documents);
  return documents;
}

}  // namespace

absl::StatusOr<OrderedTokens> OrderedTokens::Create(
    const TokenSource& store, ScoreOrder order, const Selection* selection) {
  PONIENTE_RETURN_IF_ERROR(CheckCount(store, "order", order.size()));
  OrderedTokens made(std::move(order));
  made.fingerprint_ = made.order_.fingerprint();
  if (selection != nullptr) {
    PONIENTE_RETURN_IF_ERROR(CheckCount(store, "selection", selection->size()));
    PONIENTE_RETURN_IF_ERROR(made.Choose(*selection));
    made.fingerprint_ =
        Derive(made.fingerprint_, Tag("selected"), selection->fingerprint());
  }
  PONIENTE_RETURN_IF_ERROR(made.Measure(store, selection));
  return made;
}

absl::Status OrderedTokens::Choose(const Selection& selection) {
  std::vector<uint64_t> words(CeilDivide(selection.size(), 64));
  for (uint64_t first = 0; first < selection.size(); first += kMeasured) {
    std::vector<uint64_t> places = DocumentsIn(
        &selection, first, std::min(first + kMeasured, selection.size()));
    order_.PlacesOf(places, places);
    for (const uint64_t place : places) {
      words[place / 64] |= uint64_t{1} << place % 64;
    }
  }
  PONIENTE_RETURN_IF_ERROR(order_.status());
  PONIENTE_ASSIGN_OR_RETURN(
      places_, Selection::FromBitmap(selection.size(), std::move(words)));
  return absl::OkStatus();
}

absl::Status OrderedTokens::Measure(const TokenSource& store,
                                    const Selection* selection) {
  samples_.resize(CeilDivide(count(), kBlock));
  for (uint64_t first = 0; first < order_.size(); first += kMeasured) {
    const uint64_t end = std::min(first + kMeasured, order_.size());
    std::vector<uint64_t> documents = DocumentsIn(selection, first, end);
    if (documents.empty()) continue;
    const uint64_t begin = documents.front();
    PONIENTE_ASSIGN_OR_RETURN(
        const std::vector<uint64_t> bounds,
        store.DocumentBounds(begin, documents.back() + 1 - begin));
    PONIENTE_RETURN_IF_ERROR(AddLengths(documents, begin, bounds));
  }
  for (uint64_t& sample : samples_) {
    total_ += sample;
    sample = total_ - sample;
  }
  return absl::OkStatus();
}

absl::Status OrderedTokens::AddLengths(std::span<uint64_t> documents,
                                       uint64_t first,
                                       std::span<const uint64_t> bounds) {
  std::vector<uint64_t> lengths;
  lengths.reserve(documents.size());
  for (const uint64_t document : documents) {
    lengths.push_back(bounds[document - first + 1] - bounds[document - first]);
  }
  order_.PlacesOf(documents, documents);
  PONIENTE_RETURN_IF_ERROR(order_.status());
  for (size_t i = 0; i < documents.size(); ++i) {
    const uint64_t place = documents[i];
    const uint64_t ordinal = places_ ? places_->CountBelow(place) : place;
    samples_[ordinal / kBlock] += lengths[i];
  }
  return absl::OkStatus();
}

uint64_t OrderedTokens::memory_bytes() const {
  return 8 * samples_.capacity() + (places_ ? places_->memory_bytes() : 0);
}

absl::StatusOr<bool> OrderedTokens::Read(const TokenSource& store,
                                         uint64_t number, bool may_read,
                                         Block* block) const {
  const uint64_t first = number * kBlock;
  block->size = std::min<uint64_t>(kBlock, count() - first);
  const auto documents = std::span(block->documents).first(block->size);
  std::iota(documents.begin(), documents.end(), first);
  if (places_) places_->Select(documents, documents);
  order_.ItemsAt(documents, documents);
  PONIENTE_RETURN_IF_ERROR(order_.status());
  if (!may_read && !store.HasRangesInMemory(documents)) return false;
  PONIENTE_RETURN_IF_ERROR(store.DocumentRanges(
      documents, std::span(block->tokens).first(block->size)));
  uint64_t tokens = 0;
  for (size_t i = 0; i < block->size; ++i) tokens += block->tokens[i].size();
  if (tokens != EndOf(number) - samples_[number]) return LengthsChanged(store);
  return true;
}

absl::StatusOr<bool> OrderedTokens::FindPieces(
    const TokenSource& store, uint64_t begin, uint64_t end, bool may_read,
    std::vector<ItemPiece>* pieces) const {
  PONIENTE_CHECK(begin <= end && end <= total_) << begin << ' ' << end;
  pieces->clear();
  if (begin == end) return true;
  const auto after = std::upper_bound(samples_.begin(), samples_.end(), begin);
  auto number = static_cast<uint64_t>(after - samples_.begin()) - 1;
  for (; number < samples_.size() && samples_[number] < end; ++number) {
    uint64_t offset = samples_[number];
    if (EndOf(number) == offset) continue;  // all documents are empty
    Block block;
    PONIENTE_ASSIGN_OR_RETURN(const bool has_read,
                              Read(store, number, may_read, &block));
    if (!has_read) return false;
    for (size_t i = 0; i < block.size; ++i) {
      const TokenRange tokens = block.tokens[i];
      const uint64_t from = std::max(begin, offset);
      const uint64_t to = std::min(end, offset + tokens.size());
      if (from < to) {
        pieces->push_back({block.documents[i], tokens.begin + (from - offset),
                           tokens.begin + (to - offset)});
      }
      offset += tokens.size();
    }
  }
  return true;
}

absl::StatusOr<std::optional<SelectedTokens::DocumentLocation>>
OrderedTokens::Find(const TokenSource& store, uint64_t document) const {
  const uint64_t place = order_.PlaceOf(document);
  PONIENTE_RETURN_IF_ERROR(order_.status());
  std::optional<uint64_t> ordinal = place;
  if (places_) ordinal = places_->OrdinalOf(place);
  if (!ordinal) return std::nullopt;
  Block block;
  PONIENTE_RETURN_IF_ERROR(
      Read(store, *ordinal / kBlock, /*may_read=*/true, &block).status());
  SelectedTokens::DocumentLocation found{samples_[*ordinal / kBlock], {}};
  const size_t at = *ordinal % kBlock;
  for (size_t i = 0; i < at; ++i) found.offset += block.tokens[i].size();
  found.tokens = block.tokens[at];
  return found;
}

}  // namespace poniente::internal
