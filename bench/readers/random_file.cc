// SPDX-License-Identifier: Apache-2.0
#include "bench/readers/random_file.h"

#include <fcntl.h>

#include <cstdio>
#include <filesystem>
#include <random>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/measure/require.h"
#include "store/posix_file.h"
#include "util/byte_order.h"
#include "util/crc32c.h"

namespace poniente::bench {
namespace {

// A file that has its name once it is whole and on the disk.
class NewFile {
 public:
  explicit NewFile(std::string path)
      : path_(std::move(path)),
        unfinished_(path_ + ".unfinished"),
        fd_(Require(
            internal::OpenFd(unfinished_, O_WRONLY | O_CREAT | O_TRUNC))) {}

  void Append(std::span<const std::byte> bytes) {
    Require(internal::WriteAll(fd_.get(), unfinished_, size_, bytes));
    size_ += bytes.size();
  }

  void Finish() {
    Require(internal::SyncFd(fd_.get(), unfinished_));
    std::error_code error;
    std::filesystem::rename(unfinished_, path_, error);
    if (error) Require(absl::InternalError(path_ + ": " + error.message()));
  }

 private:
  const std::string path_;
  const std::string unfinished_;
  const internal::OwnedFd fd_;
  uint64_t size_ = 0;
};

bool HasSize(const std::string& path, uint64_t bytes) {
  std::error_code error;
  return std::filesystem::file_size(path, error) == bytes && !error;
}

void WriteRandomFile(const ByteFile& file, uint64_t blocks) {
  std::fprintf(stderr, "making %s\n", file.path.c_str());
  NewFile bytes(file.path);
  std::vector<std::byte> checksums(4 * blocks);
  std::mt19937_64 random(blocks);
  std::vector<uint64_t> words(kBlockBytes / sizeof(uint64_t));
  const auto block = std::as_bytes(std::span(words));
  for (uint64_t i = 0; i < blocks; ++i) {
    for (uint64_t& word : words) word = random();
    bytes.Append(block);
    internal::StoreLittle(internal::Crc32c(block), &checksums[4 * i]);
  }
  bytes.Finish();
  NewFile beside(file.checksums->path);
  beside.Append(checksums);
  beside.Finish();
}

}  // namespace

ByteFile MakeRandomFile(const std::string& folder, uint64_t mib) {
  const std::string path = absl::StrCat(folder, "/random-", mib, "MiB");
  ByteFile file;
  file.path = path + ".bin";
  file.checksums = {.path = path + ".crc32c", .block_bytes = kBlockBytes};
  const uint64_t blocks = (mib << 20) / kBlockBytes;
  if (!HasSize(file.path, blocks * kBlockBytes) ||
      !HasSize(file.checksums->path, 4 * blocks)) {
    WriteRandomFile(file, blocks);
  }
  return file;
}

void CopyStart(const std::string& source, const std::string& path,
               uint64_t bytes) {
  const auto from = Require(internal::OpenFd(source, O_RDONLY));
  NewFile to(path);
  std::vector<std::byte> block(kBlockBytes);
  for (uint64_t at = 0; at < bytes; at += block.size()) {
    Require(internal::ReadAll(from.get(), source, at, block));
    to.Append(block);
  }
  to.Finish();
}

}  // namespace poniente::bench
