// SPDX-License-Identifier: Apache-2.0
// An index consists of little-endian integers of 8 bytes: the magic, 1, code of
// the type, bytes of an id, number N of items, number S of sizes; in
// Megatron's, number D; [N + 1] where each item's sizes begin; [N + 1] where
// its ids begin, in ids; [S] sizes; in Megatron's, [D] where documents begin,
// in items. An item has one size for each of its dimensions. Ids have one
// dimension.
#include "formats/megatron/tntidx.h"

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "formats/core/file_arrays.h"
#include "formats/core/token_format.h"
#include "formats/core/type_codes.h"
#include "formats/megatron/index_pair.h"
#include "formats/megatron/one_based_ids.h"
#include "formats/megatron/sequences.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr std::string_view kTntidxName = "tntidx";
constexpr uint64_t kTntidxFairseqHeaderBytes = 48;
constexpr uint64_t kTntidxHeaderBytes = 56;

struct TntidxHeader {
  bool is_fairseq = false;
  StoredType type = StoredType::kI32;
  uint64_t items = 0;
  // Number of entries in the list of documents.
  uint64_t documents = 0;

  uint64_t dimensions_offset() const {
    return is_fairseq ? kTntidxFairseqHeaderBytes : kTntidxHeaderBytes;
  }
  uint64_t places_offset() const {
    return dimensions_offset() + 8 * (items + 1);
  }
  uint64_t sizes_offset() const { return places_offset() + 8 * (items + 1); }
  uint64_t documents_offset() const { return sizes_offset() + 8 * items; }
};

using TntidxHeaderBytes = std::array<std::byte, kTntidxHeaderBytes>;

absl::StatusOr<TntidxHeaderBytes> ReadTntidxHeader(const InputBytes& index) {
  TntidxHeaderBytes bytes;
  // Both kinds have two tables of at least one entry each.
  if (index.size() < kTntidxFairseqHeaderBytes + 16) {
    return absl::DataLossError(absl::StrCat(
        "'", index.path(), "' has ", index.size(), " bytes, expected at least ",
        kTntidxFairseqHeaderBytes + 16, "; the file was cut short"));
  }
  PONIENTE_RETURN_IF_ERROR(index.ReadAt(0, bytes));
  if (!BeginsWith(bytes, kTntidxMagic)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", index.path(),
                     "' does not begin with 'TNTIDX' and two zeros; it is no "
                     "index of this format"));
  }
  const auto version = LoadLittle<uint64_t>(&bytes[8]);
  if (version != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", index.path(), "' is of version ", version,
                     " at byte 8, only 1 is known"));
  }
  return bytes;
}

absl::StatusOr<StoredType> ReadType(const InputBytes& index,
                                    const TntidxHeaderBytes& bytes) {
  PONIENTE_ASSIGN_OR_RETURN(
      const StoredType type,
      TypeOfCode(index.path(), 16, LoadLittle<uint64_t>(&bytes[16])));
  const auto width = LoadLittle<uint64_t>(&bytes[24]);
  if (width != StoredTypeBytes(type)) {
    return absl::DataLossError(absl::StrCat(
        "'", index.path(), "' has ids of ", width, " bytes at byte 24, but ",
        Absl(StoredTypeName(type)), " by the code at byte 16; it is damaged"));
  }
  return type;
}

// Returns the bytes that follow the tables of `items` items with one size each,
// after a header of `header_bytes`; nullopt if the tables do not fit in the
// file.
std::optional<uint64_t> RestOf(const InputBytes& index, uint64_t header_bytes,
                               uint64_t items) {
  if (index.size() < header_bytes + 16) return std::nullopt;
  const uint64_t after = index.size() - header_bytes - 16;
  if (items > after / 24) return std::nullopt;
  return after - 24 * items;
}

absl::StatusOr<TntidxHeader> ParseTntidxHeader(const InputBytes& index) {
  PONIENTE_ASSIGN_OR_RETURN(const TntidxHeaderBytes bytes,
                            ReadTntidxHeader(index));
  TntidxHeader header;
  PONIENTE_ASSIGN_OR_RETURN(header.type, ReadType(index, bytes));
  header.items = LoadLittle<uint64_t>(&bytes[32]);
  const auto sizes = LoadLittle<uint64_t>(&bytes[40]);
  if (sizes != header.items) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", index.path(), "' has ", header.items, " items at byte 32 and ",
        sizes, " sizes at byte 40; only items of one dimension are ids"));
  }
  header.is_fairseq =
      RestOf(index, kTntidxFairseqHeaderBytes, header.items) == 0;
  if (header.is_fairseq) return header;
  header.documents = LoadLittle<uint64_t>(&bytes[48]);
  const auto rest = RestOf(index, kTntidxHeaderBytes, header.items);
  if (rest && *rest % 8 == 0 && header.documents == *rest / 8) return header;
  return absl::DataLossError(absl::StrCat(
      "'", index.path(), "' has ", index.size(), " bytes; it says ",
      header.items,
      " items at byte 32, for which Fairseq writes 64 and 24 for "
      "each item, and Megatron, by what it says at byte 48, 72, 24 for each "
      "item and 8 for each of ",
      header.documents,
      " begins of documents; the file was cut short or damaged"));
}

absl::Status CheckDimensions(const InputBytes& index,
                             const TntidxHeader& header) {
  uint64_t item = 0;
  return ForEachInteger<uint64_t>(
      index, header.dimensions_offset(), header.items + 1,
      [&](uint64_t begin) -> absl::Status {
        if (begin != item) {
          return absl::InvalidArgumentError(absl::StrCat(
              "'", index.path(), "': the sizes of item ", item, " begin at ",
              static_cast<int64_t>(begin), " by byte ",
              header.dimensions_offset() + 8 * item, ", expected ", item,
              "; only items of one dimension are ids"));
        }
        ++item;
        return absl::OkStatus();
      });
}

absl::StatusOr<CompactEnds> ReadItems(const InputBytes& index,
                                      const TntidxHeader& header,
                                      const IdsFile& ids) {
  PONIENTE_RETURN_IF_ERROR(CheckDimensions(index, header));
  PONIENTE_ASSIGN_OR_RETURN(
      CompactEnds lengths,
      ReadLengths<uint64_t>(index, header.sizes_offset(), header.items, ids));
  PONIENTE_ASSIGN_OR_RETURN(const std::optional<WrongStart> wrong,
                            FindWrongStart(index, header.places_offset(),
                                           header.items + 1, lengths, 1));
  if (wrong) {
    return absl::DataLossError(absl::StrCat(
        "'", index.path(), "': item ", wrong->sequence, " begins at id ",
        wrong->found, " by byte ", header.places_offset() + 8 * wrong->sequence,
        ", but the sizes before it sum to ", wrong->expected,
        "; the file is damaged"));
  }
  return lengths;
}

absl::StatusOr<TokenLayout> OpenTntidx(const FoundPath& found,
                                       const TokenSourceOptions& options) {
  PONIENTE_ASSIGN_OR_RETURN(const IndexPair pair,
                            FindIndexPair(found, options));
  PONIENTE_ASSIGN_OR_RETURN(const FileBytes index, FileBytes::Open(pair.index));
  PONIENTE_ASSIGN_OR_RETURN(const FileBytes ids, FileBytes::Open(pair.ids));
  return LayOutTntidx(index, pair.ids, ids.size(), options);
}

bool IsTntidx(const FoundPath& found) {
  return FirstIndex(found, kTntidxMagic).has_value();
}

}  // namespace

absl::StatusOr<TokenLayout> LayOutTntidx(const InputBytes& index,
                                         const std::string& ids_path,
                                         uint64_t ids_bytes,
                                         const TokenSourceOptions& options) {
  PONIENTE_ASSIGN_OR_RETURN(const TntidxHeader header,
                            ParseTntidxHeader(index));
  PONIENTE_RETURN_IF_ERROR(CheckStatedType(index.path(), header.type, options));
  TokenLayout layout;
  layout.format = std::string(kTntidxName);
  layout.type = header.type;
  layout.files = {ids_path};
  layout.bytes = index.size() + ids_bytes;
  IdsFile ids = {ids_path, 0};
  PONIENTE_ASSIGN_OR_RETURN(ids.tokens,
                            CountWhole(ids_path, ids_bytes, header.type));
  layout.shards = {{ids.tokens, 0, 0}};
  PONIENTE_ASSIGN_OR_RETURN(CompactEnds lengths, ReadItems(index, header, ids));
  if (header.is_fairseq) {
    layout.windows.keep_tail = true;
    layout.structure = 1;
    const auto decoded =
        std::make_shared<const OneBasedIds>(ids_path, ids_bytes, header.type);
    layout.locator = decoded;
    layout.decoder = decoded;
    layout.documents = std::make_shared<DocumentTable>(std::move(lengths));
    return layout;
  }
  PONIENTE_ASSIGN_OR_RETURN(
      layout.documents,
      ReadDocuments(index, header.documents_offset(), header.documents,
                    std::move(lengths), &layout.warnings));
  return layout;
}

const TokenFormat kTntidxFormat = {
    kTntidxName,
    "the .idx and .bin of Fairseq's lazy datasets and old Megatron", IsTntidx,
    OpenTntidx};

}  // namespace poniente::internal
