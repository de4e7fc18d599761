// SPDX-License-Identifier: Apache-2.0
#include "formats/megatron/sequences.h"

#include <utility>

namespace poniente::internal {
namespace {

class SequenceDocuments final : public DocumentTable {
 public:
  // `sequences` has the number of sequences in each document.
  SequenceDocuments(CompactEnds ends, CompactEnds sequences)
      : DocumentTable(std::move(ends)), sequences_(std::move(sequences)) {
    sequences_.Shrink();
  }

  absl::StatusOr<std::string> Name(uint64_t document) const override {
    const uint64_t count = sequences_.Length(document);
    const uint64_t first = sequences_.Begin(document);
    if (count == 0) return absl::StrCat("document ", document, ", no sequence");
    if (count == 1) {
      return absl::StrCat("document ", document, ", sequence ", first);
    }
    return absl::StrCat("document ", document, ", sequences ", first, " to ",
                        first + count - 1);
  }

 private:
  CompactEnds sequences_;
};

// Builds documents from sequences.
class DocumentBuilder {
 public:
  explicit DocumentBuilder(CompactEnds lengths)
      : lengths_(std::move(lengths)) {}

  uint64_t num_sequences() const { return lengths_.size(); }
  // Returns the number of sequences that are in documents so far.
  uint64_t taken() const { return sequences_.total(); }

  // Appends a document that ends before sequence `end`.
  void Append(uint64_t end) {
    const uint64_t count = end - taken();
    uint64_t tokens = 0;
    for (uint64_t i = taken(); i < end; ++i) tokens += lengths_.Length(i);
    are_one_each_ = are_one_each_ && count == 1;
    sequences_.Append(count);
    ends_.Append(tokens);
  }

  std::shared_ptr<const DocumentTable> Finish() && {
    if (are_one_each_) {
      return std::make_shared<DocumentTable>(std::move(lengths_));
    }
    return std::make_shared<SequenceDocuments>(std::move(ends_),
                                               std::move(sequences_));
  }

 private:
  CompactEnds lengths_;
  CompactEnds ends_;
  CompactEnds sequences_;
  bool are_one_each_ = true;
};

}  // namespace

absl::Status LengthsDisagree(const InputBytes& index, uint64_t sequence,
                             uint64_t sum, const IdsFile& ids) {
  return absl::DataLossError(absl::StrCat(
      "'", index.path(), "': its first ", sequence, " sequences have ", sum,
      " tokens, '", ids.path, "' holds ", ids.tokens,
      "; one of the two was cut short, or they are of different datasets"));
}

absl::StatusOr<std::optional<WrongStart>> FindWrongStart(
    const InputBytes& index, uint64_t offset, uint64_t count,
    const CompactEnds& lengths, uint64_t unit) {
  std::optional<WrongStart> wrong;
  uint64_t sequence = 0;
  uint64_t expected = 0;
  bool are_signed = true;
  bool are_unsigned = true;
  PONIENTE_RETURN_IF_ERROR(
      ForEachInteger<uint64_t>(index, offset, count, [&](uint64_t found) {
        if (found != expected) {
          if (!wrong) {
            wrong.emplace();
            wrong->sequence = sequence;
            wrong->found = static_cast<int64_t>(found);
            wrong->expected = expected;
          }
          ++wrong->count;
          const int64_t cut = static_cast<int32_t>(expected);
          are_signed = are_signed && static_cast<int64_t>(found) == cut;
          are_unsigned =
              are_unsigned && found == static_cast<uint32_t>(expected);
        }
        if (sequence < lengths.size()) {
          expected += lengths.Length(sequence) * unit;
        }
        ++sequence;
        return absl::OkStatus();
      }));
  if (wrong) wrong->are_cut = are_signed || are_unsigned;
  return wrong;
}

absl::StatusOr<std::shared_ptr<const DocumentTable>> ReadDocuments(
    const InputBytes& index, uint64_t offset, uint64_t count,
    CompactEnds lengths, std::vector<std::string>* warnings) {
  DocumentBuilder documents(std::move(lengths));
  uint64_t entry = 0;
  const absl::Status read = ForEachInteger<uint64_t>(
      index, offset, count, [&](uint64_t end) -> absl::Status {
        const bool is_good = entry == 0 ? end == 0
                                        : end >= documents.taken() &&
                                              end <= documents.num_sequences();
        if (!is_good) {
          return absl::DataLossError(absl::StrCat(
              "'", index.path(), "': document ", entry, " begins at sequence ",
              static_cast<int64_t>(end), " at byte ", offset + entry * 8,
              ", the one before at ", documents.taken(), " of ",
              documents.num_sequences(), "; the file is damaged"));
        }
        if (entry > 0) documents.Append(end);
        ++entry;
        return absl::OkStatus();
      });
  PONIENTE_RETURN_IF_ERROR(read);
  if (documents.taken() < documents.num_sequences()) {
    warnings->push_back(absl::StrCat(
        "'", index.path(), "': the list of documents at byte ", offset,
        " ends at sequence ", documents.taken(), " of ",
        documents.num_sequences(), ": each one left is taken as a document"));
  }
  while (documents.taken() < documents.num_sequences()) {
    documents.Append(documents.taken() + 1);
  }
  return std::move(documents).Finish();
}

}  // namespace poniente::internal
