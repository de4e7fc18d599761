// SPDX-License-Identifier: Apache-2.0
#include "formats/arrays/raw.h"

#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "formats/core/file_arrays.h"
#include "formats/core/token_format.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr std::string_view kRawName = "raw";
constexpr uint64_t kSampleBytes = 4096;
// Files with fewer ids are too short to judge.
constexpr size_t kFewIds = 16;
// Larger than any vocabulary. Two ids of 16 bits that are read as one are
// nearly always larger.
constexpr uint32_t kNoId = uint32_t{1} << 22;

// Always false, because nothing in a file shows that it has this format.
bool IsRaw(const FoundPath&) { return false; }

absl::Status NoType(const FoundPath& found) {
  if (!found.is_folder) return NeedsType(found.path, found.bytes);
  return absl::InvalidArgumentError(absl::StrCat(
      "'", found.path, "' is to be read as ids without a header; state the ",
      "dtype of its files: u16 or u32 (other types are rare)"));
}

absl::StatusOr<TokenLayout> OpenRaw(const FoundPath& found,
                                    const TokenSourceOptions& options) {
  if (!options.dtype) return NoType(found);
  const StoredType type = *options.dtype;
  std::optional<std::string> doubt;
  const auto parse = [&](const InputBytes& input) -> absl::StatusOr<FileArray> {
    PONIENTE_ASSIGN_OR_RETURN(const uint64_t tokens,
                              CountWhole(input.path(), input.size(), type));
    if (!doubt) {
      PONIENTE_ASSIGN_OR_RETURN(const std::vector<std::byte> head,
                                ReadHead(input, kSampleBytes));
      doubt = DoubtOfType(input.path(), head, type);
    }
    return FileArray{type, 0, tokens};
  };
  PONIENTE_ASSIGN_OR_RETURN(TokenLayout layout,
                            LayOutFileArrays(found, options, "*.bin", parse));
  layout.format = std::string(kRawName);
  layout.windows.across_shards = false;
  if (doubt) layout.warnings.push_back(*std::move(doubt));
  return layout;
}

// Returns whether `is` holds for more than half of the values of type U at
// places first, first + step, ...; false if there are too few values.
template <class U, class Is>
bool MostAre(std::span<const std::byte> head, size_t first, size_t step,
             const Is& is) {
  size_t seen = 0;
  size_t are = 0;
  for (size_t i = first; (i + 1) * sizeof(U) <= head.size(); i += step) {
    ++seen;
    if (is(LoadLittle<U>(&head[i * sizeof(U)]))) ++are;
  }
  return seen >= kFewIds && are > seen / 2;
}

// Returns whether most values at odd places, but not most values at even
// places, are below `limit`. Values at odd places are then the upper halves of
// wider ids.
template <class U>
bool AreUpperHalves(std::span<const std::byte> head, U limit) {
  const auto is_small = [limit](U id) { return id < limit; };
  return MostAre<U>(head, 1, 2, is_small) && !MostAre<U>(head, 0, 2, is_small);
}

// Recognises pickles of protocols 2 to 5. Those of 4 and 5 begin with a frame.
bool IsPickle(std::span<const std::byte> head) {
  if (head.size() < 3 || head[0] != std::byte{0x80}) return false;
  const auto protocol = std::to_integer<int>(head[1]);
  const auto next = static_cast<char>(head[2]);
  return protocol <= 3
             ? protocol >= 2 && next != 0 && std::strchr("])}(c", next)
             : protocol <= 5 && next == '\x95';
}

}  // namespace

absl::Status NeedsType(const std::string& path, uint64_t bytes) {
  std::string allowed = "u16 or u32 (other types are rare)";
  if (bytes % 2 != 0) {
    allowed = absl::StrCat("neither u16 nor u32, for its ", bytes,
                           " bytes are odd: it was cut short, or holds no ids");
  } else if (bytes % 4 != 0) {
    allowed = absl::StrCat("u16, for its ", bytes, " bytes are no whole u32");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", path,
                   "' has no header that says of which type its ids "
                   "are; state its dtype: ",
                   allowed));
}

std::optional<std::string> DoubtOfType(const std::string& path,
                                       std::span<const std::byte> head,
                                       StoredType type) {
  if (IsPickle(head)) {
    return absl::StrCat("'", path,
                        "' begins like a pickle of Python's, whose objects "
                        "would be read as ids");
  }
  const uint64_t width = StoredTypeBytes(type);
  if (width == 4 &&
      MostAre<uint32_t>(head, 0, 1, [](uint32_t id) { return id >= kNoId; })) {
    return absl::StrCat("'", path, "': most of its first ids are not below ",
                        kNoId, ", the first is ",
                        LoadLittle<uint32_t>(head.data()),
                        ": it may be of u16");
  }
  const auto is_wider = [&](std::string_view places, std::string_view other) {
    return absl::StrCat("'", path, "': most of its first ids at ", Absl(places),
                        ": it may be of ", Absl(other));
  };
  if (width == 4 && AreUpperHalves<uint32_t>(head, 1)) {
    return is_wider("odd places are 0", "i64 or u64");
  }
  if (width == 2 && AreUpperHalves<uint16_t>(head, 4)) {
    const bool has_upper_words =
        MostAre<uint16_t>(head, 2, 4, [](uint16_t id) { return id == 0; });
    return is_wider("odd places are below 4",
                    has_upper_words ? "i64 or u64" : "u32");
  }
  const auto is_zero = [](uint8_t id) { return id == 0; };
  if (width == 1 && MostAre<uint8_t>(head, 3, 4, is_zero) &&
      !MostAre<uint8_t>(head, 0, 8, is_zero)) {
    return is_wider("every fourth place are 0", "u32 or a wider type");
  }
  return std::nullopt;
}

const TokenFormat kRawFormat = {
    kRawName, "ids without a header, of a stated dtype", IsRaw, OpenRaw};

}  // namespace poniente::internal
