// SPDX-License-Identifier: Apache-2.0
#include "store/read/selected_tokens.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>

#include "absl/strings/str_cat.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Number of the store's documents per sample. A sample takes 64 bits.
constexpr uint64_t kSampled = 256;
// Number of document ends that one read covers: a page for a look-up, more to
// read all.
constexpr uint64_t kLookUp = 512;
constexpr uint64_t kReadAll = 65536;

// Reads where selected documents lie. One read covers documents that are close
// together.
class Ranges {
 public:
  Ranges(const TokenSource& store, uint64_t most)
      : store_(store), most_(most) {}

  // Returns the range of documents[i]. Call it for ascending `i`.
  absl::StatusOr<TokenRange> At(std::span<const uint64_t> documents, size_t i) {
    const uint64_t document = documents[i];
    if (document < first_ || document >= first_ + count_) {
      const auto end =
          std::lower_bound(documents.begin() + static_cast<ptrdiff_t>(i),
                           documents.end(), document + most_);
      first_ = document;
      count_ = *(end - 1) - document + 1;
      PONIENTE_ASSIGN_OR_RETURN(bounds_, store_.DocumentBounds(first_, count_));
    }
    const uint64_t at = document - first_;
    return TokenRange{bounds_[at], bounds_[at + 1]};
  }

 private:
  const TokenSource& store_;
  const uint64_t most_;
  // bounds_ are those of documents [first_, first_ + count_).
  uint64_t first_ = 0;
  uint64_t count_ = 0;
  std::vector<uint64_t> bounds_;
};

absl::Status Changed(const TokenSource& store) {
  return absl::DataLossError(absl::StrCat(
      "'", store.path(),
      "': its documents are shorter than when it was opened: the documents "
      "file was changed; restore it from a copy or pack the store again"));
}

}  // namespace

absl::Status SelectedTokens::Scan(const TokenSource& store, uint64_t place,
                                  uint64_t most, const Visit& visit) const {
  Ranges ranges(store, most);
  std::vector<uint64_t> documents;
  while (place < selection_.count()) {
    documents.resize(std::min(most, selection_.count() - place));
    std::iota(documents.begin(), documents.end(), place);
    selection_.Select(documents, documents);
    for (size_t i = 0; i < documents.size(); ++i, ++place) {
      PONIENTE_ASSIGN_OR_RETURN(const TokenRange tokens,
                                ranges.At(documents, i));
      if (!visit(documents[i], tokens)) return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<SelectedTokens> SelectedTokens::Create(const TokenSource& store,
                                                      Selection selection) {
  const uint64_t documents = store.num_documents();
  if (selection.size() != documents) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the selection is of ", selection.size(), " items, '", store.path(),
        "' has ", documents,
        " documents; make the selection anew from scores of these documents"));
  }
  // The number of samples is one per kSampled documents of the store, however
  // many are selected, so a scan covers about kSampled documents of the store.
  const uint64_t chosen = selection.count();
  const uint64_t stride =
      chosen == 0 ? 1 : (chosen - 1) / (documents / kSampled + 1) + 1;
  SelectedTokens made(std::move(selection), stride);
  uint64_t place = 0;
  PONIENTE_RETURN_IF_ERROR(
      made.Scan(store, 0, kReadAll, [&](uint64_t, TokenRange tokens) {
        if (place % stride == 0) made.samples_.push_back(made.total_);
        made.total_ += tokens.size();
        ++place;
        return true;
      }));
  made.samples_.shrink_to_fit();
  return made;
}

absl::StatusOr<std::vector<ItemPiece>> SelectedTokens::Pieces(
    const TokenSource& store, uint64_t begin, uint64_t end) const {
  PONIENTE_CHECK(begin <= end && end <= total_) << begin << ' ' << end;
  std::vector<ItemPiece> pieces;
  if (begin == end) return pieces;
  const auto after = std::upper_bound(samples_.begin(), samples_.end(), begin);
  const auto sample = static_cast<uint64_t>(after - samples_.begin()) - 1;
  uint64_t offset = samples_[sample];
  PONIENTE_RETURN_IF_ERROR(
      Scan(store, sample * stride_, kLookUp,
           [&](uint64_t document, TokenRange tokens) {
             const uint64_t from = std::max(begin, offset);
             const uint64_t to = std::min(end, offset + tokens.size());
             if (from < to) {
               pieces.push_back({document, tokens.begin + (from - offset),
                                 tokens.begin + (to - offset)});
             }
             offset += tokens.size();
             return offset < end;
           }));
  if (offset < end) return Changed(store);
  return pieces;
}

absl::StatusOr<std::optional<SelectedTokens::DocumentLocation>>
SelectedTokens::Find(const TokenSource& store, uint64_t document) const {
  const std::optional<uint64_t> place = selection_.OrdinalOf(document);
  if (!place.has_value()) return std::nullopt;
  const uint64_t sample = *place / stride_;
  DocumentLocation found{samples_[sample], {}};
  PONIENTE_RETURN_IF_ERROR(Scan(store, sample * stride_, kLookUp,
                                [&](uint64_t at, TokenRange tokens) {
                                  found.tokens = tokens;
                                  if (at == document) return false;
                                  found.offset += tokens.size();
                                  return true;
                                }));
  return found;
}

}  // namespace poniente::internal
