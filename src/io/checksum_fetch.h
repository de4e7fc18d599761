// SPDX-License-Identifier: Apache-2.0
// Reads the checksums that a batch needs, ahead of its data.

#ifndef PONIENTE_IO_CHECKSUM_FETCH_H_
#define PONIENTE_IO_CHECKSUM_FETCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "io/block_checksums.h"
#include "io/read_plan.h"
#include "poniente/byte_reader.h"

namespace poniente::internal {

// Collects the chunks of checksums that a batch needs and that are not in
// memory, each once. Leaves out files that no ring reads: their backends block
// anyway, so FileChecksums::Verify() reads their checksums.
//
// Ownership: borrows the readers of the requests.
class ChecksumFetch {
 public:
  explicit ChecksumFetch(std::span<const OrderedRequest> requests);

  // Returns the reads to make; empty for almost all batches.
  std::span<const ReadRequest> reads() const { return reads_; }
  // Passes the chunks to their FileChecksums. REQUIRES: reads() have succeeded.
  void Keep();

 private:
  struct Chunk {
    const FileChecksums* checksums;
    uint64_t number;
    std::unique_ptr<std::byte[]> values;
  };

  void Add(const FileChecksums& checksums, uint64_t number);

  std::vector<Chunk> chunks_;
  std::vector<ReadRequest> reads_;  // one for each of chunks_
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_CHECKSUM_FETCH_H_
