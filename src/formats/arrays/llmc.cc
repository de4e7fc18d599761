// SPDX-License-Identifier: Apache-2.0
#include "formats/arrays/llmc.h"

#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "formats/core/token_format.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr std::string_view kLlmcName = "llmc";
constexpr uint64_t kLlmcHeaderBytes = 1024;
constexpr uint32_t kExamplesMagic = 20240522;

// A kind of file, identified by the magic in its header.
struct LlmcKind {
  uint32_t magic;
  uint32_t version;
  StoredType type;
  // The id that begins each document.
  uint32_t delimiter;
};
constexpr LlmcKind kKinds[] = {{20240520, 1, StoredType::kU16, 50256},
                               {20240801, 7, StoredType::kU32, 128000}};

const LlmcKind* FindKind(uint32_t magic) {
  for (const LlmcKind& kind : kKinds) {
    if (kind.magic == magic) return &kind;
  }
  return nullptr;
}

bool IsLlmc(const FoundPath& found) {
  const std::vector<std::byte> first = FirstBytes(found, "*.bin", 4);
  if (first.size() < 4) return false;
  const auto magic = LoadLittle<uint32_t>(first.data());
  return magic == kExamplesMagic || FindKind(magic) != nullptr;
}

absl::Status NoKind(const InputBytes& input, uint32_t magic) {
  if (magic == kExamplesMagic) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", input.path(), "' holds the examples of an evaluation (llm.c's ",
        kExamplesMagic,
        " at byte 0): questions with choices and lengths in "
        "between, no stream of ids; leave it out"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", input.path(), "' has ", magic, " at byte 0, expected ",
                   kKinds[0].magic, " (GPT-2) or ", kKinds[1].magic,
                   " (Llama 3); it is not a token file of llm.c"));
}

// Warns if the files of a folder include some for validation. llm.c itself is
// given a pattern in this case.
void WarnOfBoth(const FoundPath& found, TokenLayout* layout) {
  const auto held_out = Matching(found.files, "*_val_*.bin");
  if (held_out.empty() || held_out.size() == layout->files.size()) return;
  layout->warnings.push_back(absl::StrCat(
      "'", found.path, "': '", held_out.front(),
      "' is for validation by its name, and is read with the rest; choose by a "
      "pattern (glob), for example '*_train_*.bin'"));
}

absl::StatusOr<TokenLayout> OpenLlmc(const FoundPath& found,
                                     const TokenSourceOptions& options) {
  PONIENTE_ASSIGN_OR_RETURN(
      TokenLayout layout, LayOutFileArrays(found, options, "*.bin", ParseLlmc));
  layout.format = std::string(kLlmcName);
  layout.windows.across_shards = false;
  for (const LlmcKind& kind : kKinds) {
    if (kind.type == layout.type) layout.delimiter = {kind.delimiter, true};
  }
  if (found.is_folder && options.glob.empty()) WarnOfBoth(found, &layout);
  return layout;
}

}  // namespace

absl::StatusOr<FileArray> ParseLlmc(const InputBytes& input) {
  std::array<std::byte, 12> header;
  if (input.size() < kLlmcHeaderBytes) {
    return absl::DataLossError(absl::StrCat(
        "'", input.path(), "' has ", input.size(), " bytes, the header of ",
        "llm.c alone ", kLlmcHeaderBytes, "; the file was cut short"));
  }
  PONIENTE_RETURN_IF_ERROR(input.ReadAt(0, header));
  const auto magic = LoadLittle<uint32_t>(&header[0]);
  const LlmcKind* const kind = FindKind(magic);
  if (kind == nullptr) return NoKind(input, magic);
  const auto version = LoadLittle<uint32_t>(&header[4]);
  if (version != kind->version) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", input.path(), "' is of version ", version, " at byte 4, only ",
        kind->version, " is known with ", magic, " at byte 0"));
  }
  const auto said = static_cast<int64_t>(
      static_cast<int32_t>(LoadLittle<uint32_t>(&header[8])));
  const uint64_t bytes = input.size() - kLlmcHeaderBytes;
  const uint64_t width = StoredTypeBytes(kind->type);
  if (said < 0 || static_cast<uint64_t>(said) * width != bytes) {
    return absl::DataLossError(absl::StrCat(
        "'", input.path(), "' has ", bytes, " bytes of ids after its header, ",
        "which says ", said, " ids at byte 8, of ", width,
        " bytes each; the file was cut short or damaged"));
  }
  return FileArray{kind->type, kLlmcHeaderBytes, static_cast<uint64_t>(said)};
}

const TokenFormat kLlmcFormat = {kLlmcName, "llm.c's .bin", IsLlmc, OpenLlmc};

}  // namespace poniente::internal
