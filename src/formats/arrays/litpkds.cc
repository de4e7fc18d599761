// SPDX-License-Identifier: Apache-2.0
// The header is "LITPKDS", u64 1, u8 code of the type, u64 number of the ids
// that follow.
#include "formats/arrays/litpkds.h"

#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "formats/core/token_format.h"
#include "formats/core/type_codes.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr std::string_view kLitpkdsName = "litpkds";
constexpr std::string_view kMagic = "LITPKDS";
constexpr uint64_t kLitpkdsHeaderBytes = 24;

bool IsLitpkds(const FoundPath& found) {
  return BeginsWith(FirstBytes(found, "*.bin", kMagic.size()), kMagic);
}

absl::StatusOr<TokenLayout> OpenLitpkds(const FoundPath& found,
                                        const TokenSourceOptions& options) {
  PONIENTE_ASSIGN_OR_RETURN(
      TokenLayout layout,
      LayOutFileArrays(found, options, "*.bin", ParseLitpkds));
  layout.format = std::string(kLitpkdsName);
  layout.windows.across_shards = false;
  return layout;
}

}  // namespace

absl::StatusOr<FileArray> ParseLitpkds(const InputBytes& input) {
  std::array<std::byte, kLitpkdsHeaderBytes> header;
  if (input.size() < kLitpkdsHeaderBytes) {
    return absl::DataLossError(
        absl::StrCat("'", input.path(), "' has ", input.size(),
                     " bytes, the header of a ", "packed chunk alone ",
                     kLitpkdsHeaderBytes, "; the file was cut short"));
  }
  PONIENTE_RETURN_IF_ERROR(input.ReadAt(0, header));
  if (!BeginsWith(header, kMagic)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", input.path(), "' does not begin with '", Absl(kMagic),
                     "'; it is no packed chunk"));
  }
  const auto version = LoadLittle<uint64_t>(&header[7]);
  if (version != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", input.path(), "' is of version ", version,
                     " at byte 7, only 1 is known"));
  }
  PONIENTE_ASSIGN_OR_RETURN(
      const StoredType type,
      TypeOfCode(input.path(), 15, std::to_integer<uint64_t>(header[15])));
  const auto said = LoadLittle<uint64_t>(&header[16]);
  const uint64_t bytes = input.size() - kLitpkdsHeaderBytes;
  const uint64_t width = StoredTypeBytes(type);
  if (bytes % width != 0 || said != bytes / width) {
    return absl::DataLossError(absl::StrCat(
        "'", input.path(), "' has ", bytes, " bytes of ids after its header, ",
        "which says ", said, " ids at byte 16, of ", width,
        " bytes each; the file was cut short or damaged"));
  }
  return FileArray{type, kLitpkdsHeaderBytes, said};
}

const TokenFormat kLitpkdsFormat = {kLitpkdsName,
                                    "packed chunks of lit-llama and TinyLlama",
                                    IsLitpkds, OpenLitpkds};

}  // namespace poniente::internal
