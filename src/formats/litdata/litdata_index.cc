// SPDX-License-Identifier: Apache-2.0
#include "formats/litdata/litdata_index.h"

#include <array>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "formats/core/json_records.h"
#include "nlohmann/json.hpp"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kTensor = "no_header_tensor:";
constexpr std::string_view kNumpy = "no_header_numpy:";

std::optional<StoredType> TensorType(uint32_t code) {
  switch (code) {
    case 11:
      return StoredType::kU8;
    case 12:
      return StoredType::kI8;
    case 13:
    case 14:
      return StoredType::kI16;
    case 15:
    case 16:
      return StoredType::kI32;
    case 17:
    case 18:
      return StoredType::kI64;
    case 20:
      return StoredType::kU16;
    default:
      return std::nullopt;
  }
}

std::optional<StoredType> NumpyType(uint32_t code) {
  constexpr std::array<StoredType, 8> kTypes = {
      StoredType::kI8, StoredType::kI16, StoredType::kI32, StoredType::kI64,
      StoredType::kU8, StoredType::kU16, StoredType::kU32, StoredType::kU64};
  if (code >= kTypes.size()) return std::nullopt;
  return kTypes[code];
}

bool IsSet(const Json& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && !found->is_null();
}

// Returns the type of the ids. `names_loader`: whether the index names a
// loader, which must be TokensLoader.
absl::StatusOr<StoredType> ConfiguredType(const Json& config,
                                          bool names_loader) {
  const auto found = config.find("data_format");
  const Json format =
      found != config.end() && found->is_array() && found->size() == 1
          ? (*found)[0]
          : Json();
  if (format.is_string()) {
    const std::string name = format.get<std::string>();
    const bool tensor = name.starts_with(kTensor);
    const bool numpy = names_loader && name.starts_with(kNumpy);
    uint32_t code = 0;
    if ((tensor || numpy) &&
        absl::SimpleAtoi(name.substr(name.find(':') + 1), &code)) {
      const std::optional<StoredType> type =
          tensor ? TensorType(code) : NumpyType(code);
      if (type) return *type;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'data_format' is ",
      found == config.end() ? "missing" : JsonForMessage(*found),
      ", expected one array of integers: [\"no_header_tensor:...\"]",
      names_loader ? " or [\"no_header_numpy:...\"]"
                   : ", as 'item_loader' is missing: write the items with "
                     "optimize(..., item_loader=TokensLoader())"));
}

// Checks that chunks with these settings can be read, and finds how they are
// compressed.
absl::Status CheckConfig(const Json& config, std::string* compression) {
  // litdata before 0.2.22 did not name the loader; ConfiguredType() asks for
  // the type that only items for TokensLoader have.
  if (config.contains("item_loader")) {
    PONIENTE_ASSIGN_OR_RETURN(const std::string loader,
                              JsonText(config, "item_loader"));
    if (loader != "TokensLoader") {
      return absl::InvalidArgumentError(
          absl::StrCat("its items were written for ", OneLine(loader),
                       ", but only items for TokensLoader can be read; write "
                       "them with optimize(..., item_loader=TokensLoader())"));
    }
  }
  if (IsSet(config, "encryption")) {
    return absl::UnimplementedError(
        "its chunks are encrypted; write them without encryption");
  }
  if (IsSet(config, "ipc_compression") ||
      (IsSet(config, "compression_level") &&
       config["compression_level"] != "chunk")) {
    return absl::UnimplementedError(
        "its chunks are compressed in parts ('compression_level' or "
        "'ipc_compression'); those compressed as a whole are read");
  }
  if (!IsSet(config, "compression")) return absl::OkStatus();
  PONIENTE_ASSIGN_OR_RETURN(*compression, JsonText(config, "compression"));
  if (*compression == "zstd" || compression->starts_with("zstd:")) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError(
      absl::StrCat("its chunks are compressed by '", OneLine(*compression),
                   "', but only zstd can be read; write them with zstd or "
                   "without compression"));
}

absl::StatusOr<LitdataChunk> ChunkOf(const Json& record) {
  LitdataChunk chunk;
  PONIENTE_ASSIGN_OR_RETURN(chunk.name, JsonText(record, "filename"));
  PONIENTE_ASSIGN_OR_RETURN(chunk.items, JsonCount(record, "chunk_size"));
  PONIENTE_ASSIGN_OR_RETURN(chunk.bytes, JsonCount(record, "chunk_bytes"));
  if (IsSet(record, "dim")) {
    PONIENTE_ASSIGN_OR_RETURN(chunk.tokens, JsonCount(record, "dim"));
  }
  return chunk;
}

}  // namespace

bool IsLitdataIndex(std::string_view head) {
  const Json first = FirstJsonRecord(head, "chunks");
  return first.is_object() && first.contains("chunk_bytes") &&
         first.contains("chunk_size") && first.contains("filename");
}

absl::StatusOr<LitdataIndex> ParseLitdataIndex(const std::string& path,
                                               std::string_view text) {
  LitdataIndex index;
  Json others;
  const auto add = [&](const Json& record, uint64_t at) {
    absl::StatusOr<LitdataChunk> chunk = ChunkOf(record);
    if (!chunk.ok()) {
      return Prepend(chunk.status(),
                     absl::StrCat("'", path, "': chunk ", index.chunks.size(),
                                  ", at byte ", at));
    }
    index.chunks.push_back(*std::move(chunk));
    return absl::OkStatus();
  };
  PONIENTE_RETURN_IF_ERROR(
      ForEachJsonRecord(path, text, "chunks", add, &others));
  if (!others.contains("chunks") || !others.contains("config") ||
      !others["config"].is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "' has no 'chunks' and 'config'; it is no ",
                     "index of litdata's"));
  }
  const Json& config = others["config"];
  const std::string where = absl::StrCat("'", path, "'");
  PONIENTE_RETURN_IF_ERROR(
      Prepend(CheckConfig(config, &index.compression), where));
  const absl::StatusOr<StoredType> type =
      ConfiguredType(config, config.contains("item_loader"));
  if (!type.ok()) return Prepend(type.status(), where);
  index.type = *type;
  return index;
}

absl::StatusOr<LitdataItems> AppendLitdataItems(const InputBytes& bytes,
                                                const LitdataChunk& chunk,
                                                StoredType type,
                                                CompactEnds* ends) {
  const auto damaged = [&](std::string_view what) {
    return absl::DataLossError(
        absl::StrCat("'", bytes.path(), "'", Absl(what),
                     "; the chunk or its index.json is damaged, copy both"));
  };
  const uint64_t width = StoredTypeBytes(type);
  std::array<std::byte, 4> count;
  PONIENTE_RETURN_IF_ERROR(bytes.ReadAt(0, count));
  if (LoadLittle<uint32_t>(count.data()) != chunk.items) {
    return damaged(absl::StrCat(
        " at byte 0 says it has ", LoadLittle<uint32_t>(count.data()),
        " items, its index.json says ", chunk.items, " (chunk_size)"));
  }
  const uint64_t head = LitdataHeadBytes(chunk.items);
  if (bytes.size() < head || (bytes.size() - head) % width != 0) {
    return damaged(absl::StrCat(" has ", bytes.size(), " bytes, expected ",
                                head, " for the offsets ", "of ", chunk.items,
                                " items and a whole number of ",
                                Absl(StoredTypeName(type))));
  }
  const uint64_t data = bytes.size() - head;
  LitdataItems items;
  items.tokens = data / width;
  if (chunk.tokens && *chunk.tokens != items.tokens) {
    return damaged(absl::StrCat(" has ", items.tokens,
                                " tokens by its size, its index.json says ",
                                *chunk.tokens, " (dim)"));
  }
  if (chunk.bytes != bytes.size() && chunk.bytes != data) {
    return damaged(absl::StrCat(" has ", bytes.size(), " bytes, ", data,
                                " without offsets, its index.json says ",
                                chunk.bytes, " (chunk_bytes)"));
  }
  // Offsets are u32, so they wrap around in chunks above 4 GiB.
  CompactEnds lengths;
  uint64_t number = 0;
  uint32_t last = static_cast<uint32_t>(head);
  const auto take = [&](uint32_t offset) {
    const uint32_t length = offset - last;
    if ((number == 0 && length != 0) || length % width != 0 ||
        length > data - lengths.total() * width) {
      return damaged(absl::StrCat(": item ", number, ", by byte ",
                                  4 + 4 * number, ", begins at byte ", offset,
                                  ", after ", last, ", of ", bytes.size()));
    }
    if (number > 0) lengths.Append(length / width);
    ++number;
    last = offset;
    return absl::OkStatus();
  };
  PONIENTE_RETURN_IF_ERROR(
      ForEachInteger<uint32_t>(bytes, 4, chunk.items + 1, take));
  const uint64_t rest = data - lengths.total() * width;
  if (rest % (uint64_t{1} << 32) != 0) {
    return damaged(absl::StrCat(": its last item ends ", rest,
                                " bytes before the file, at byte ",
                                bytes.size()));
  }
  items.known = rest == 0;
  for (uint64_t i = 0; items.known && i < lengths.size(); ++i) {
    ends->Append(lengths.Length(i));
  }
  return items;
}

}  // namespace poniente::internal
