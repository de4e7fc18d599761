// SPDX-License-Identifier: Apache-2.0
#include "formats/levanter/levanter_rows.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "util/byte_order.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Most tokens of all rows, so that sums of lengths do not overflow.
constexpr uint64_t kMaxRowTokens = uint64_t{1} << 60;

class Rows {
 public:
  Rows(const std::string& folder, CompactEnds* ends)
      : folder_(folder), ends_(*ends) {}

  uint64_t count() const { return count_; }
  uint64_t end() const { return end_; }

  absl::Status Append(uint64_t end) {
    if (end < end_) {
      return absl::DataLossError(
          absl::StrCat("'", folder_, "': row ", count_, " ends at token ", end,
                       ", before token ", end_, " where it begins"));
    }
    if (end - end_ > kMaxRowTokens - ends_.total()) {
      return absl::DataLossError(
          absl::StrCat("'", folder_, "': row ", count_, " ends at token ", end,
                       ", expected at most ", kMaxRowTokens, " in all"));
    }
    ends_.Append(end - end_);
    end_ = end;
    ++count_;
    return absl::OkStatus();
  }

 private:
  const std::string& folder_;
  CompactEnds& ends_;
  uint64_t count_ = 0;
  uint64_t end_ = 0;
};

}  // namespace

absl::StatusOr<uint64_t> ReadRowEnds(const std::string& folder,
                                     const Zarr3Array& offsets,
                                     const ChunkReader& read,
                                     uint64_t most_memory, CompactEnds* ends) {
  std::vector<std::byte> chunk(offsets.chunk_bytes());
  PONIENTE_ASSIGN_OR_RETURN(const bool has_first, read(0, chunk));
  const uint64_t rows = has_first ? LoadLittle<uint64_t>(chunk.data()) : 0;
  if (rows >= offsets.length) {
    return absl::DataLossError(
        absl::StrCat("'", folder, "': item 0 says there are ", rows,
                     " rows, the array has ", offsets.length, " items"));
  }
  Rows all(folder, ends);
  // The next item to read is 1 + count().
  while (all.count() < rows) {
    const uint64_t item = all.count() + 1;
    const uint64_t in_chunk = item % offsets.chunk_length;
    bool is_stored = true;
    if (in_chunk == 0) {
      PONIENTE_ASSIGN_OR_RETURN(is_stored,
                                read(item / offsets.chunk_length, chunk));
    }
    if (!is_stored && all.end() > 0) {
      return absl::DataLossError(absl::StrCat(
          "'", folder, "': chunk ", item / offsets.chunk_length,
          ", which holds the end of row ", all.count(), " of ", rows,
          ", is not stored; a file is lost, restore it from a copy"));
    }
    if (!is_stored) std::fill(chunk.begin(), chunk.end(), std::byte{0});
    const uint64_t some =
        std::min(offsets.chunk_length - in_chunk, rows - all.count());
    for (uint64_t i = 0; i < some; ++i) {
      PONIENTE_RETURN_IF_ERROR(
          all.Append(LoadLittle<uint64_t>(&chunk[(in_chunk + i) * 8])));
    }
    if (ends->memory_bytes() > most_memory) {
      return absl::DataLossError(absl::StrCat(
          "'", folder, "': says there are ", rows, " rows; the first ",
          all.count(), " take ", ends->memory_bytes(),
          " bytes of memory, more than the files hold"));
    }
  }
  return all.end();
}

}  // namespace poniente::internal
