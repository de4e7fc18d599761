// SPDX-License-Identifier: Apache-2.0
// Reads indexes that list sequences of ids: their lengths, where they begin,
// and which of them form each document.

#ifndef PONIENTE_FORMATS_MEGATRON_SEQUENCES_H_
#define PONIENTE_FORMATS_MEGATRON_SEQUENCES_H_

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "formats/core/document_table.h"
#include "formats/core/input_bytes.h"
#include "store/read/compact_ends.h"

namespace poniente::internal {

// The file of the ids that an index describes.
struct IdsFile {
  std::string path;
  uint64_t tokens = 0;
};

// Returns DataLoss: the lengths up to sequence `sequence` do not match what
// `ids` holds.
absl::Status LengthsDisagree(const InputBytes& index, uint64_t sequence,
                             uint64_t sum, const IdsFile& ids);

// Reads `count` signed integers of the width of U at byte `offset`. DataLoss if
// one is negative, or if their sum is not ids.tokens.
template <std::unsigned_integral U>
absl::StatusOr<CompactEnds> ReadLengths(const InputBytes& index,
                                        uint64_t offset, uint64_t count,
                                        const IdsFile& ids) {
  CompactEnds lengths;
  PONIENTE_RETURN_IF_ERROR(
      ForEachInteger<U>(index, offset, count, [&](U stored) -> absl::Status {
        const auto length = static_cast<std::make_signed_t<U>>(stored);
        if (length < 0) {
          return absl::DataLossError(absl::StrCat(
              "'", index.path(), "': sequence ", lengths.size(),
              " has the length ", length, " at byte ",
              offset + lengths.size() * sizeof(U), "; the file is damaged"));
        }
        const auto tokens = static_cast<uint64_t>(length);
        if (tokens > ids.tokens - lengths.total()) {
          return LengthsDisagree(index, lengths.size() + 1,
                                 lengths.total() + tokens, ids);
        }
        lengths.Append(tokens);
        return absl::OkStatus();
      }));
  if (lengths.total() != ids.tokens) {
    return LengthsDisagree(index, count, lengths.total(), ids);
  }
  return lengths;
}

// The first sequence that does not begin where those before it end.
struct WrongStart {
  uint64_t sequence = 0;
  int64_t found = 0;
  uint64_t expected = 0;
  // The number of all wrong starts.
  uint64_t count = 0;
  // Whether every one is the expected start, cut to 32 bits: all of them with a
  // sign, or all without.
  bool are_cut = true;
};

// Compares the `count` i64 at byte `offset` with the sums of the lengths before
// them, in units of `unit`. Returns nullopt if all agree. REQUIRES: count <=
// lengths.size() + 1, lengths.total() * unit < 2^64.
absl::StatusOr<std::optional<WrongStart>> FindWrongStart(
    const InputBytes& index, uint64_t offset, uint64_t count,
    const CompactEnds& lengths, uint64_t unit);

// Reads the documents from a list of `count` i64 at byte `offset`. Document i
// is the sequences from entry i to before entry i + 1; the first entry is 0,
// the last is the number of sequences. Name() says which sequences a document
// has, unless each document is one sequence. If the list ends early, each
// remaining sequence is a document, and a warning says so. DataLoss if the list
// does not begin with 0, descends, or goes past the last sequence.
absl::StatusOr<std::shared_ptr<const DocumentTable>> ReadDocuments(
    const InputBytes& index, uint64_t offset, uint64_t count,
    CompactEnds lengths, std::vector<std::string>* warnings);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_MEGATRON_SEQUENCES_H_
