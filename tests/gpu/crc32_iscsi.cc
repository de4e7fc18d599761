// SPDX-License-Identifier: Apache-2.0
// The one routine of ISA-L that the library uses. Debian has no archive of
// ISA-L to link into a binary that is to run anywhere.
#include <isa-l/crc.h>

#include <cstddef>

extern "C" unsigned int crc32_iscsi(unsigned char* buffer, int length,
                                    unsigned int crc) {
  constexpr unsigned int kPolynomial = 0x82f63b78;  // Castagnoli's, reflected
  static const auto* const table = [] {
    auto* const made = new unsigned int[256];
    for (unsigned int byte = 0; byte < 256; ++byte) {
      unsigned int rest = byte;
      for (int bit = 0; bit < 8; ++bit) {
        rest = (rest >> 1) ^ ((rest & 1) != 0 ? kPolynomial : 0);
      }
      made[byte] = rest;
    }
    return made;
  }();
  for (int i = 0; i < length; ++i) {
    crc = table[(crc ^ buffer[i]) & 0xff] ^ (crc >> 8);
  }
  return crc;
}
