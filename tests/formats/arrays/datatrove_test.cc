// SPDX-License-Identifier: Apache-2.0
#include "formats/arrays/datatrove.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
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
using testing::InMemory;
using ::testing::IsEmpty;
using testing::MadeIds;
using testing::OpenWith;
using testing::SliceOf;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteFile;

std::string Ends(const std::vector<uint64_t>& ends) {
  std::string bytes;
  for (const uint64_t end : ends) bytes += testing::Little(end);
  return bytes;
}

class DatatroveTest : public ::testing::Test {
 protected:
  std::string Path(std::string_view name) const { return folder_.path(name); }
  void Write(const std::string& name, const std::vector<uint32_t>& ids,
             size_t width) {
    WriteFile(Path(name), testing::LittleIds(ids, width));
  }
  bool Recognizes(std::string_view name) {
    const auto found = FindPath(Path(name));
    return found.ok() && kDatatroveFormat.recognizes(*found);
  }
  absl::StatusOr<TokenLayout> LayOut(std::string_view name,
                                     const TokenSourceOptions& options = {}) {
    absl::StatusOr<FoundPath> found = FindPath(Path(name));
    if (!found.ok()) return found.status();
    return kDatatroveFormat.open(*found, options);
  }

  const TempDir folder_;
};

TEST_F(DatatroveTest, MetadataOrTheLastEndTellTheWidth) {
  for (const size_t width : {2, 4}) {
    const std::vector<uint32_t> ids =
        MadeIds(1001, width == 2 ? 60000 : 128000, 1);
    Write("x.ds", ids, width);
    WriteFile(Path("x.ds.index"), Ends({400, 400, 1001}));
    for (const bool has_metadata : {false, true}) {
      if (has_metadata) {
        WriteFile(Path("x.ds.metadata"),
                  absl::StrCat("some/gpt|2|", width, "\n1001\n1.0 kT"));
      }
      EXPECT_TRUE(Recognizes("x.ds"));
      ASSERT_OK_AND_ASSIGN(const auto source,
                           OpenWith(kDatatroveFormat, Path("x.ds")));
      EXPECT_EQ(StoredTypeBytes(source->stored_type()), width);
      testing::ExpectTokens(*source, ids);
      testing::ExpectDocuments(*source, {400, 400, 1001});
      ASSERT_OK_AND_ASSIGN(const TokenLayout layout, LayOut("x.ds"));
      EXPECT_EQ(layout.tokenizer, has_metadata ? "some/gpt|2" : "");
    }
    std::filesystem::remove(Path("x.ds.metadata"));
  }
}

TEST_F(DatatroveTest, AnUnknownTokenizerIsNone) {
  ASSERT_OK_AND_ASSIGN(const DatatroveMetadata metadata,
                       ParseDatatroveMetadata(
                           InMemory("x", "Unknown Tokenizer|4|4\n12\n12.0 T")));
  EXPECT_EQ(metadata.tokenizer, "");
  EXPECT_EQ(metadata.type, StoredType::kU32);
  EXPECT_EQ(metadata.tokens, 12u);
}

TEST_F(DatatroveTest, FilesOfAFolderAreShards) {
  const std::vector<uint32_t> ids = MadeIds(23, 60000, 2);
  Write("00000.ds", SliceOf(ids, 0, 10), 2);
  WriteFile(Path("00000.ds.index"), Ends({4, 10}));
  Write("00001.ds", {}, 2);
  WriteFile(Path("00001.ds.index"), "");
  Write("00002.ds", SliceOf(ids, 10, 23), 2);
  WriteFile(Path("00002.ds.index"), Ends({13}));
  WriteFile(Path("00002.ds.loss"), std::string(13, '\1'));
  EXPECT_TRUE(Recognizes(""));
  ASSERT_OK_AND_ASSIGN(const auto source, OpenWith(kDatatroveFormat, Path("")));
  testing::ExpectTokens(*source, ids);
  testing::ExpectDocuments(*source, {4, 10, 23});
  testing::ExpectWindows(*source, ids, {10, 10, 23}, false, 4);
  EXPECT_EQ(source->num_bytes(), 46u + 24);
}

TEST_F(DatatroveTest, WithoutAnyTableTheTypeHasToBeStated) {
  Write("x.ds", {1, 2, 3, 4}, 2);
  EXPECT_FALSE(Recognizes("x.ds"));
  EXPECT_THAT(LayOut("x.ds"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("state its dtype: u16 or u32")));
  TokenSourceOptions options;
  options.dtype = StoredType::kU16;
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenWith(kDatatroveFormat, Path("x.ds"), options));
  testing::ExpectTokens(*source, {1, 2, 3, 4});
  EXPECT_FALSE(source->knows_documents());
}

TEST_F(DatatroveTest, AFolderWithAMissingIndexHasNoDocuments) {
  Write("a.ds", {1, 2}, 2);
  WriteFile(Path("a.ds.index"), Ends({2}));
  Write("b.ds", {3}, 2);
  WriteFile(Path("b.ds.metadata"), "gpt2|2\n1\n1.0 T");
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, LayOut(""));
  EXPECT_EQ(layout.documents, nullptr);
  EXPECT_THAT(layout.warnings, ElementsAre(HasSubstr("b.ds' has no .index")));
}

// As a rank without documents writes it, first of all or among others: whatever
// it says, or does not say, is not compared.
TEST_F(DatatroveTest, EmptyFilesNeitherHideDocumentsNorDecideTheType) {
  const std::vector<uint32_t> ids = MadeIds(11, 128000, 3);
  Write("b.ds", SliceOf(ids, 0, 6), 4);
  WriteFile(Path("b.ds.index"), Ends({2, 6}));
  Write("d.ds", SliceOf(ids, 6, 11), 4);
  WriteFile(Path("d.ds.index"), Ends({5}));
  const std::string none = "Unknown Tokenizer|2\n0\n0.00 T";
  for (const int tables : {0, 1, 2, 3}) {
    for (const char* name : {"a.ds", "c.ds"}) {
      Write(name, {}, 2);
      std::filesystem::remove(Path(absl::StrCat(name, ".index")));
      std::filesystem::remove(Path(absl::StrCat(name, ".metadata")));
      if (tables & 1) WriteFile(Path(absl::StrCat(name, ".metadata")), none);
      if (tables & 2) WriteFile(Path(absl::StrCat(name, ".index")), "");
    }
    for (const bool is_stated : {false, true}) {
      TokenSourceOptions options;
      if (is_stated) options.dtype = StoredType::kU32;
      ASSERT_OK_AND_ASSIGN(const auto source,
                           OpenWith(kDatatroveFormat, Path(""), options));
      EXPECT_EQ(source->stored_type(), StoredType::kU32) << tables;
      testing::ExpectTokens(*source, ids);
      testing::ExpectDocuments(*source, {2, 6, 11});
      ASSERT_OK_AND_ASSIGN(const TokenLayout layout, LayOut("", options));
      EXPECT_THAT(layout.warnings, IsEmpty());
    }
  }
}

TEST_F(DatatroveTest, OldMetadataNamesTheTokenizerAloneAndIdsHaveTwoBytes) {
  const std::vector<uint32_t> ids = MadeIds(9, 50000, 4);
  Write("x.ds", ids, 2);
  WriteFile(Path("x.ds.index"), Ends({3, 9}));
  WriteFile(Path("x.ds.metadata"), "gpt2\n9\n9 T");
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenWith(kDatatroveFormat, Path("x.ds")));
  testing::ExpectTokens(*source, ids);
  ASSERT_OK_AND_ASSIGN(TokenLayout layout, LayOut("x.ds"));
  EXPECT_EQ(layout.tokenizer, "gpt2");
  WriteFile(Path("x.ds.metadata"), "Unknown Tokenizer\n9\n9 T");
  ASSERT_OK_AND_ASSIGN(layout, LayOut("x.ds"));
  EXPECT_EQ(layout.tokenizer, "");
  Write("x.ds", ids, 4);
  EXPECT_THAT(LayOut("x.ds"),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("holds 18 ids of 2 bytes, its .metadata says "
                                 "9")));
}

TEST_F(DatatroveTest, WhatContradictsItselfSaysWhere) {
  using absl::StatusCode;
  Write("x.ds", {1, 2, 3, 4}, 2);
  const auto fails = [&](StatusCode code, const std::string& message,
                         const TokenSourceOptions& options = {}) {
    EXPECT_THAT(LayOut("x.ds", options), StatusIs(code, HasSubstr(message)));
  };
  WriteFile(Path("x.ds.index"), Ends({1, 3}));
  fails(StatusCode::kDataLoss,
        "has 8 bytes, its last document ends at id 3 by byte 8 of");
  WriteFile(Path("x.ds.metadata"), "gpt2|2\n4\n4.0 T");
  fails(StatusCode::kDataLoss, "its last document ends at id 3, '");
  WriteFile(Path("x.ds.index"), Ends({3, 1, 4}));
  fails(StatusCode::kDataLoss,
        "document 1 ends at id 1 by byte 8, the one before at 3");
  WriteFile(Path("x.ds.index"), Ends({3, 5}));
  fails(StatusCode::kDataLoss, "document 1 ends at id 5 by byte 8");
  WriteFile(Path("x.ds.index"), Ends({4}) + "xyz");
  fails(StatusCode::kDataLoss, "has 11 bytes, expected 8 for each document");
  WriteFile(Path("x.ds.index"), Ends({4}));
  TokenSourceOptions options;
  options.dtype = StoredType::kU32;
  fails(StatusCode::kInvalidArgument, "holds u16, stated was u32", options);
  WriteFile(Path("x.ds.metadata"), "gpt2|2\n5\n5.0 T");
  fails(StatusCode::kDataLoss, "holds 4 ids of 2 bytes, its .metadata says 5");
  WriteFile(Path("x.ds.metadata"), "gpt2|8\n1\n1.0 T");
  fails(StatusCode::kInvalidArgument, "has ids of 8 bytes on its first line");
  for (const char* text :
       {"", "\n\n", "gpt2", "gpt2|2", "gpt2|2\n", "gpt2|x\n4\n", "|\n4",
        "gpt2|2\n-4", "gpt2|2\n99999999999999999999999"}) {
    WriteFile(Path("x.ds.metadata"), text);
    fails(StatusCode::kDataLoss, "expected a tokenizer, '|'");
  }
  WriteFile(Path("x.ds.metadata"), std::string(65537, '|'));
  fails(StatusCode::kInvalidArgument, "expected at most 65536");
}

TEST_F(DatatroveTest, AnEmptyFileIsReadWithoutATable) {
  Write("x.ds", {}, 2);
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenWith(kDatatroveFormat, Path("x.ds")));
  EXPECT_EQ(source->num_tokens(), 0u);
}

}  // namespace
}  // namespace poniente::internal
