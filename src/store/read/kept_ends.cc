// SPDX-License-Identifier: Apache-2.0
#include "store/read/kept_ends.h"

#include <bit>
#include <memory>

#include "absl/strings/str_cat.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kMaxSegments = uint64_t{1} << 20;
// Bytes per document that most segments take: lengths below 2^16.
constexpr uint64_t kBytesExpected = 2;

uint64_t SegmentDocuments(uint64_t documents) {
  return std::max(KeptEnds::kSegmentDocuments,
                  std::bit_ceil(documents / kMaxSegments));
}

}  // namespace

void EndsSegment::AppendPieces(uint64_t from, uint64_t to,
                               std::vector<ItemPiece>* pieces) const {
  to = std::min(to, end());
  const CompactEnds::Place place = lengths.Find(from - begin);
  uint64_t document = place.item;
  uint64_t end = begin + place.begin;
  while (from < to) {
    end += lengths.Length(document);
    if (end > from) {
      pieces->push_back({first + document, from, std::min(end, to)});
      from = end;
    }
    ++document;
  }
}

absl::StatusOr<std::vector<uint64_t>> ReadWords(const SideFile& file,
                                                uint64_t first,
                                                uint64_t count) {
  std::vector<uint64_t> words(count);
  PONIENTE_RETURN_IF_ERROR(
      file.ReadAt(8 * first, std::as_writable_bytes(std::span(words))));
  return words;
}

absl::Status DisorderedEnds(const SideFile& file, const char* what, uint64_t i,
                            uint64_t value, uint64_t least, uint64_t most) {
  return absl::DataLossError(absl::StrCat(
      "'", file.path(), "': ", what, " ", i, " ends at ", value, ", expected ",
      least, " to ", most,
      ": the file is damaged; restore it from a copy or pack the store again"));
}

KeptEnds::KeptEnds(const SideFile& file, uint64_t documents, uint64_t tokens)
    : file_(file),
      documents_(documents),
      tokens_(tokens),
      segment_documents_(SegmentDocuments(documents)) {}

KeptEnds::~KeptEnds() {
  for (const Entry& entry : entries_) {
    const EndsSegment* const segment = entry.segment.load();
    if (segment == nullptr) continue;
    ends_memory.Return(segment->lengths.memory_bytes());
    delete segment;
  }
}

std::vector<KeptEnds::Entry>& KeptEnds::Entries() const {
  std::call_once(entries_made_, [this] {
    entries_ = std::vector<Entry>(NumSegments());
    made_.store(&entries_, std::memory_order_release);
  });
  return entries_;
}

absl::StatusOr<uint64_t> KeptEnds::LastEnd(uint64_t segment) const {
  if (segment == UINT64_MAX) return 0;
  if (segment + 1 == NumSegments()) return tokens_;
  // Relaxed: the value publishes no other data.
  std::atomic<uint64_t>& kept = Entries()[segment].last_end;
  uint64_t end = kept.load(std::memory_order_relaxed) - 1;
  if (end == UINT64_MAX) {
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint64_t> word,
                              ReadWords(file_, EndOf(segment) - 1, 1));
    end = word.front();
    if (end > tokens_)
      return DisorderedEnds(file_, "document", EndOf(segment) - 1, end, 0,
                            tokens_);
    kept.store(end + 1, std::memory_order_relaxed);
  }
  return end;
}

// Searches for the first segment that ends after the token. Invariant: segments
// below `low` end at `low_end` or before, and low_end <= token; segment `high`
// ends at `high_end`, and high_end > token.
absl::StatusOr<uint64_t> KeptEnds::SegmentOf(uint64_t token) const {
  if (documents_ == 0)
    return DisorderedEnds(file_, "document", 0, 0, tokens_, tokens_);
  uint64_t low = 0, low_end = 0;
  uint64_t high = NumSegments() - 1, high_end = tokens_;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    PONIENTE_ASSIGN_OR_RETURN(const uint64_t end, LastEnd(middle));
    if (end < low_end || end > high_end) {
      return DisorderedEnds(file_, "document", EndOf(middle) - 1, end, low_end,
                            high_end);
    }
    if (end > token) {
      high = middle;
      high_end = end;
    } else {
      low = middle + 1;
      low_end = end;
    }
  }
  return low;
}

absl::StatusOr<const EndsSegment*> KeptEnds::Segment(uint64_t segment) const {
  // Acquire: another thread may have read and written the segment.
  const EndsSegment* const kept =
      Entries()[segment].segment.load(std::memory_order_acquire);
  if (kept != nullptr) return kept;
  return Read(segment);
}

absl::StatusOr<const EndsSegment*> KeptEnds::Read(uint64_t segment) const {
  const uint64_t first = FirstOf(segment);
  const uint64_t count = EndOf(segment) - first;
  // The only segment of a store is small and always kept.
  const bool is_only = NumSegments() == 1;
  if (!is_only && !ends_memory.HasRoomFor(kBytesExpected * count)) {
    return nullptr;
  }
  PONIENTE_ASSIGN_OR_RETURN(const uint64_t begin, LastEnd(segment - 1));
  PONIENTE_ASSIGN_OR_RETURN(const uint64_t last, LastEnd(segment));
  PONIENTE_ASSIGN_OR_RETURN(std::vector<uint64_t> words,
                            ReadWords(file_, first, count));
  // Ends become lengths in place.
  uint64_t before = begin;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t least = i + 1 == count ? last : before;
    const uint64_t end = words[i];
    if (end < least || end > last) {
      return DisorderedEnds(file_, "document", first + i, end, least, last);
    }
    words[i] = end - before;
    before = end;
  }
  auto made = std::make_unique<EndsSegment>();
  made->first = first;
  made->begin = begin;
  made->lengths = CompactEnds::Of(words);
  const uint64_t bytes = made->lengths.memory_bytes();
  ends_memory.TakeAnyway(bytes);
  const EndsSegment* kept = nullptr;
  // Release: other threads read this segment through the pointer. Acquire: this
  // thread may get the segment of another thread.
  if (Entries()[segment].segment.compare_exchange_strong(
          kept, made.get(), std::memory_order_acq_rel)) {
    return made.release();
  }
  ends_memory.Return(bytes);
  return kept;
}

const EndsSegment* KeptEnds::KeptWith(uint64_t document) const {
  // Acquire: the entries and the segment were made by other threads.
  const std::vector<Entry>* const entries =
      made_.load(std::memory_order_acquire);
  if (entries == nullptr) return nullptr;
  return (*entries)[SegmentWith(document)].segment.load(
      std::memory_order_acquire);
}

bool KeptEnds::AreInMemory(uint64_t begin, uint64_t end) const {
  if (begin >= end || end > tokens_) return true;  // fails without a read
  // Acquire: the entries were made by another thread.
  const std::vector<Entry>* const entries =
      made_.load(std::memory_order_acquire);
  if (entries == nullptr) return false;
  // The search of SegmentOf(), but only with ends that are in memory.
  uint64_t low = 0;
  uint64_t high = entries->size() - 1;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    const uint64_t last =
        (*entries)[middle].last_end.load(std::memory_order_relaxed);
    if (last == 0) return false;
    if (last - 1 > begin) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  for (uint64_t at = low; at < entries->size(); ++at) {
    const EndsSegment* const segment =
        (*entries)[at].segment.load(std::memory_order_acquire);
    if (segment == nullptr) return false;
    if (segment->end() >= end) return true;
  }
  return false;
}

}  // namespace poniente::internal
