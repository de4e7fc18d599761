// SPDX-License-Identifier: Apache-2.0
#include "store/read/side_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/open_descriptors.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::internal {
namespace {

using poniente::testing::IsOk;
using poniente::testing::OpenDescriptors;
using poniente::testing::StatusIs;
using poniente::testing::TempDir;
using poniente::testing::WriteFile;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Bytes that tell where they lie, then zeros.
std::string Content(size_t bytes, size_t zeros) {
  std::string content(bytes, '\0');
  for (size_t i = 0; i + zeros < bytes; ++i) {
    content[i] = static_cast<char>(i % 251 + 1);
  }
  return content;
}

struct SideFileCase {
  const char* name;
  size_t bytes;
  size_t zeros;
  size_t descriptors;
};

class SideFileTest : public ::testing::TestWithParam<SideFileCase> {
 protected:
  SideFileTest() : content_(Content(GetParam().bytes, GetParam().zeros)) {
    WriteFile(path(), content_);
  }
  std::string path() const { return folder_.path("side.bin"); }

  // The bytes there, or why there are none.
  static absl::StatusOr<std::string> Read(const SideFile& file, size_t offset,
                                          size_t count) {
    std::string bytes(count, 'x');
    const absl::Status read =
        file.ReadAt(offset, std::as_writable_bytes(std::span(bytes)));
    if (!read.ok()) return read;
    return bytes;
  }

  const TempDir folder_;
  const std::string content_;
};

TEST_P(SideFileTest, EveryPartIsThatOfTheFile) {
  ASSERT_OK_AND_ASSIGN(const SideFile file, SideFile::Open(path()));
  EXPECT_EQ(file.size(), content_.size());
  EXPECT_EQ(file.path(), path());
  for (size_t offset = 0; offset <= content_.size(); offset += 97) {
    for (const size_t wanted :
         {size_t{0}, size_t{1}, size_t{8}, size_t{5000}, content_.size()}) {
      const size_t count = std::min(wanted, content_.size() - offset);
      ASSERT_OK_AND_ASSIGN(const std::string bytes, Read(file, offset, count));
      ASSERT_EQ(bytes, content_.substr(offset, count)) << offset;
    }
  }
}

TEST_P(SideFileTest, ASmallOneHoldsNoDescriptor) {
  const size_t before = OpenDescriptors();
  ASSERT_OK_AND_ASSIGN(const SideFile file, SideFile::Open(path()));
  EXPECT_EQ(OpenDescriptors(), before + GetParam().descriptors);
  std::filesystem::remove(path());
  EXPECT_THAT(Read(file, 0, content_.size()), IsOk());
}

TEST_P(SideFileTest, PastItsEndIsDataLoss) {
  ASSERT_OK_AND_ASSIGN(const SideFile file, SideFile::Open(path()));
  const std::string size = std::to_string(content_.size());
  EXPECT_THAT(Read(file, content_.size() - 3, 8),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr(path()), HasSubstr("at byte " + size),
                             HasSubstr("5 bytes before"))));
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, SideFileTest,
    ::testing::Values(SideFileCase{"Tiny", 3, 0, 0},
                      SideFileCase{"Padded", 4096, 4000, 0},
                      SideFileCase{"Zeros", 4096, 4096, 0},
                      SideFileCase{"LargestKept", 16384, 0, 0},
                      SideFileCase{"SmallestLeftOpen", 16385, 100, 1}),
    [](const auto& case_info) { return case_info.param.name; });

TEST(SideFileOpenTest, AnEmptyFileIsRead) {
  const TempDir folder;
  WriteFile(folder.path("empty"), "");
  ASSERT_OK_AND_ASSIGN(const SideFile file,
                       SideFile::Open(folder.path("empty")));
  EXPECT_EQ(file.size(), 0u);
  EXPECT_THAT(file.ReadAt(0, {}), IsOk());
}

TEST(SideFileOpenTest, AMissingFileIsNotFound) {
  const TempDir folder;
  EXPECT_THAT(SideFile::Open(folder.path("gone")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("gone")));
}

}  // namespace
}  // namespace poniente::internal
