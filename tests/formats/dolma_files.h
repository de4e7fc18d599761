// SPDX-License-Identifier: Apache-2.0
// The tables beside dolma's token files, compressed as gzip does.

#ifndef PONIENTE_TESTS_FORMATS_DOLMA_FILES_H_
#define PONIENTE_TESTS_FORMATS_DOLMA_FILES_H_

#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

namespace poniente::testing {

// One gzip member.
inline std::string Gzip(const std::string& text, int level = 6) {
  z_stream stream = {};
  ::deflateInit2(&stream, level, Z_DEFLATED, 16 + MAX_WBITS, 8,
                 Z_DEFAULT_STRATEGY);
  std::string out(::deflateBound(&stream, text.size()), '\0');
  stream.next_in =
      const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

// As Python's csv module quotes it.
inline std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c;
    if (c == '"') quoted += c;
  }
  return quoted + "\"";
}

struct DolmaOrigin {
  std::string id;
  std::string src;
  uint64_t loc = 0;
};

// dolma's rows, one per length.
inline std::string DolmaRowsOf(const std::vector<uint64_t>& lengths,
                               const std::vector<DolmaOrigin>& origins) {
  std::string text;
  uint64_t begin = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const uint64_t end = begin + lengths[i];
    text += std::to_string(begin) + "," + std::to_string(end) + "," +
            CsvField(origins[i].id) + "," + CsvField(origins[i].src) + "," +
            std::to_string(origins[i].loc) + "\r\n";
    begin = end;
  }
  return text;
}

// OLMo's.
inline std::string OlmoRowsOf(const std::vector<uint64_t>& lengths) {
  std::string text;
  uint64_t begin = 0;
  for (const uint64_t length : lengths) {
    text += std::to_string(begin) + "," + std::to_string(begin + length) + "\n";
    begin += length;
  }
  return text;
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_FORMATS_DOLMA_FILES_H_
