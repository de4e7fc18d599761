// SPDX-License-Identifier: Apache-2.0
// Files of proven bytes, and windows of them.

#ifndef PONIENTE_TESTS_IO_PROVEN_FILE_H_
#define PONIENTE_TESTS_IO_PROVEN_FILE_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <fstream>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "poniente/byte_reader.h"
#include "poniente/task.h"
#include "tests/io/proven_bytes.h"

namespace poniente::testing {

inline void WriteProvenFile(const std::string& path, uint64_t file,
                            uint64_t bytes) {
  std::string text(bytes, '\0');
  FillProven(file, 0, std::as_writable_bytes(std::span(text)));
  std::ofstream out(path, std::ios::binary);
  out << text << std::flush;
  ASSERT_TRUE(out.good()) << path;
}

// Empties the page cache of one clean file, so that the next reads wait for the
// disk (a tmpfs ignores it).
inline void DropFromCache(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY);
  ASSERT_GE(fd, 0) << path;
  ::fsync(fd);
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
}

// Requests with buffers of their own, and the check of what they brought.
class Windows {
 public:
  void Add(const ByteReader& reader, uint32_t file, uint64_t offset,
           size_t bytes, uint64_t proven_as) {
    buffers_.push_back(std::make_unique<std::vector<std::byte>>(bytes));
    requests_.push_back({&reader, file, offset, *buffers_.back()});
    proven_as_.push_back(proven_as);
  }

  // `count` random windows of 1 to `max_bytes` over all files of `reader`;
  // its file i is proven file first_proven + i.
  void AddRandom(const ByteReader& reader, uint64_t first_proven, int count,
                 size_t max_bytes, std::mt19937_64* random) {
    for (int i = 0; i < count; ++i) {
      const auto file = static_cast<uint32_t>((*random)() % reader.num_files());
      const uint64_t size = reader.size(file);
      const uint64_t bytes =
          1 + (*random)() % std::min<uint64_t>(max_bytes, size);
      const uint64_t offset = (*random)() % (size - bytes + 1);
      Add(reader, file, offset, bytes, first_proven + file);
    }
  }

  std::span<const ReadRequest> requests() const { return requests_; }
  std::vector<std::byte>& buffer(size_t i) { return *buffers_[i]; }

  // Sum of the requests' bytes.
  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const auto& buffer : buffers_) sum += buffer->size();
    return sum;
  }

  void Fill(std::byte with) {
    for (auto& buffer : buffers_) {
      std::fill(buffer->begin(), buffer->end(), with);
    }
  }
  bool AllBytesAre(std::byte wanted) const {
    for (const auto& buffer : buffers_) {
      for (const std::byte byte : *buffer) {
        if (byte != wanted) return false;
      }
    }
    return true;
  }

  // The first byte that is not what its place says, in words; empty if none.
  std::string FirstWrongByte() const {
    for (size_t r = 0; r < requests_.size(); ++r) {
      const uint64_t begin = requests_[r].offset;
      const auto wrong = FirstUnproven(proven_as_[r], begin, *buffers_[r]);
      if (!wrong) continue;
      return "request " + std::to_string(r) + " file " +
             std::to_string(requests_[r].file) + " byte " +
             std::to_string(begin + *wrong);
    }
    return "";
  }

 private:
  std::vector<std::unique_ptr<std::vector<std::byte>>> buffers_;
  std::vector<ReadRequest> requests_;
  std::vector<uint64_t> proven_as_;
};

// Reads 64 random windows of the reader's files, which are proven files 0, 1
// and so on. OK only with the right bytes.
inline Task<> ReadRandomWindows(const ByteReader& reader,
                                std::mt19937_64* random) {
  Windows windows;
  windows.AddRandom(reader, 0, 64, 2000, random);
  absl::Status status = co_await ReadBatch(windows.requests());
  if (!status.ok()) co_return status;
  const std::string wrong = windows.FirstWrongByte();
  if (!wrong.empty()) co_return absl::InternalError(wrong);
  co_return absl::OkStatus();
}

// Reads in this very context, by its ring.
inline absl::Status ReadIn(boost::asio::io_context* context,
                           std::span<const ReadRequest> requests) {
  absl::Status result = absl::UnknownError("not run");
  boost::asio::co_spawn(
      *context, ReadBatch(requests),
      [&result](std::exception_ptr thrown, absl::Status status) {
        if (!thrown) result = status;
      });
  context->restart();
  context->run();
  return result;
}

// In a context of its own, which therefore makes a new ring.
inline absl::Status ReadInNewContext(std::span<const ReadRequest> requests) {
  boost::asio::io_context context;
  return ReadIn(&context, requests);
}

inline absl::Status Read(const Windows& windows) {
  return RunBlocking(ReadBatch(windows.requests()));
}

// Reads part of proven file 0; OK only with the right bytes.
inline absl::Status ReadProven(const ByteReader& reader, uint64_t offset,
                               size_t bytes) {
  Windows windows;
  windows.Add(reader, 0, offset, bytes, 0);
  const absl::Status status = Read(windows);
  if (status.ok()) {
    EXPECT_EQ(windows.FirstWrongByte(), "");
  }
  return status;
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_IO_PROVEN_FILE_H_
