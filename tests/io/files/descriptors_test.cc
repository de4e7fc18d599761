// SPDX-License-Identifier: Apache-2.0
#include "io/files/descriptors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "poniente/byte_reader.h"
#include "tests/support/temp_dir.h"

namespace poniente::internal {
namespace {

bool IsOfPath(int fd, const std::string& path) {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd),
                                       ignored) == path;
}

// Opens a file through each backend with 0 to 2 closed; 0 if it is at none of
// these. (The kernel's rings and what Asio waits by may be: no text gets into
// these.)
int ReadWithoutStandardDescriptors(const std::string& path) {
  for (int fd = 0; fd <= 2; ++fd) ::close(fd);
  for (const IoBackend backend :
       {IoBackend::kAuto, IoBackend::kBuffered, IoBackend::kDirect,
        IoBackend::kMmap, IoBackend::kPread}) {
    ByteReaderOptions options;
    options.backend = backend;
    const auto reader = ByteReader::Open({path}, options);
    if (!reader.ok()) return 10;
    std::byte bytes[4];
    const ReadRequest request = {reader->get(), 0, 1, bytes};
    if (!RunBlocking(ReadBatch({&request, 1})).ok()) return 11;
    for (int fd = 0; fd <= 2; ++fd) {
      if (IsOfPath(fd, path)) return 12;
    }
  }
  return 0;
}

TEST(DescriptorsTest, StandardOnesAreLeftAsTheyAre) {
  const testing::TempDir folder;
  testing::WriteFile(folder.path("f"), "0123456789");
  EXPECT_EXIT(std::_Exit(ReadWithoutStandardDescriptors(folder.path("f"))),
              ::testing::ExitedWithCode(0), "");
}

TEST(DescriptorsTest, AreMovedOrAnError) {
  EXPECT_EXIT(
      {
        ::close(0);
        const int fd = CallForDescriptor(
            [] { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); });
        const bool is_moved = fd > 2 && ::fcntl(0, F_GETFD) == -1;
        std::_Exit(is_moved && ::fcntl(fd, F_GETFD) == FD_CLOEXEC ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(CallForDescriptor([] { return -ENOENT; }), -ENOENT);
}

}  // namespace
}  // namespace poniente::internal
