// SPDX-License-Identifier: Apache-2.0
// Proven files with the checksums of their blocks beside them.

#ifndef PONIENTE_TESTS_IO_CHECKSUMMED_FILE_H_
#define PONIENTE_TESTS_IO_CHECKSUMMED_FILE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "poniente/byte_reader.h"
#include "tests/io/proven_file.h"

namespace poniente::testing {

// Writes proven file `number` and "<path>.crc", whose checksums begin at byte
// 12 of it.
inline ByteFile WriteChecksummedFile(const std::string& path, uint64_t number,
                                     uint64_t bytes, uint64_t block_bytes) {
  WriteProvenFile(path, number, bytes);
  std::string sums(12, 'x');
  for (uint64_t begin = 0; begin < bytes; begin += block_bytes) {
    std::vector<std::byte> block(
        static_cast<size_t>(std::min(block_bytes, bytes - begin)));
    FillProven(number, begin, block);
    const uint32_t crc = SlowCrc32c(block);
    for (int shift = 0; shift < 32; shift += 8) {
      sums.push_back(static_cast<char>(crc >> shift));
    }
  }
  std::ofstream out(path + ".crc", std::ios::binary);
  out << sums << std::flush;
  EXPECT_TRUE(out.good()) << path;
  ByteFile file;
  file.path = path;
  file.checksums = BlockChecksums{path + ".crc", 12, block_bytes};
  return file;
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_IO_CHECKSUMMED_FILE_H_
