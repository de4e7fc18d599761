// SPDX-License-Identifier: Apache-2.0
#include "formats/levanter/zarr3.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "formats/core/bounded_json.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxChunksPerFile = uint64_t{1} << 24;

// A value of the file, with its name for messages.
struct JsonNode {
  const std::string* path;
  std::string name;
  const Json* json;

  // Returns the member; a node whose `json` is null if there is none.
  JsonNode At(const char* key) const {
    const bool is_there = json->is_object() && json->contains(key);
    return {path, name.empty() ? key : absl::StrCat(name, ".", key),
            is_there ? &(*json)[key] : nullptr};
  }
  JsonNode At(size_t i) const {
    return {path, absl::StrCat(name, "[", i, "]"), &(*json)[i]};
  }
  explicit operator bool() const { return json != nullptr; }
  size_t size() const { return json->is_array() ? json->size() : 0; }
};

std::string Shown(const JsonNode& node) {
  if (!node) return "is missing";
  std::string text =
      node.json->dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > 100) text = absl::StrCat(text.substr(0, 97), "...");
  return absl::StrCat("is ", OneLine(text));
}

absl::Status NotRead(const JsonNode& node, std::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", *node.path, "': ", node.name, " ", Shown(node),
                   ", expected ", Absl(expected)));
}

bool Is(const JsonNode& node, std::string_view text) {
  return node && node.json->is_string() &&
         node.json->get_ref<const std::string&>() == text;
}

absl::StatusOr<uint64_t> OnlyNumber(const JsonNode& node) {
  if (node && node.size() == 1 && node.json->front().is_number_unsigned() &&
      node.json->front().get<uint64_t>() > 0) {
    return node.json->front().get<uint64_t>();
  }
  return NotRead(node, "one positive number: an array of one dimension");
}

absl::StatusOr<StoredType> ParseType(const JsonNode& node) {
  constexpr std::pair<std::string_view, StoredType> kTypes[] = {
      {"int8", StoredType::kI8},   {"uint8", StoredType::kU8},
      {"int16", StoredType::kI16}, {"uint16", StoredType::kU16},
      {"int32", StoredType::kI32}, {"uint32", StoredType::kU32},
      {"int64", StoredType::kI64}, {"uint64", StoredType::kU64}};
  for (const auto& [name, type] : kTypes) {
    if (Is(node, name)) return type;
  }
  return NotRead(node, "a type of integers, int8 to uint64");
}

absl::Status CheckBytesCodec(const JsonNode& codec, uint64_t item_bytes) {
  if (!Is(codec.At("name"), "bytes")) {
    return NotRead(codec.At("name"), "\"bytes\"");
  }
  const JsonNode configuration = codec.At("configuration");
  const bool has_endian = configuration && configuration.At("endian");
  if (!has_endian && item_bytes == 1) return absl::OkStatus();
  const JsonNode endian =
      configuration ? configuration.At("endian") : configuration;
  if (Is(endian, "little") || (Is(endian, "big") && item_bytes == 1)) {
    return absl::OkStatus();
  }
  return NotRead(endian, "\"little\"");
}

// Parses the codecs of a chunk: bytes, and blosc if it is compressed.
absl::Status ParseChunkCodecs(const JsonNode& codecs, Zarr3Array* array) {
  if (!codecs || codecs.size() == 0) {
    return NotRead(codecs, "a list of codecs");
  }
  PONIENTE_RETURN_IF_ERROR(
      CheckBytesCodec(codecs.At(size_t{0}), StoredTypeBytes(array->type)));
  if (codecs.size() == 1) return absl::OkStatus();
  const JsonNode name = codecs.At(1).At("name");
  if (!Is(name, "blosc")) {
    return NotRead(name, "\"blosc\" or no compression; no other is read");
  }
  if (codecs.size() > 2) {
    return NotRead(codecs.At(2).At("name"), "no codec after blosc");
  }
  const JsonNode configuration = codecs.At(1).At("configuration");
  const JsonNode cname =
      configuration ? configuration.At("cname") : configuration;
  if (!cname || !cname.json->is_string() ||
      cname.json->get_ref<const std::string&>().empty()) {
    return NotRead(cname, "the name of a compressor");
  }
  array->blosc = cname.json->get<std::string>();
  return absl::OkStatus();
}

absl::Status ParseIndexCodecs(const JsonNode& codecs, Zarr3Array* array) {
  if (!codecs || codecs.size() == 0 || codecs.size() > 2) {
    return NotRead(codecs, "bytes, and crc32c if there is a checksum");
  }
  PONIENTE_RETURN_IF_ERROR(CheckBytesCodec(codecs.At(size_t{0}), 8));
  array->index_has_checksum = codecs.size() == 2;
  if (codecs.size() == 2 && !Is(codecs.At(1).At("name"), "crc32c")) {
    return NotRead(codecs.At(1).At("name"), "\"crc32c\"");
  }
  return absl::OkStatus();
}

absl::Status ParseSharding(const JsonNode& sharding, Zarr3Array* array) {
  if (!sharding) return NotRead(sharding, "an object");
  PONIENTE_ASSIGN_OR_RETURN(array->chunk_length,
                            OnlyNumber(sharding.At("chunk_shape")));
  PONIENTE_RETURN_IF_ERROR(ParseChunkCodecs(sharding.At("codecs"), array));
  PONIENTE_RETURN_IF_ERROR(
      ParseIndexCodecs(sharding.At("index_codecs"), array));
  const JsonNode location = sharding.At("index_location");
  if (location && !Is(location, "start") && !Is(location, "end")) {
    return NotRead(location, "\"start\" or \"end\"");
  }
  array->index_is_first = location && Is(location, "start");
  return absl::OkStatus();
}

absl::Status CheckLengths(const JsonNode& root, const Zarr3Array& array) {
  const std::string& path = *root.path;
  if (array.file_length % array.chunk_length != 0) {
    return absl::DataLossError(absl::StrCat(
        "'", path, "': files of ", array.file_length,
        " items are no whole number of chunks of ", array.chunk_length));
  }
  const uint64_t most = kMaxZarrChunkBytes / StoredTypeBytes(array.type);
  if (array.chunk_length > most) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path, "': its chunks have ", array.chunk_length, " items of ",
        StoredTypeBytes(array.type), " bytes, expected at most ", most));
  }
  if (array.chunks_per_file() > kMaxChunksPerFile) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "': its files have ", array.chunks_per_file(),
                     " chunks each, expected at most ", kMaxChunksPerFile));
  }
  return absl::OkStatus();
}

absl::Status CheckGrid(const JsonNode& grid) {
  if (!grid || !Is(grid.At("name"), "regular") || !grid.At("configuration")) {
    return NotRead(grid, "a regular grid");
  }
  return absl::OkStatus();
}

// Checks that the files of the array are called c/0, c/1, ...
absl::Status CheckKeys(const JsonNode& encoding) {
  if (!encoding || !Is(encoding.At("name"), "default")) {
    return NotRead(encoding, "the default encoding");
  }
  const JsonNode configuration = encoding.At("configuration");
  if (!configuration) return absl::OkStatus();
  const JsonNode separator = configuration.At("separator");
  if (!separator || Is(separator, "/")) return absl::OkStatus();
  return NotRead(separator, "\"/\"");
}

absl::Status CheckNodeKind(const JsonNode& root) {
  const JsonNode version = root.At("zarr_format");
  if (!version || *version.json != 3) return NotRead(version, "3");
  const JsonNode kind = root.At("node_type");
  if (!Is(kind, "array")) return NotRead(kind, "\"array\"");
  const JsonNode fill = root.At("fill_value");
  if (!fill || !fill.json->is_number_integer() || *fill.json != 0) {
    return NotRead(fill, "0");
  }
  const JsonNode transformers = root.At("storage_transformers");
  if (transformers && transformers.size() > 0) {
    return NotRead(transformers, "none");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Zarr3Array> ParseZarr3(const std::string& path,
                                      std::string_view text) {
  PONIENTE_ASSIGN_OR_RETURN(const Json json, ParseBoundedJson(path, text));
  const JsonNode root{&path, "", &json};
  PONIENTE_RETURN_IF_ERROR(CheckNodeKind(root));
  Zarr3Array array;
  PONIENTE_ASSIGN_OR_RETURN(array.type, ParseType(root.At("data_type")));
  PONIENTE_ASSIGN_OR_RETURN(array.length, OnlyNumber(root.At("shape")));
  const JsonNode grid = root.At("chunk_grid");
  PONIENTE_RETURN_IF_ERROR(CheckGrid(grid));
  PONIENTE_ASSIGN_OR_RETURN(
      array.file_length,
      OnlyNumber(grid.At("configuration").At("chunk_shape")));
  PONIENTE_RETURN_IF_ERROR(CheckKeys(root.At("chunk_key_encoding")));
  const JsonNode codecs = root.At("codecs");
  if (!codecs || codecs.size() != 1) {
    return NotRead(codecs, "one codec, sharding_indexed");
  }
  const JsonNode codec = codecs.At(size_t{0});
  if (!Is(codec.At("name"), "sharding_indexed")) {
    return NotRead(codec.At("name"), "\"sharding_indexed\"");
  }
  PONIENTE_RETURN_IF_ERROR(ParseSharding(codec.At("configuration"), &array));
  PONIENTE_RETURN_IF_ERROR(CheckLengths(root, array));
  return array;
}

}  // namespace poniente::internal
