// SPDX-License-Identifier: Apache-2.0
#include "store/read/document_index.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// A search reads the last candidates together, up to one page of ends.
constexpr uint64_t kScanned = 512;

}  // namespace

absl::StatusOr<TokenRange> DocumentIndex::Range(uint64_t document) const {
  PONIENTE_RETURN_IF_ERROR(CheckDocument(document));
  return Between(0, document, tokens_, "document");
}

absl::StatusOr<TokenRange> DocumentIndex::KeptRange(uint64_t document) const {
  PONIENTE_RETURN_IF_ERROR(CheckDocument(document));
  PONIENTE_ASSIGN_OR_RETURN(const EndsSegment* segment,
                            ends_.Segment(ends_.SegmentWith(document)));
  if (segment == nullptr) return Range(document);
  return segment->Of(document);
}

absl::Status DocumentIndex::KeptRanges(std::span<const uint64_t> documents,
                                       std::span<TokenRange> ranges) const {
  // The documents of a packed window lie far apart: waits for the memory of all
  // of them at once.
  const auto for_kept = [&](void (CompactEnds::*prefetch)(uint64_t) const) {
    for (const uint64_t document : documents) {
      if (document >= documents_) continue;
      const EndsSegment* const kept = ends_.KeptWith(document);
      if (kept != nullptr) (kept->lengths.*prefetch)(document - kept->first);
    }
  };
  if (documents.size() > 1) {
    for_kept(&CompactEnds::PrefetchBlock);
    for_kept(&CompactEnds::PrefetchLengths);
  }
  for (size_t i = 0; i < documents.size(); ++i) {
    PONIENTE_ASSIGN_OR_RETURN(ranges[i], KeptRange(documents[i]));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint64_t>> DocumentIndex::Bounds(
    uint64_t first, uint64_t count) const {
  if (first > documents_ || count > documents_ - first) {
    return absl::OutOfRangeError(
        absl::StrCat(count, " documents from document ", first, " of '",
                     file_.path(), "', which holds ", documents_));
  }
  // Where document `first` begins, the previous one ends; document 0 has none.
  const uint64_t before = first == 0 ? 0 : 1;
  PONIENTE_ASSIGN_OR_RETURN(std::vector<uint64_t> bounds,
                            ReadWords(file_, first - before, count + before));
  if (first == 0) bounds.insert(bounds.begin(), 0);
  for (uint64_t i = 1; i <= count; ++i) {
    const uint64_t begin = bounds[i - 1];
    const uint64_t least = first + i == documents_ ? tokens_ : begin;
    if (begin > bounds[i] || bounds[i] < least || bounds[i] > tokens_) {
      return DisorderedEnds(file_, "document", first + i - 1, bounds[i], least,
                            tokens_);
    }
  }
  return bounds;
}

absl::StatusOr<std::string> DocumentIndex::Name(uint64_t document) const {
  PONIENTE_RETURN_IF_ERROR(CheckDocument(document));
  PONIENTE_ASSIGN_OR_RETURN(const TokenRange place,
                            Between(documents_, document, name_bytes_, "name"));
  std::string name(place.size(), '\0');
  PONIENTE_RETURN_IF_ERROR(file_.ReadAt(
      16 * documents_ + place.begin, std::as_writable_bytes(std::span(name))));
  return name;
}

absl::StatusOr<uint64_t> DocumentIndex::At(uint64_t token) const {
  if (token >= tokens_) {
    return absl::OutOfRangeError(
        absl::StrCat("token ", token, " of '", file_.path(),
                     "', whose store has ", tokens_, " tokens"));
  }
  PONIENTE_ASSIGN_OR_RETURN(const uint64_t number, ends_.SegmentOf(token));
  PONIENTE_ASSIGN_OR_RETURN(const EndsSegment* segment, ends_.Segment(number));
  if (segment != nullptr) return segment->At(token);
  PONIENTE_ASSIGN_OR_RETURN(const Ends found, EndsFrom(token, number));
  return found.first;
}

absl::StatusOr<std::vector<ItemPiece>> DocumentIndex::Pieces(
    uint64_t begin, uint64_t end) const {
  std::vector<ItemPiece> pieces;
  if (begin > end || end > tokens_) {
    return absl::OutOfRangeError(
        absl::StrCat("tokens [", begin, ", ", end, ") of '", file_.path(),
                     "', whose store has ", tokens_, " tokens"));
  }
  if (begin == end) return pieces;
  PONIENTE_ASSIGN_OR_RETURN(uint64_t number, ends_.SegmentOf(begin));
  while (begin < end) {
    PONIENTE_ASSIGN_OR_RETURN(const EndsSegment* segment,
                              ends_.Segment(number));
    if (segment == nullptr) {
      PONIENTE_RETURN_IF_ERROR(ScanPieces(begin, end, number, &pieces));
      break;
    }
    if (segment->end() > begin) {
      segment->AppendPieces(begin, end, &pieces);
      begin = pieces.back().end;
    }
    ++number;
  }
  return pieces;
}

// Searches for the first document that ends after the token. Invariant:
// documents below `low` end at `low_end` or before, and low_end <= token;
// document `high` ends at `high_end`, and high_end > token.
absl::StatusOr<DocumentIndex::Ends> DocumentIndex::EndsFrom(
    uint64_t token, uint64_t segment) const {
  uint64_t low = ends_.FirstOf(segment);
  uint64_t high = ends_.EndOf(segment) - 1;
  PONIENTE_ASSIGN_OR_RETURN(uint64_t low_end, ends_.LastEnd(segment - 1));
  PONIENTE_ASSIGN_OR_RETURN(uint64_t high_end, ends_.LastEnd(segment));
  while (high - low > kScanned) {
    const uint64_t middle = low + (high - low) / 2;
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint64_t> word,
                              ReadWords(file_, middle, 1));
    const uint64_t end = word.front();
    if (end < low_end || end > high_end) {
      return DisorderedEnds(file_, "document", middle, end, low_end, high_end);
    }
    if (end > token) {
      high = middle;
      high_end = end;
    } else {
      low = middle + 1;
      low_end = end;
    }
  }
  PONIENTE_ASSIGN_OR_RETURN(std::vector<uint64_t> ends,
                            ReadWords(file_, low, high + 1 - low));
  for (uint64_t i = 0; i < ends.size(); ++i) {
    const uint64_t least = low + i == high ? high_end : low_end;
    if (ends[i] < least || ends[i] > high_end) {
      return DisorderedEnds(file_, "document", low + i, ends[i], least,
                            high_end);
    }
    low_end = ends[i];
  }
  const auto found = std::upper_bound(ends.begin(), ends.end(), token);
  const uint64_t first = low + static_cast<uint64_t>(found - ends.begin());
  ends.erase(ends.begin(), found);
  return Ends{first, std::move(ends)};
}

absl::Status DocumentIndex::ScanPieces(uint64_t begin, uint64_t end,
                                       uint64_t segment,
                                       std::vector<ItemPiece>* pieces) const {
  PONIENTE_ASSIGN_OR_RETURN(Ends found, EndsFrom(begin, segment));
  uint64_t at = begin;
  for (size_t i = 0; at < end; ++i) {
    if (i == found.ends.size()) {
      const uint64_t next = found.first + i;
      const uint64_t count = std::min(kScanned, documents_ - next);
      if (count == 0) {
        return DisorderedEnds(file_, "document", documents_ - 1, at, tokens_,
                              tokens_);
      }
      PONIENTE_ASSIGN_OR_RETURN(found.ends, ReadWords(file_, next, count));
      found.first = next;
      i = 0;
    }
    const uint64_t document = found.first + i;
    const uint64_t document_end = found.ends[i];
    if (document_end < at || document_end > tokens_) {
      return DisorderedEnds(file_, "document", document, document_end, at,
                            tokens_);
    }
    const uint64_t to = std::min(end, document_end);
    if (at < to) pieces->push_back({document, at, to});
    at = to;
  }
  return absl::OkStatus();
}

absl::Status DocumentIndex::CheckDocument(uint64_t document) const {
  if (document < documents_) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("document ", document, " of '",
                                            file_.path(), "', which holds ",
                                            documents_));
}

absl::StatusOr<TokenRange> DocumentIndex::Between(uint64_t base, uint64_t i,
                                                  uint64_t total,
                                                  const char* what) const {
  TokenRange range;
  if (i == 0) {
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint64_t> end,
                              ReadWords(file_, base, 1));
    range.end = end[0];
  } else {
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint64_t> ends,
                              ReadWords(file_, base + i - 1, 2));
    range = {ends[0], ends[1]};
  }
  const uint64_t least = i + 1 == documents_ ? total : range.begin;
  if (range.begin > range.end || range.end < least || range.end > total) {
    return DisorderedEnds(file_, what, i, range.end, least, total);
  }
  return range;
}

}  // namespace poniente::internal
