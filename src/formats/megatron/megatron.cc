// SPDX-License-Identifier: Apache-2.0
// An index consists of little-endian integers: the magic, u64 1, u8 code of the
// type, u64 number S of sequences; in Megatron's, u64 number D; i32[S] lengths
// in ids; i64[S] places in bytes. In Megatron's, i64[D] follows (where
// documents begin, in sequences), and optionally i8[S] modes. Most fields are
// therefore not aligned.
#include "formats/megatron/megatron.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "formats/core/file_arrays.h"
#include "formats/core/token_format.h"
#include "formats/core/type_codes.h"
#include "formats/megatron/index_pair.h"
#include "formats/megatron/sequences.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr std::string_view kMegatronName = "megatron";
constexpr std::string_view kFairseqName = "fairseq";
constexpr uint64_t kMegatronFairseqHeaderBytes = 26;
constexpr uint64_t kMegatronHeaderBytes = 34;

struct MegatronHeader {
  bool is_fairseq = false;
  StoredType type = StoredType::kU16;
  uint64_t sequences = 0;
  // Number of entries in the list of documents.
  uint64_t documents = 0;
  // Whether a mode of each sequence follows the documents.
  bool has_modes = false;

  uint64_t lengths_offset() const {
    return is_fairseq ? kMegatronFairseqHeaderBytes : kMegatronHeaderBytes;
  }
  uint64_t places_offset() const { return lengths_offset() + 4 * sequences; }
  uint64_t documents_offset() const { return places_offset() + 8 * sequences; }
  uint64_t modes_offset() const { return documents_offset() + 8 * documents; }
};

using MegatronHeaderBytes = std::array<std::byte, kMegatronHeaderBytes>;

// Reads the header. If the file is a Fairseq index without sequences, which is
// shorter, the rest is zeros.
absl::StatusOr<MegatronHeaderBytes> ReadMegatronHeader(
    const InputBytes& index) {
  MegatronHeaderBytes bytes = {};
  if (index.size() < kMegatronFairseqHeaderBytes) {
    return absl::DataLossError(absl::StrCat(
        "'", index.path(), "' has ", index.size(), " bytes, expected at least ",
        kMegatronFairseqHeaderBytes, "; the file was cut short"));
  }
  PONIENTE_RETURN_IF_ERROR(index.ReadAt(
      0, std::span(bytes).first(std::min(index.size(), kMegatronHeaderBytes))));
  if (!BeginsWith(bytes, kMegatronMagic)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", index.path(),
                     "' does not begin with 'MMIDIDX' and two zeros; it is no "
                     "index of Megatron's"));
  }
  const auto version = LoadLittle<uint64_t>(&bytes[9]);
  if (version != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", index.path(), "' is of version ", version,
                     " at byte 9, only 1 is known"));
  }
  return bytes;
}

bool HasFairseqSize(const InputBytes& index, const MegatronHeaderBytes& bytes) {
  const uint64_t rest = index.size() - kMegatronFairseqHeaderBytes;
  return rest % 12 == 0 && LoadLittle<uint64_t>(&bytes[18]) == rest / 12;
}

absl::Status WrongSize(const InputBytes& index, uint64_t sequences,
                       uint64_t documents) {
  return absl::DataLossError(absl::StrCat(
      "'", index.path(), "' has ", index.size(), " bytes; it says ", sequences,
      " sequences at byte 18 and ", documents,
      " begins of documents at byte 26, for which Megatron writes 34, 12 for "
      "each sequence (13 with modes) and 8 for each begin, and Fairseq 26 and "
      "12 for each sequence; the file was cut short or damaged"));
}

absl::StatusOr<MegatronHeader> ParseMegatronHeader(const InputBytes& index) {
  PONIENTE_ASSIGN_OR_RETURN(const MegatronHeaderBytes bytes,
                            ReadMegatronHeader(index));
  MegatronHeader header;
  PONIENTE_ASSIGN_OR_RETURN(
      header.type,
      TypeOfCode(index.path(), 17, std::to_integer<uint64_t>(bytes[17])));
  header.sequences = LoadLittle<uint64_t>(&bytes[18]);
  header.is_fairseq = HasFairseqSize(index, bytes);
  if (header.is_fairseq) return header;
  header.documents = LoadLittle<uint64_t>(&bytes[26]);
  const absl::Status wrong =
      WrongSize(index, header.sequences, header.documents);
  if (index.size() < kMegatronHeaderBytes) return wrong;
  const uint64_t rest = index.size() - kMegatronHeaderBytes;
  if (header.sequences > rest / 12) return wrong;
  const uint64_t after_places = rest - 12 * header.sequences;
  if (header.documents > after_places / 8) return wrong;
  const uint64_t modes = after_places - 8 * header.documents;
  if (modes != 0 && modes != header.sequences) return wrong;
  header.has_modes = modes != 0;
  return header;
}

// Compares the places with the sums of the lengths. Some versions of Megatron
// wrote sums of 32 bits: these are only a warning. Every other difference is an
// error: what the lengths say would be read from wrong places. For Fairseq each
// difference is one, because a Megatron index that was cut short may have the
// size of a Fairseq index.
absl::Status CheckPlaces(const InputBytes& index, const MegatronHeader& header,
                         const CompactEnds& lengths,
                         std::vector<std::string>* warnings) {
  PONIENTE_ASSIGN_OR_RETURN(
      const std::optional<WrongStart> wrong,
      FindWrongStart(index, header.places_offset(), header.sequences, lengths,
                     StoredTypeBytes(header.type)));
  if (!wrong) return absl::OkStatus();
  const std::string found = absl::StrCat(
      "'", index.path(), "': sequence ", wrong->sequence, " is said to lie at ",
      wrong->found, ", byte ", header.places_offset() + 8 * wrong->sequence,
      ", but by the lengths it lies at ", wrong->expected, "; ", wrong->count,
      " of ", header.sequences, " are wrong");
  if (header.is_fairseq) {
    return absl::DataLossError(absl::StrCat(
        found, ": it is damaged, or is Megatron's and was cut short"));
  }
  if (!wrong->are_cut) {
    return absl::DataLossError(absl::StrCat(
        found,
        ": it is damaged, or its sequences do not follow each other in the "
        ".bin; copy both files again, or write them again in order"));
  }
  warnings->push_back(absl::StrCat(
      found,
      ", as sums of 32 bits are (Megatron-LM issue 1672): the lengths are "
      "used, they are those of the .bin"));
  return absl::OkStatus();
}

// Warns of sequences of another mode than 0. Megatron's multimodal datasets
// store images and other data in them, as if their bytes were ids.
absl::Status CheckModes(const InputBytes& index, const MegatronHeader& header,
                        std::vector<std::string>* warnings) {
  if (!header.has_modes) return absl::OkStatus();
  uint64_t others = 0;
  uint64_t first = 0;
  int first_mode = 0;
  std::vector<std::byte> modes(std::min<uint64_t>(header.sequences, 65536));
  for (uint64_t at = 0; at < header.sequences; at += modes.size()) {
    modes.resize(std::min<uint64_t>(header.sequences - at, modes.size()));
    PONIENTE_RETURN_IF_ERROR(index.ReadAt(header.modes_offset() + at, modes));
    const auto zeros = std::count(modes.begin(), modes.end(), std::byte{0});
    const uint64_t found = modes.size() - static_cast<uint64_t>(zeros);
    if (found > 0 && others == 0) {
      const auto other =
          std::find_if(modes.begin(), modes.end(),
                       [](std::byte m) { return m != std::byte{0}; });
      first = at + static_cast<uint64_t>(other - modes.begin());
      first_mode = static_cast<int8_t>(*other);
    }
    others += found;
  }
  if (others == 0) return absl::OkStatus();
  warnings->push_back(absl::StrCat(
      "'", index.path(), "': ", others, " of ", header.sequences,
      " sequences have another mode than 0, the first is sequence ", first,
      " (", first_mode, ", byte ", header.modes_offset() + first,
      "): it is a multimodal dataset, whose images are read as if they were "
      "ids; write the text alone"));
  return absl::OkStatus();
}

// Refuses the packed rows of Megatron-Bridge (.sft.bin). Each is one sequence
// of i32: these two, the number of documents, where they begin, and ids whose
// highest bit is their mask.
absl::Status CheckNoPackedRows(const InputBytes& ids) {
  constexpr uint32_t kMagic = 0x53465442;
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<std::byte> head,
                            ReadHead(ids, 8));
  if (head.size() < 8 || LoadLittle<uint32_t>(head.data()) != kMagic ||
      LoadLittle<uint32_t>(head.data() + 4) != 1) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError(absl::StrCat(
      "'", ids.path(),
      "' holds packed rows of Megatron-Bridge, in which tables and a loss mask "
      "lie among the ids; they are not read: pack the chats that they were "
      "made of (poniente pack --input-format messages)"));
}

absl::StatusOr<TokenLayout> OpenMegatron(const FoundPath& found,
                                         const TokenSourceOptions& options) {
  PONIENTE_ASSIGN_OR_RETURN(const IndexPair pair,
                            FindIndexPair(found, options));
  PONIENTE_ASSIGN_OR_RETURN(const FileBytes index, FileBytes::Open(pair.index));
  PONIENTE_ASSIGN_OR_RETURN(const FileBytes ids, FileBytes::Open(pair.ids));
  PONIENTE_RETURN_IF_ERROR(CheckNoPackedRows(ids));
  return LayOutMegatron(index, pair.ids, ids.size(), options);
}

bool IsFairseq(const FoundPath& found) {
  const std::optional<std::string> path = FirstIndex(found, kMegatronMagic);
  if (!path) return false;
  const absl::StatusOr<FileBytes> index = FileBytes::Open(*path);
  return index.ok() && IsFairseqIndex(*index);
}

bool IsMegatron(const FoundPath& found) {
  return FirstIndex(found, kMegatronMagic) && !IsFairseq(found);
}

}  // namespace

bool IsFairseqIndex(const InputBytes& index) {
  const absl::StatusOr<MegatronHeaderBytes> bytes = ReadMegatronHeader(index);
  return bytes.ok() && HasFairseqSize(index, *bytes);
}

absl::StatusOr<TokenLayout> LayOutMegatron(const InputBytes& index,
                                           const std::string& ids_path,
                                           uint64_t ids_bytes,
                                           const TokenSourceOptions& options) {
  PONIENTE_ASSIGN_OR_RETURN(const MegatronHeader header,
                            ParseMegatronHeader(index));
  PONIENTE_RETURN_IF_ERROR(CheckStatedType(index.path(), header.type, options));
  TokenLayout layout;
  layout.format = std::string(header.is_fairseq ? kFairseqName : kMegatronName);
  if (!options.format.empty() && options.format != layout.format) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", index.path(), "' is of the format '", layout.format,
                     "', stated was '", options.format, "'"));
  }
  layout.type = header.type;
  layout.files = {ids_path};
  layout.bytes = index.size() + ids_bytes;
  // Fairseq keeps a shorter block at the end.
  layout.windows.keep_tail = header.is_fairseq;

  IdsFile ids = {ids_path, 0};
  PONIENTE_ASSIGN_OR_RETURN(ids.tokens,
                            CountWhole(ids_path, ids_bytes, header.type));
  layout.shards = {{ids.tokens, 0, 0}};
  PONIENTE_ASSIGN_OR_RETURN(
      CompactEnds lengths, ReadLengths<uint32_t>(index, header.lengths_offset(),
                                                 header.sequences, ids));
  PONIENTE_RETURN_IF_ERROR(
      CheckPlaces(index, header, lengths, &layout.warnings));
  PONIENTE_RETURN_IF_ERROR(CheckModes(index, header, &layout.warnings));
  if (header.is_fairseq) {
    layout.documents = std::make_shared<DocumentTable>(std::move(lengths));
    return layout;
  }
  PONIENTE_ASSIGN_OR_RETURN(
      layout.documents,
      ReadDocuments(index, header.documents_offset(), header.documents,
                    std::move(lengths), &layout.warnings));
  return layout;
}

const TokenFormat kMegatronFormat = {kMegatronName, "Megatron's .idx and .bin",
                                     IsMegatron, OpenMegatron};
const TokenFormat kFairseqFormat = {
    kFairseqName, "Fairseq's .idx and .bin (mmap)", IsFairseq, OpenMegatron};

}  // namespace poniente::internal
