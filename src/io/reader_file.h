// SPDX-License-Identifier: Apache-2.0
// The open files of a ByteReader, for lower layers that read them blocking.

#ifndef PONIENTE_IO_READER_FILE_H_
#define PONIENTE_IO_READER_FILE_H_

#include <cstdint>

#include "io/files/open_file.h"
#include "poniente/byte_reader.h"

namespace poniente::internal {

// Returns file number `file` of the reader. The result lives as long as the
// reader. Defined beside ReaderState. REQUIRES: the file is open.
const OpenFile& FileOfReader(const ByteReader& reader, uint32_t file);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_READER_FILE_H_
