// SPDX-License-Identifier: Apache-2.0
// The library's ByteReader in the part of a WindowReader: as many coroutines as
// there are batches in flight, on one thread.

#ifndef PONIENTE_BENCH_LIBRARY_READER_H_
#define PONIENTE_BENCH_LIBRARY_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "bench/windows.h"
#include "poniente/byte_reader.h"

namespace poniente::bench {

struct LibraryCase {
  ByteFile file = {};
  ByteReaderOptions options = {};
  size_t in_flight = kInFlight;
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
  LibraryReader(std::shared_ptr<const ByteReader> reader, ReadBuffer slots,
                bool verifies)
      : reader_(std::move(reader)),
        slots_(std::move(slots)),
        verifies_(verifies) {}

  const std::shared_ptr<const ByteReader> reader_;
  const ReadBuffer slots_;
  const bool verifies_;
};

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_LIBRARY_READER_H_
