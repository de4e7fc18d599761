// SPDX-License-Identifier: Apache-2.0
#include "store/packing/length_order_file.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "io/block_checksums.h"
#include "io/files/open_file.h"
#include "io/mmap/guarded_copy.h"
#include "io/mmap/mapping.h"
#include "store/packing/replaced_file.h"
#include "store/posix_file.h"
#include "util/byte_order.h"
#include "util/crc32c.h"
#include "util/rounding.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr std::string_view kMagic = "pntlengs";
constexpr uint32_t kVersion = 1;
constexpr uint64_t kHeaderBytes = 64;
// The unit of the table's checksums; the table begins at a multiple of it.
constexpr uint64_t kBlock = 4096;

using Header = std::array<std::byte, kHeaderBytes>;

// What the header says, and where the parts of the file lie: header, a length
// and a count for each distinct length, a checksum for each block of the table,
// zeros up to a whole block, table.
struct Layout {
  uint32_t number_bytes = 4;
  uint64_t key = 0;
  uint64_t documents = 0;
  uint64_t lengths = 0;

  uint64_t table_bytes() const { return number_bytes * documents; }
  uint64_t num_blocks() const { return CeilDivide(table_bytes(), kBlock); }
  uint64_t front_bytes() const { return 16 * lengths + 4 * num_blocks(); }
  uint64_t table_begin() const {
    return RoundUp(kHeaderBytes + front_bytes(), kBlock);
  }
  uint64_t file_bytes() const { return table_begin() + table_bytes(); }
};

Header EncodeHeader(const Layout& layout, uint32_t front_checksum) {
  Header header = {};
  std::memcpy(header.data(), kMagic.data(), kMagic.size());
  StoreLittle(kVersion, header.data() + 8);
  StoreLittle(layout.number_bytes, header.data() + 12);
  StoreLittle(layout.key, header.data() + 16);
  StoreLittle(layout.documents, header.data() + 24);
  StoreLittle(layout.lengths, header.data() + 32);
  StoreLittle(front_checksum, header.data() + 40);
  StoreLittle(Crc32c(std::span(header).first(60)), header.data() + 60);
  return header;
}

// Nullopt if the file is the order of other documents.
absl::StatusOr<std::optional<Layout>> CheckHeader(const OpenFile& file,
                                                  const Header& header,
                                                  uint64_t key,
                                                  uint64_t documents) {
  const std::string& path = file.path();
  if (std::memcmp(header.data(), kMagic.data(), kMagic.size()) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path, "' does not begin with '", Absl(kMagic),
        "': it is no order of documents by length; name another file"));
  }
  const auto stored = LoadLittle<uint32_t>(header.data() + 60);
  const uint32_t computed = Crc32c(std::span(header).first(60));
  if (stored != computed) {
    return DamagedFile(
        path, absl::StrCat("has a damaged header: checksum ", absl::Hex(stored),
                           " at byte 60, computed ", absl::Hex(computed)));
  }
  const auto version = LoadLittle<uint32_t>(header.data() + 8);
  if (version != kVersion) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path, "' has version ", version, " at byte 8, only ", kVersion,
        " is known; delete it: it is made again from the documents"));
  }
  Layout layout;
  layout.number_bytes = LoadLittle<uint32_t>(header.data() + 12);
  layout.key = LoadLittle<uint64_t>(header.data() + 16);
  layout.documents = LoadLittle<uint64_t>(header.data() + 24);
  layout.lengths = LoadLittle<uint64_t>(header.data() + 32);
  if (layout.key != key) return std::nullopt;
  if (layout.number_bytes != NumberBytes(documents) ||
      layout.documents > documents || layout.lengths > layout.documents ||
      layout.file_bytes() != file.size()) {
    return DamagedFile(
        path, absl::StrCat("has ", file.size(), " bytes, its header says ",
                           layout.documents, " documents of ", layout.lengths,
                           " lengths, ", layout.number_bytes,
                           " bytes each; expected at most ", documents));
  }
  return layout;
}

// The table of a mapped file. Each block is compared with its checksum before
// anything in it is used.
class MappedNumbers final : public DocumentNumbers {
 public:
  MappedNumbers(OpenFile file, Mapping mapping, const Layout& layout,
                uint64_t most, std::vector<uint32_t> checksums)
      : file_(std::move(file)),
        mapping_(std::move(mapping)),
        layout_(layout),
        most_(most),
        checksums_(std::move(checksums)),
        verified_(checksums_.size()) {}

  uint64_t bytes() const override { return layout_.file_bytes(); }

  absl::Status Read(uint64_t first,
                    std::span<uint64_t> numbers) const override {
    const uint64_t width = layout_.number_bytes;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const uint64_t begin = (first + i) * width;
      // A number of 5 bytes may lie in two blocks.
      for (uint64_t block = begin / kBlock; block * kBlock < begin + width;
           ++block) {
        if (verified_.IsSeen(block)) continue;
        PONIENTE_RETURN_IF_ERROR(Verify(block));
      }
      std::byte entry[8];
      if (!GuardedCopy({table() + begin, width}, entry)) return CutShort();
      numbers[i] = LoadNumber(entry, layout_.number_bytes);
      // Zeros, if the file was truncated within this page, are in range: the
      // caller compares lengths.
      if (numbers[i] >= most_) {
        return DamagedFile(
            file_.path(),
            absl::StrCat("names document ", numbers[i], " of ", most_,
                         " at byte ", layout_.table_begin() + begin));
      }
    }
    return absl::OkStatus();
  }

  void Prefetch(uint64_t entry) const override {
    // Never faults.
    __builtin_prefetch(table() + entry * layout_.number_bytes);
  }

  bool HasRead(uint64_t entry) const override {
    const uint64_t begin = entry * layout_.number_bytes;
    return verified_.IsSeen(begin / kBlock) &&
           verified_.IsSeen((begin + layout_.number_bytes - 1) / kBlock);
  }

 private:
  const std::byte* table() const {
    return mapping_.begin() + layout_.table_begin();
  }
  absl::Status CutShort() const {
    return DamagedFile(file_.path(), "was cut short while it was open");
  }

  absl::Status Verify(uint64_t block) const {
    const uint64_t begin = block * kBlock;
    const uint64_t size = std::min(kBlock, layout_.table_bytes() - begin);
    std::array<std::byte, kBlock> bytes;
    if (!GuardedCopy({table() + begin, size}, bytes.data())) return CutShort();
    const uint32_t computed = Crc32c(std::span(bytes).first(size));
    if (computed != checksums_[block]) {
      return DamagedFile(
          file_.path(),
          absl::StrCat("is damaged in the ", size, " bytes from byte ",
                       layout_.table_begin() + begin, " on: checksum ",
                       absl::Hex(checksums_[block]), ", computed ",
                       absl::Hex(computed)));
    }
    verified_.SetSeen(block);
    return absl::OkStatus();
  }

  const OpenFile file_;
  const Mapping mapping_;
  const Layout layout_;
  const uint64_t most_;  // numbers are below this
  const std::vector<uint32_t> checksums_;
  mutable BlockMarks verified_;
};

// Reads lengths and counts. DataLoss unless they are ascending and add up.
absl::StatusOr<LengthHistogram> DecodeHistogram(
    const std::string& path, const Layout& layout,
    std::span<const std::byte> front) {
  LengthHistogram histogram;
  histogram.lengths.reserve(layout.lengths);
  histogram.starts.reserve(layout.lengths + 1);
  uint64_t before = 0;
  for (uint64_t i = 0; i < layout.lengths; ++i) {
    const auto length = LoadLittle<uint64_t>(front.data() + 16 * i);
    const auto count = LoadLittle<uint64_t>(front.data() + 16 * i + 8);
    const uint64_t left = layout.documents - histogram.starts.back();
    if (length <= before || count == 0 || count > left) {
      return DamagedFile(
          path, absl::StrCat("has ", count, " documents of length ", length,
                             " at byte ", kHeaderBytes + 16 * i,
                             ", after those of length ", before));
    }
    before = length;
    histogram.lengths.push_back(length);
    histogram.starts.push_back(histogram.starts.back() + count);
  }
  if (histogram.num_documents() == layout.documents) return histogram;
  return DamagedFile(path, "has lengths that do not add up");
}

// A file that is written through a mapping.
class WritableMapping {
 public:
  // REQUIRES: bytes > 0.
  static absl::StatusOr<WritableMapping> Make(int fd, const std::string& path,
                                              uint64_t bytes) {
    // Allocates the blocks: a full disk is an error here, and not a signal
    // later.
    const int error = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes));
    if (error != 0) {
      errno = error;
      return ErrnoError(path, absl::StrCat("allocate ", bytes, " bytes"));
    }
    void* const begin =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (begin == MAP_FAILED) return ErrnoError(path, "map");
    return WritableMapping(static_cast<std::byte*>(begin), bytes);
  }
  WritableMapping(WritableMapping&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})) {}
  WritableMapping& operator=(WritableMapping&&) = delete;
  ~WritableMapping() {
    if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
  }

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  WritableMapping(std::byte* begin, uint64_t bytes) : bytes_(begin, bytes) {}

  std::span<std::byte> bytes_;
};

}  // namespace

absl::StatusOr<std::optional<LengthOrder>> OpenLengthOrderFile(
    const std::string& path, uint64_t key, uint64_t documents) {
  absl::StatusOr<OpenFile> file = OpenFile::Open(path);
  if (absl::IsNotFound(file.status())) return std::nullopt;
  if (!file.ok()) return file.status();
  if (file->size() < kHeaderBytes) {
    return DamagedFile(path, absl::StrCat("has ", file->size(),
                                          " bytes, expected at least 64"));
  }
  Header header;
  PONIENTE_RETURN_IF_ERROR(ReadAll(*file, 0, header));
  PONIENTE_ASSIGN_OR_RETURN(const std::optional<Layout> layout,
                            CheckHeader(*file, header, key, documents));
  if (!layout.has_value()) return std::nullopt;
  std::vector<std::byte> front(layout->front_bytes());
  PONIENTE_RETURN_IF_ERROR(ReadAll(*file, kHeaderBytes, front));
  const auto stored = LoadLittle<uint32_t>(header.data() + 40);
  const uint32_t computed = Crc32c(front);
  if (stored != computed) {
    return DamagedFile(
        path,
        absl::StrCat("is damaged from byte 64 on: checksum ", absl::Hex(stored),
                     " at byte 40, computed ", absl::Hex(computed)));
  }
  PONIENTE_ASSIGN_OR_RETURN(LengthHistogram histogram,
                            DecodeHistogram(path, *layout, front));
  std::vector<uint32_t> checksums(layout->num_blocks());
  for (size_t i = 0; i < checksums.size(); ++i) {
    checksums[i] =
        LoadLittle<uint32_t>(front.data() + 16 * layout->lengths + 4 * i);
  }
  PONIENTE_ASSIGN_OR_RETURN(Mapping mapping, Mapping::Map(*file));
  return LengthOrder(std::move(histogram),
                     std::make_shared<MappedNumbers>(
                         *std::move(file), std::move(mapping), *layout,
                         documents, std::move(checksums)));
}

absl::Status WriteLengthOrder(int fd, const std::string& path, uint64_t key,
                              const LengthSort& sort) {
  const LengthHistogram& histogram = sort.histogram();
  const Layout layout = {sort.number_bytes(), key, histogram.num_documents(),
                         histogram.lengths.size()};
  PONIENTE_ASSIGN_OR_RETURN(
      const WritableMapping mapping,
      WritableMapping::Make(fd, path, layout.file_bytes()));
  const std::span<std::byte> all = mapping.bytes();
  const std::span<std::byte> table = all.subspan(layout.table_begin());
  PONIENTE_RETURN_IF_ERROR(sort.WriteTable(table));
  const std::span<std::byte> front =
      all.subspan(kHeaderBytes, layout.front_bytes());
  std::byte* to = front.data();
  for (size_t i = 0; i < histogram.lengths.size(); ++i) {
    StoreLittle(histogram.lengths[i], to);
    StoreLittle(histogram.CountOf(i), to + 8);
    to += 16;
  }
  for (uint64_t at = 0; at < table.size(); at += kBlock) {
    const auto block =
        table.subspan(at, std::min<uint64_t>(kBlock, table.size() - at));
    StoreLittle(Crc32c(block), to);
    to += 4;
  }
  const Header header = EncodeHeader(layout, Crc32c(front));
  std::copy(header.begin(), header.end(), all.begin());
  return absl::OkStatus();
}

}  // namespace poniente::internal
