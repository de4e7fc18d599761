// SPDX-License-Identifier: Apache-2.0
// Writes MDS datasets, byte for byte as docs/formats.md lays them out.

#ifndef PONIENTE_TESTS_FORMATS_MDS_FILES_H_
#define PONIENTE_TESTS_FORMATS_MDS_FILES_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/formats/little_bytes.h"

namespace poniente::testing {

// What begins an array: its type if it is not 0, and the lengths of its axes.
inline std::string MdsHead(uint8_t type, const std::vector<uint64_t>& axes) {
  std::string head;
  if (type != 0) AppendLittle(type, &head);
  uint64_t greatest = 0;
  for (const uint64_t length : axes) greatest = std::max(greatest, length);
  const int log = greatest < 256 ? 0 : greatest < 65536 ? 1 : 2;
  AppendLittle(static_cast<uint8_t>(axes.size() << 2 | log), &head);
  for (const uint64_t length : axes) {
    if (log == 0) AppendLittle(static_cast<uint8_t>(length), &head);
    if (log == 1) AppendLittle(static_cast<uint16_t>(length), &head);
    if (log == 2) AppendLittle(static_cast<uint32_t>(length), &head);
  }
  return head;
}

struct MdsColumn {
  std::string name;
  std::string encoding;
  std::optional<uint32_t> size;
};

// One value for each column.
inline std::string MdsRow(const std::vector<MdsColumn>& columns,
                          const std::vector<std::string>& values) {
  std::string row;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].size) {
      AppendLittle(static_cast<uint32_t>(values[i].size()), &row);
    }
  }
  for (const std::string& value : values) row += value;
  return row;
}

inline std::string MdsShardBytes(const std::vector<std::string>& rows,
                                 const std::string& settings = "{\"v\":2}") {
  std::string shard;
  AppendLittle(static_cast<uint32_t>(rows.size()), &shard);
  uint64_t at = 4 * (rows.size() + 2) + settings.size();
  AppendLittle(static_cast<uint32_t>(at), &shard);
  for (const std::string& row : rows) {
    AppendLittle(static_cast<uint32_t>(at += row.size()), &shard);
  }
  shard += settings;
  for (const std::string& row : rows) shard += row;
  return shard;
}

struct MdsIndexShard {
  std::string name;
  uint64_t bytes = 0;
  uint64_t rows = 0;
  std::string zip_name = {};  // empty: not compressed
  uint64_t zip_bytes = 0;
  std::string compression = {};
};

inline std::string MdsIndexShardJson(const std::vector<MdsColumn>& columns,
                                     const MdsIndexShard& shard) {
  std::string encodings, names, sizes;
  for (const MdsColumn& column : columns) {
    const char* comma = names.empty() ? "" : ", ";
    names += comma + ("\"" + column.name + "\"");
    encodings += comma + ("\"" + column.encoding + "\"");
    sizes += comma +
             (column.size ? std::to_string(*column.size) : std::string("null"));
  }
  const auto file = [](const std::string& name, uint64_t bytes) {
    return "{\"basename\": \"" + name +
           "\", \"bytes\": " + std::to_string(bytes) + ", \"hashes\": {}}";
  };
  const bool zip = !shard.zip_name.empty();
  return "{\"column_encodings\": [" + encodings + "], \"column_names\": [" +
         names + "], \"column_sizes\": [" + sizes + "], \"compression\": " +
         (zip ? "\"" + shard.compression + "\"" : "null") +
         ", \"format\": \"mds\", \"hashes\": [], \"raw_data\": " +
         file(shard.name, shard.bytes) +
         ", \"samples\": " + std::to_string(shard.rows) +
         ", \"size_limit\": 67108864, \"version\": 2, \"zip_data\": " +
         (zip ? file(shard.zip_name, shard.zip_bytes) : "null") + "}";
}

inline std::string MdsIndexJson(const std::vector<std::string>& shards) {
  std::string json = "{\"shards\": [";
  for (size_t i = 0; i < shards.size(); ++i) {
    json += (i > 0 ? ", " : "") + shards[i];
  }
  return json + "], \"version\": 2}";
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_FORMATS_MDS_FILES_H_
