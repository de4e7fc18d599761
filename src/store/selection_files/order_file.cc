// SPDX-License-Identifier: Apache-2.0
// The file has a header of 64 bytes, the item at each place, and the place of
// each item; items and places are little-endian u32. docs/selection.md
// describes the header.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "index/selection/order_table_hash.h"
#include "io/files/open_file.h"
#include "io/mmap/guarded_copy.h"
#include "io/mmap/mapping.h"
#include "poniente/score_file.h"
#include "store/posix_file.h"
#include "util/byte_order.h"
#include "util/crc32c.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

using internal::LoadLittle;
using internal::StoreLittle;

constexpr std::string_view kMagic = "pntorder";
constexpr uint32_t kVersion = 1;
constexpr uint64_t kHeaderBytes = 64;
constexpr uint64_t kChunk = uint64_t{1} << 18;  // entries

using Header = std::array<std::byte, kHeaderBytes>;

Header EncodeHeader(uint64_t count, uint32_t checksum) {
  Header header = {};
  std::memcpy(header.data(), kMagic.data(), kMagic.size());
  StoreLittle(kVersion, header.data() + 8);
  StoreLittle(checksum, header.data() + 12);
  StoreLittle(count, header.data() + 16);
  StoreLittle(internal::Crc32c(std::span(header).first(60)),
              header.data() + 60);
  return header;
}

absl::Status DamagedOrder(const std::string& path, std::string_view what) {
  return absl::DataLossError(
      absl::StrCat("'", path, "' ", internal::Absl(what),
                   "; copy it again or make it again from the scores"));
}

// Checks the header against the size of its file. Returns the number of items.
absl::StatusOr<uint64_t> CheckHeader(const internal::OpenFile& file,
                                     const Header& header) {
  const std::string& path = file.path();
  if (std::memcmp(header.data(), kMagic.data(), kMagic.size()) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path, "' is not an order file: it does not begin with '",
        internal::Absl(kMagic), "'; make one with OrderFile::Write"));
  }
  const auto version = LoadLittle<uint32_t>(header.data() + 8);
  if (version != kVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "' is an order file of version ", version,
                     " at byte 8, only ", kVersion,
                     " is known; make it again from the scores"));
  }
  const auto stored = LoadLittle<uint32_t>(header.data() + 60);
  const uint32_t computed = internal::Crc32c(std::span(header).first(60));
  if (stored != computed) {
    return DamagedOrder(
        path, absl::StrCat("has a damaged header: checksum ", absl::Hex(stored),
                           " at byte 60, computed ", absl::Hex(computed)));
  }
  const auto count = LoadLittle<uint64_t>(header.data() + 16);
  if (count > ScoreOrder::kMaxItems ||
      file.size() != kHeaderBytes + 8 * count) {
    return DamagedOrder(
        path, absl::StrCat("has ", file.size(), " bytes, its header says ",
                           count, " items at byte 16: 64 + 8 for each"));
  }
  return count;
}

// Checks in one pass whether two tables are permutations and inverse to each
// other. That is so exactly if both tables hold the same pairs (place, item),
// in two different orders, because one table has each place once and the other
// each item once. The sum of the hashes of all pairs does not depend on their
// order.
class TableCheck {
 public:
  explicit TableCheck(uint64_t count) : fingerprint_(count) {}

  void AddItem(uint64_t place, uint32_t item) {
    fingerprint_.Add(item);
    pairs_ += Hash(place, item);
  }
  void AddPlace(uint64_t item, uint32_t place) { pairs_ -= Hash(place, item); }

  bool inverse() const { return pairs_ == 0; }
  uint64_t fingerprint() const { return fingerprint_.Finish(); }

 private:
  static uint64_t Hash(uint64_t place, uint64_t item) {
    return internal::Mix64((place << 32 | item) + internal::kGoldenGamma);
  }

  internal::OrderTableHash fingerprint_;
  uint64_t pairs_ = 0;
};

// The tables of a memory-mapped file.
class MappedTables final : public OrderTables {
 public:
  MappedTables(internal::OpenFile file, internal::Mapping mapping,
               uint64_t count, uint64_t fingerprint)
      : file_(std::move(file)),
        mapping_(std::move(mapping)),
        count_(count),
        fingerprint_(fingerprint) {}

  uint64_t size() const override { return count_; }
  void ItemsAt(std::span<const uint64_t> in,
               std::span<uint64_t> out) const override {
    LookUp(0, in, out);
  }
  void PlacesOf(std::span<const uint64_t> in,
                std::span<uint64_t> out) const override {
    LookUp(count_, in, out);
  }
  absl::Status status() const override {
    // Relaxed: a thread sees the mark of its own look-ups, and other threads
    // set it in theirs.
    if (!damaged_.load(std::memory_order_relaxed)) return absl::OkStatus();
    return DamagedOrder(file_.path(), "was cut short or damaged while open");
  }
  uint64_t fingerprint() const override { return fingerprint_; }

 private:
  // Looks up entries base + in[i]. After the first entry that cannot be read,
  // writes in[i] itself without another attempt, because faults are slow.
  void LookUp(uint64_t base, std::span<const uint64_t> in,
              std::span<uint64_t> out) const {
    const std::byte* const entries = mapping_.begin() + kHeaderBytes;
    bool good = !damaged_.load(std::memory_order_relaxed);
    for (size_t i = 0; i < in.size(); ++i) {
      std::byte word[4];
      uint64_t value = in[i];
      if (good &&
          internal::GuardedCopy({entries + 4 * (base + in[i]), 4}, word) &&
          LoadLittle<uint32_t>(word) < count_) {
        value = LoadLittle<uint32_t>(word);
      } else {
        good = false;
      }
      out[i] = value;
    }
    // If the file was truncated within a page, the rest of the page reads as
    // zeros.
    good = good && file_.SizeNow() >= file_.size();
    if (!good) damaged_.store(true, std::memory_order_relaxed);
  }

  const internal::OpenFile file_;
  const internal::Mapping mapping_;
  const uint64_t count_;
  const uint64_t fingerprint_;
  mutable std::atomic<bool> damaged_ = false;
};

// Calls visit(number, value) for each entry of both tables, in order.
template <class Visit>
absl::Status ReadTables(const internal::OpenFile& file, uint64_t count,
                        uint32_t expected, Visit visit) {
  std::vector<std::byte> chunk;
  uint32_t checksum = 0;
  for (uint64_t done = 0; done < 2 * count;) {
    chunk.resize(4 * std::min(kChunk, 2 * count - done));
    const absl::Status read =
        internal::ReadAll(file, kHeaderBytes + 4 * done, chunk);
    if (absl::IsDataLoss(read)) {
      return DamagedOrder(file.path(), "was cut short while it was read");
    }
    PONIENTE_RETURN_IF_ERROR(read);
    checksum = internal::ExtendCrc32c(checksum, chunk);
    for (size_t at = 0; at < chunk.size(); at += 4, ++done) {
      const auto value = LoadLittle<uint32_t>(chunk.data() + at);
      if (value >= count) {
        return DamagedOrder(
            file.path(),
            absl::StrCat("holds ", value, " at byte ", kHeaderBytes + 4 * done,
                         ", expected less than ", count));
      }
      visit(done, value);
    }
  }
  if (checksum == expected) return absl::OkStatus();
  return DamagedOrder(
      file.path(),
      absl::StrCat("is damaged from byte 64 on: checksum ", absl::Hex(expected),
                   " at byte 12, computed ", absl::Hex(checksum)));
}

// Writes the contents and makes them durable, but not the name of the file.
absl::Status WriteContent(int fd, const std::string& path,
                          const ScoreOrder& order) {
  const uint64_t count = order.size();
  std::vector<uint64_t> values;
  std::vector<std::byte> chunk;
  uint32_t checksum = 0;
  for (uint64_t done = 0; done < 2 * count; done += values.size()) {
    const bool is_second = done >= count;
    const uint64_t begin = is_second ? done - count : done;
    values.resize(std::min(kChunk, count - begin));
    for (size_t i = 0; i < values.size(); ++i) values[i] = begin + i;
    is_second ? order.PlacesOf(values, values) : order.ItemsAt(values, values);
    chunk.resize(4 * values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      StoreLittle(static_cast<uint32_t>(values[i]), chunk.data() + 4 * i);
    }
    checksum = internal::ExtendCrc32c(checksum, chunk);
    PONIENTE_RETURN_IF_ERROR(
        internal::WriteAll(fd, path, kHeaderBytes + 4 * done, chunk));
  }
  PONIENTE_RETURN_IF_ERROR(order.status());
  const Header header = EncodeHeader(count, checksum);
  PONIENTE_RETURN_IF_ERROR(internal::WriteAll(fd, path, 0, header));
  return internal::SyncFd(fd, path);
}

absl::Status WriteAndRename(const std::string& temporary,
                            const std::string& path, const ScoreOrder& order) {
  PONIENTE_ASSIGN_OR_RETURN(
      const internal::OwnedFd fd,
      internal::OpenFd(temporary, O_WRONLY | O_CREAT | O_TRUNC));
  PONIENTE_RETURN_IF_ERROR(WriteContent(fd.get(), temporary, order));
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    return internal::ErrnoError(path, "rename");
  }
  return internal::SyncFolder(internal::ParentOf(path));
}

}  // namespace

absl::Status OrderFile::Write(const std::string& path,
                              const ScoreOrder& order) {
  PONIENTE_RETURN_IF_ERROR(internal::CheckOrderSize(order.size()));
  static std::atomic<uint64_t> number = 0;
  // Relaxed: the numbers only have to differ.
  const std::string temporary =
      absl::StrCat(path, ".", ::getpid(), "-",
                   number.fetch_add(1, std::memory_order_relaxed), ".tmp");
  absl::Status written = WriteAndRename(temporary, path, order);
  if (!written.ok()) ::unlink(temporary.c_str());
  return written;
}

absl::StatusOr<ScoreOrder> OrderFile::Open(const std::string& path) {
  PONIENTE_ASSIGN_OR_RETURN(internal::OpenFile file,
                            internal::OpenFile::Open(path));
  if (file.size() < kHeaderBytes) {
    return DamagedOrder(
        path,
        absl::StrCat("has ", file.size(), " bytes, an order file at least 64"));
  }
  Header header;
  PONIENTE_RETURN_IF_ERROR(internal::ReadAll(file, 0, header));
  PONIENTE_ASSIGN_OR_RETURN(const uint64_t count, CheckHeader(file, header));
  TableCheck check(count);
  PONIENTE_RETURN_IF_ERROR(
      ReadTables(file, count, LoadLittle<uint32_t>(header.data() + 12),
                 [&](uint64_t number, uint32_t value) {
                   number < count ? check.AddItem(number, value)
                                  : check.AddPlace(number - count, value);
                 }));
  if (!check.inverse()) {
    return DamagedOrder(path,
                        "holds tables that are not inverse to each other");
  }
  PONIENTE_ASSIGN_OR_RETURN(internal::Mapping mapping,
                            internal::Mapping::Map(file));
  return ScoreOrder(std::make_shared<MappedTables>(
      std::move(file), std::move(mapping), count, check.fingerprint()));
}

}  // namespace poniente
