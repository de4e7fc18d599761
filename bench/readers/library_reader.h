// SPDX-License-Identifier: Apache-2.0
// The library's ByteReader in the part of a WindowReader: as many coroutines as
// there are batches in flight, on one thread.

#ifndef PONIENTE_BENCH_READERS_LIBRARY_READER_H_
#define PONIENTE_BENCH_READERS_LIBRARY_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/readers/file_set.h"
#include "bench/readers/windows.h"
#include "poniente/byte_reader.h"

namespace poniente::bench {

struct LibraryCase {
  std::vector<ByteFile> files = {};
  ByteReaderOptions options = {};
  SlotLayout layout = {};  // as many slots as batches in flight
  // Whether it has to compare blocks with their checksums, or must not.
  bool verifies = false;
};

class LibraryReader final : public WindowReader {
 public:
  static absl::StatusOr<std::unique_ptr<LibraryReader>> Open(
      const LibraryCase& one);

  void ReadAll(Batches* batches) override;
  // The backend in the end, and why it is not the one asked for.
  std::string note() const override;

  uint64_t blocks_verified() const {
    return reader_->counters().blocks_verified;
  }

 private:
  LibraryReader(std::shared_ptr<const ByteReader> reader, FileSet files,
                ReadBuffer slots, const LibraryCase& one)
      : reader_(std::move(reader)),
        files_(std::move(files)),
        slots_(std::move(slots)),
        layout_(one.layout),
        verifies_(one.verifies) {}

  const std::shared_ptr<const ByteReader> reader_;
  const FileSet files_;
  const ReadBuffer slots_;
  const SlotLayout layout_;
  const bool verifies_;
};

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_READERS_LIBRARY_READER_H_
