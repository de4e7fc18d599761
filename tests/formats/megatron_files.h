// SPDX-License-Identifier: Apache-2.0
// Indexes byte for byte as Megatron, Fairseq and their predecessor write them.

#ifndef PONIENTE_TESTS_FORMATS_MEGATRON_FILES_H_
#define PONIENTE_TESTS_FORMATS_MEGATRON_FILES_H_

#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "tests/formats/little_endian.h"

namespace poniente::testing {

struct CodedType {
  uint8_t code;
  uint32_t width;
  const char* name;
};
inline constexpr CodedType kCodedTypes[] = {
    {1, 1, "u8"},  {2, 1, "i8"},  {3, 2, "i16"}, {4, 4, "i32"},
    {5, 8, "i64"}, {8, 2, "u16"}, {9, 4, "u32"}, {10, 8, "u64"}};

inline std::vector<uint64_t> EndsOf(const std::vector<int64_t>& lengths) {
  std::vector<uint64_t> ends;
  uint64_t end = 0;
  for (const int64_t length : lengths) {
    ends.push_back(end += static_cast<uint64_t>(length));
  }
  return ends;
}

struct MegatronIndex {
  uint64_t version = 1;
  uint8_t code = 8;
  uint32_t width = 2;
  std::vector<int64_t> lengths;
  // Where each sequence lies; nothing: by the lengths.
  std::optional<std::vector<int64_t>> places;
  // Nothing: Fairseq's.
  std::optional<std::vector<int64_t>> documents;
  std::vector<int8_t> modes;

  std::string Bytes() const {
    std::string bytes("MMIDIDX\0\0", 9);
    bytes += Little(version) + Little(code) + Little<uint64_t>(lengths.size());
    if (documents) bytes += Little<uint64_t>(documents->size());
    for (const int64_t length : lengths) {
      bytes += Little(static_cast<int32_t>(length));
    }
    int64_t place = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      bytes += Little(places ? (*places)[i] : place);
      place += lengths[i] * width;
    }
    if (documents) {
      for (const int64_t begin : *documents) bytes += Little(begin);
    }
    for (const int8_t mode : modes) bytes += Little(mode);
    return bytes;
  }
  uint64_t IdsBytes() const {
    const int64_t tokens =
        std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
    return static_cast<uint64_t>(tokens) * width;
  }
};

struct TntidxIndex {
  uint64_t version = 1;
  uint64_t code = 4;
  uint64_t width = 4;
  std::vector<int64_t> lengths;
  // Nothing: Fairseq's.
  std::optional<std::vector<int64_t>> documents;

  std::string Bytes() const {
    std::string bytes("TNTIDX\0\0", 8);
    bytes += Little(version) + Little(code) + Little(width) +
             Little<uint64_t>(lengths.size()) +
             Little<uint64_t>(lengths.size());
    if (documents) bytes += Little<uint64_t>(documents->size());
    for (size_t i = 0; i <= lengths.size(); ++i) bytes += Little<int64_t>(i);
    int64_t place = 0;
    bytes += Little(place);
    for (const int64_t length : lengths) bytes += Little(place += length);
    for (const int64_t length : lengths) bytes += Little(length);
    if (documents) {
      for (const int64_t begin : *documents) bytes += Little(begin);
    }
    return bytes;
  }
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_FORMATS_MEGATRON_FILES_H_
