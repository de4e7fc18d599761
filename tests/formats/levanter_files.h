// SPDX-License-Identifier: Apache-2.0
// Writes Levanter caches byte for byte, from the tables of the format.

#ifndef PONIENTE_TESTS_FORMATS_LEVANTER_FILES_H_
#define PONIENTE_TESTS_FORMATS_LEVANTER_FILES_H_

#if defined(PONIENTE_HAS_BLOSC)
#include <blosc.h>
#endif
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/formats/little_endian.h"
#include "tests/support/temp_dir.h"

namespace poniente::testing {

#if defined(PONIENTE_HAS_BLOSC)
inline constexpr bool kHasBlosc = true;
#else
inline constexpr bool kHasBlosc = false;
#endif

// How arrays are written.
struct ZarrStyle {
  uint64_t chunk = 4;            // items of a chunk
  uint64_t file = 16;            // items of a file
  std::string cname;             // blosc's; empty: not compressed
  std::string location = "end";  // of the index
  bool checksum = true;          // of the index
};

template <class Id>
std::string ZarrTypeName() {
  return absl::StrCat(std::is_signed_v<Id> ? "int" : "uint", sizeof(Id) * 8);
}

inline std::string ZarrJson(const std::string& type, const ZarrStyle& style) {
  const std::string blosc =
      style.cname.empty()
          ? ""
          : absl::StrCat(
                R"(,{"name":"blosc","configuration":{"blocksize":0,"clevel":5,)",
                R"("cname":")", style.cname,
                R"(","shuffle":"shuffle","typesize":4}})");
  return absl::StrCat(
      R"({"chunk_grid":{"configuration":{"chunk_shape":[)", style.file,
      R"(]},"name":"regular"},"chunk_key_encoding":{"name":"default"},)",
      R"("codecs":[{"configuration":{"chunk_shape":[)", style.chunk,
      R"(],"codecs":[{"configuration":{"endian":"little"},"name":"bytes"})",
      blosc, R"(],"index_codecs":[{"configuration":{"endian":"little"},)",
      R"("name":"bytes"})", style.checksum ? R"(,{"name":"crc32c"})" : "",
      R"(],"index_location":")", style.location,
      R"("},"name":"sharding_indexed"}],"data_type":")", type,
      R"(","fill_value":0,"node_type":"array","shape":[18014398509481984],)",
      R"("zarr_format":3})");
}

// Bit by bit, unlike the library's.
inline uint32_t SlowCrc32c(const std::string& bytes) {
  uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    crc ^= static_cast<uint8_t>(c);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
  }
  return ~crc;
}

inline std::string BloscFrame(const std::string& bytes,
                              const std::string& cname, size_t width) {
#if defined(PONIENTE_HAS_BLOSC)
  std::string frame(bytes.size() + 16, '\0');
  const int size = blosc_compress_ctx(
      5, width == 1 ? BLOSC_BITSHUFFLE : BLOSC_SHUFFLE, width, bytes.size(),
      bytes.data(), frame.data(), frame.size(), cname.c_str(), 0, 1);
  EXPECT_GT(size, 0) << cname;
  frame.resize(static_cast<size_t>(size));
  return frame;
#else
  (void)cname;
  (void)width;
  ADD_FAILURE() << "this build has no blosc";
  return bytes;
#endif
}

// A file: the chunks, "" for one that is not stored, and their index.
inline std::string ShardBytes(const std::vector<std::string>& chunks,
                              const ZarrStyle& style) {
  const uint64_t count = style.file / style.chunk;
  const uint64_t index_bytes = count * 16 + (style.checksum ? 4 : 0);
  uint64_t at = style.location == "start" ? index_bytes : 0;
  std::string all;
  std::string index;
  for (uint64_t i = 0; i < count; ++i) {
    const std::string chunk = i < chunks.size() ? chunks[i] : "";
    index += Little<uint64_t>(chunk.empty() ? UINT64_MAX : at);
    index += Little<uint64_t>(chunk.empty() ? UINT64_MAX : chunk.size());
    all += chunk;
    at += chunk.size();
  }
  if (style.checksum) index += Little(SlowCrc32c(index));
  return style.location == "start" ? index + all : all + index;
}

// zarr.json and the files of items from `first` on; chunks of zeros alone, and
// files of them alone, are left out, as TensorStore does.
template <class Id>
void WriteZarr(const std::string& folder, const std::vector<Id>& items,
               const ZarrStyle& style, uint64_t first_file = 0) {
  std::filesystem::create_directories(folder + "/c");
  WriteFile(folder + "/zarr.json", ZarrJson(ZarrTypeName<Id>(), style));
  for (size_t file = 0; file * style.file < items.size(); ++file) {
    std::vector<std::string> chunks;
    for (size_t i = 0; i < style.file / style.chunk; ++i) {
      std::string bytes(style.chunk * sizeof(Id), '\0');
      const size_t begin = file * style.file + i * style.chunk;
      for (size_t k = 0; k < style.chunk && begin + k < items.size(); ++k) {
        std::memcpy(&bytes[k * sizeof(Id)], &items[begin + k], sizeof(Id));
      }
      if (bytes.find_first_not_of('\0') == std::string::npos) {
        chunks.push_back("");
      } else if (style.cname.empty()) {
        chunks.push_back(bytes);
      } else {
        chunks.push_back(BloscFrame(bytes, style.cname, sizeof(Id)));
      }
    }
    if (std::all_of(chunks.begin(), chunks.end(),
                    [](const std::string& c) { return c.empty(); })) {
      continue;
    }
    WriteFile(absl::StrCat(folder, "/c/", first_file + file),
              ShardBytes(chunks, style));
  }
}

using Rows = std::vector<std::vector<uint32_t>>;

inline std::vector<int64_t> OffsetsOf(const Rows& rows) {
  std::vector<int64_t> offsets = {static_cast<int64_t>(rows.size())};
  int64_t end = 0;
  for (const std::vector<uint32_t>& row : rows) {
    offsets.push_back(end += static_cast<int64_t>(row.size()));
  }
  return offsets;
}

inline std::vector<uint32_t> Flat(const Rows& rows) {
  std::vector<uint32_t> ids;
  for (const auto& row : rows) ids.insert(ids.end(), row.begin(), row.end());
  return ids;
}

template <class Id = int32_t>
void WriteField(const std::string& folder, const Rows& rows,
                const ZarrStyle& style = {}) {
  std::vector<Id> ids;
  for (const uint32_t id : Flat(rows)) ids.push_back(static_cast<Id>(id));
  WriteZarr(folder + "/data", ids, style);
  WriteZarr(folder + "/offsets", OffsetsOf(rows), style);
}

// As SerialCacheWriter leaves it.
inline std::string LedgerText(uint64_t rows, uint64_t tokens,
                              const std::string& field = "input_ids") {
  return absl::StrCat(
      R"({"total_num_rows": )", rows, R"(, "shard_rows": {"/made/there": )",
      rows, R"(}, "is_finished": true, "finished_shards": ["/made/there"], )",
      R"("field_counts": {")", field, R"(": )", tokens,
      R"(}, "field_counts_by_shard": {}, "layout": "consolidated", )",
      R"("metadata": {"preprocessor_metadata": {"tokenizer": "gpt2", )",
      R"("vocab_size": 50257}}})");
}

template <class Id = int32_t>
void WriteCache(const std::string& folder, const Rows& rows,
                const ZarrStyle& style = {},
                const std::string& field = "input_ids") {
  WriteField<Id>(folder + "/" + field, rows, style);
  WriteFile(folder + "/shard_ledger.json",
            LedgerText(rows.size(), Flat(rows).size(), field));
}

struct LevanterShard {
  std::string name;
  Rows rows;
};

inline std::string ShardedLedgerText(const std::vector<LevanterShard>& shards) {
  uint64_t rows = 0;
  uint64_t tokens = 0;
  std::string by_rows;
  std::string names;
  std::string by_tokens;
  for (const LevanterShard& shard : shards) {
    const char* comma = names.empty() ? "" : ", ";
    const uint64_t count = Flat(shard.rows).size();
    absl::StrAppend(&names, comma, "\"", shard.name, "\"");
    absl::StrAppend(&by_rows, comma, "\"", shard.name,
                    "\": ", shard.rows.size());
    absl::StrAppend(&by_tokens, comma, "\"", shard.name, "\": {",
                    shard.rows.empty() ? "" : "\"input_ids\": ",
                    shard.rows.empty() ? "" : absl::StrCat(count), "}");
    rows += shard.rows.size();
    tokens += count;
  }
  return absl::StrCat(
      R"({"total_num_rows": )", rows, R"(, "shard_rows": {)", by_rows,
      R"(}, "is_finished": true, "finished_shards": [)", names,
      R"(], "field_counts": {"input_ids": )", tokens,
      R"(}, "field_counts_by_shard": {)", by_tokens,
      R"(}, "layout": "sharded", "metadata": {"preprocessor_metadata": {}}})");
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_FORMATS_LEVANTER_FILES_H_
