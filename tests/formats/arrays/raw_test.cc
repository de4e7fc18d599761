// SPDX-License-Identifier: Apache-2.0
#include "formats/arrays/raw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/core/token_format.h"
#include "tests/formats/expect_source.h"
#include "tests/formats/little_endian.h"
#include "tests/formats/open_with.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::LittleIds;
using testing::MadeIds;
using testing::OpenWith;
using testing::SliceOf;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteFile;

TokenSourceOptions OfType(StoredType type) {
  TokenSourceOptions options;
  options.dtype = type;
  return options;
}

std::vector<std::string> RawWarnings(const std::string& path, StoredType type) {
  const auto found = FindPath(path);
  EXPECT_TRUE(found.ok());
  const auto layout = kRawFormat.open(*found, OfType(type));
  EXPECT_TRUE(layout.ok()) << layout.status();
  return layout->warnings;
}

TEST(RawTest, AFileIsIdsOfTheStatedType) {
  const TempDir folder;
  const std::vector<uint32_t> ids = MadeIds(1001, 120, 1);
  for (uint8_t i = 0; i < 8; ++i) {
    const auto type = static_cast<StoredType>(i);
    WriteFile(folder.path("x.bin"), LittleIds(ids, StoredTypeBytes(type)));
    ASSERT_OK_AND_ASSIGN(
        const auto source,
        OpenWith(kRawFormat, folder.path("x.bin"), OfType(type)));
    testing::ExpectTokens(*source, ids);
    testing::ExpectWindows(*source, ids, {1001}, false, 100);
    EXPECT_FALSE(source->knows_documents());
  }
}

TEST(RawTest, WithoutATypeTheSizeSaysWhatIsAllowed) {
  const TempDir folder;
  const auto fails = [&](size_t bytes, const std::string& message) {
    WriteFile(folder.path("x.bin"), std::string(bytes, 'x'));
    EXPECT_THAT(
        OpenWith(kRawFormat, folder.path("x.bin")),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  fails(8, "state its dtype: u16 or u32");
  fails(6, "state its dtype: u16, for its 6 bytes are no whole u32");
  fails(7, "neither u16 nor u32, for its 7 bytes are odd");
  EXPECT_THAT(OpenWith(kRawFormat, folder.path()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("state the dtype of its files")));
  EXPECT_THAT(
      OpenWith(kRawFormat, folder.path("x.bin"), OfType(StoredType::kU16)),
      StatusIs(absl::StatusCode::kDataLoss,
               HasSubstr("7 bytes of ids are no whole number of u16")));
}

TEST(RawTest, FilesOfAFolderAreShards) {
  const TempDir folder;
  const std::vector<uint32_t> ids = MadeIds(23, 60000, 2);
  WriteFile(folder.path("b.bin"), LittleIds(SliceOf(ids, 10, 23), 2));
  WriteFile(folder.path("a.bin"), LittleIds(SliceOf(ids, 0, 10), 2));
  WriteFile(folder.path("meta.pkl"), "not to be unpickled");
  ASSERT_OK_AND_ASSIGN(const auto source, OpenWith(kRawFormat, folder.path(),
                                                   OfType(StoredType::kU16)));
  testing::ExpectTokens(*source, ids);
  testing::ExpectWindows(*source, ids, {10, 23}, false, 4);
  TokenSourceOptions options = OfType(StoredType::kU16);
  options.glob = "b.*";
  ASSERT_OK_AND_ASSIGN(const auto one,
                       OpenWith(kRawFormat, folder.path(), options));
  testing::ExpectTokens(*one, SliceOf(ids, 10, 23));
  options.glob = "*.tokens";
  EXPECT_THAT(OpenWith(kRawFormat, folder.path(), options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("none of which matches '*.tokens'")));
}

// A shard that cannot be read is not left out without a word.
TEST(RawTest, AShardThatIsNoFileIsAnError) {
  const TempDir folder;
  WriteFile(folder.path("a.bin"), LittleIds(MadeIds(10, 100, 2), 2));
  std::filesystem::create_symlink(folder.path("gone"), folder.path("b.bin"));
  EXPECT_THAT(
      OpenWith(kRawFormat, folder.path(), OfType(StoredType::kU16)),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr(folder.path("b.bin"))));
}

// A u16 file of an even number of ids is also a whole number of u32.
TEST(RawTest, ADoubtfulTypeIsWarnedOf) {
  const TempDir folder;
  const std::string path = folder.path("x.bin");
  const std::vector<uint32_t> ids = MadeIds(4000, 50000, 3);
  WriteFile(path, LittleIds(ids, 2));
  EXPECT_THAT(RawWarnings(path, StoredType::kU16), IsEmpty());
  EXPECT_THAT(RawWarnings(path, StoredType::kU32),
              ElementsAre(HasSubstr("it may be of u16")));
  WriteFile(path, LittleIds(MadeIds(4000, 128000, 4), 4));
  EXPECT_THAT(RawWarnings(path, StoredType::kU32), IsEmpty());
  EXPECT_THAT(RawWarnings(path, StoredType::kU16),
              ElementsAre(HasSubstr("it may be of u32")));
  const std::string wide = LittleIds(MadeIds(4000, 128000, 4), 8);
  WriteFile(path, wide);
  for (const StoredType type : {StoredType::kU64, StoredType::kI64}) {
    EXPECT_THAT(RawWarnings(path, type), IsEmpty());
  }
  for (const StoredType type : {StoredType::kU32, StoredType::kI32,
                                StoredType::kU16, StoredType::kI16}) {
    EXPECT_THAT(RawWarnings(path, type),
                ElementsAre(HasSubstr("it may be of i64 or u64")));
  }
  EXPECT_THAT(RawWarnings(path, StoredType::kU8),
              ElementsAre(HasSubstr("it may be of u32 or a wider type")));
  WriteFile(path, LittleIds(MadeIds(4000, 256, 5), 1));
  EXPECT_THAT(RawWarnings(path, StoredType::kU8), IsEmpty());
  for (const std::string_view pickle :
       {"\x80\x05\x95\x10", "\x80\x04\x95\x10", "\x80\x02]q"}) {
    WriteFile(path, std::string(pickle) + std::string(4096, 'K'));
    EXPECT_THAT(RawWarnings(path, StoredType::kU8),
                ElementsAre(HasSubstr("begins like a pickle")));
  }
  // Zeros are as likely either.
  WriteFile(path, std::string(8000, '\0'));
  EXPECT_THAT(RawWarnings(path, StoredType::kU16), IsEmpty());
  EXPECT_THAT(RawWarnings(path, StoredType::kU32), IsEmpty());
  WriteFile(path, "");
  EXPECT_THAT(RawWarnings(path, StoredType::kU32), IsEmpty());
}

// OpenWebText as nanoGPT writes it has 17 GB.
TEST(RawTest, TokensPastSixteenGigabytesAreFound) {
  const TempDir folder;
  const std::string path = folder.path("train.bin");
  const uint64_t before = 8'500'000'000;
  WriteFile(path, LittleIds({1, 2, 3}, 2));
  std::filesystem::resize_file(path, before * 2);
  {
    std::ofstream out(path, std::ios::binary | std::ios::app);
    out << LittleIds({50256, 8, 9}, 2);
  }
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenWith(kRawFormat, path, OfType(StoredType::kU16)));
  ASSERT_EQ(source->num_tokens(), before + 3);
  ASSERT_OK_AND_ASSIGN(const auto ids,
                       RunBlocking(source->ReadTokens(before - 1, 4)));
  EXPECT_THAT(ids, ElementsAre(0, 50256, 8, 9));
  ASSERT_OK_AND_ASSIGN(const auto windows, source->Windows(1000));
  ASSERT_EQ(windows->CurrentLength(), before / 1000);
  ASSERT_OK_AND_ASSIGN(const TokenWindow first, windows->GetBlocking(0));
  EXPECT_EQ(first.tokens[2], 3u);
  ASSERT_OK_AND_ASSIGN(const auto tails, source->Windows(3));
  ASSERT_OK_AND_ASSIGN(const TokenWindow tail, tails->GetBlocking(before / 3));
  EXPECT_THAT(tail.tokens, ElementsAre(0, 50256, 8));
}

}  // namespace
}  // namespace poniente::internal
