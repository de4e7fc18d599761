// SPDX-License-Identifier: Apache-2.0
// NumPy's arrays of ids: every type and header, folders, and what is refused.

#include "formats/arrays/npy_arrays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "formats/core/token_format.h"
#include "tests/formats/naive_source.h"
#include "tests/formats/npy_files.h"
#include "tests/formats/open_with.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::internal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::ExpectSame;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::NpyFile;
using testing::NpyOf;
using testing::OpenWith;
using testing::StatusIs;
using testing::TempDir;
using testing::WithGlob;
using testing::WithType;
using testing::WriteFile;

using testing::kDataLoss;
using testing::kInvalid;
constexpr WindowRule kArraysRule{.across_shards = false};

MemoryBytes ArrayInMemory(const std::string& bytes) {
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  return MemoryBytes("a.npy", {begin, begin + bytes.size()});
}

absl::StatusOr<FileArray> Find(const std::string& bytes) {
  return FindNpyIds(ArrayInMemory(bytes));
}

class NpyArraysTest : public ::testing::Test {
 protected:
  std::string File(const std::string& bytes,
                   const std::string& name = "a.npy") {
    WriteFile(folder_.path(name), bytes);
    return folder_.path(name);
  }
  bool Recognizes(const std::string& path) const {
    return kNpyFormat.recognizes(*FindPath(path));
  }

  const TempDir folder_;
};

TEST_F(NpyArraysTest, ReadsEveryIntegerType) {
  for (const auto& [type, expected] :
       std::vector<std::pair<std::string, StoredType>>{
           {"|u1", StoredType::kU8},
           {"<u1", StoredType::kU8},
           {"|i1", StoredType::kI8},
           {"<u2", StoredType::kU16},
           {"<i2", StoredType::kI16},
           {"<u4", StoredType::kU32},
           {"<i4", StoredType::kI32},
           {"<u8", StoredType::kU64},
           {"<i8", StoredType::kI64}}) {
    const std::string path = File(NpyOf(type, {7, 0, 99, 100, 127}).Bytes());
    EXPECT_TRUE(Recognizes(path));
    ASSERT_OK_AND_ASSIGN(const auto source, OpenWith(kNpyFormat, path));
    EXPECT_EQ(source->stored_type(), expected) << type;
    ExpectSame(*source, {{{7, 0, 99, 100, 127}}, {}}, kArraysRule);
    EXPECT_EQ(source->arrays().size(), 1u);
    EXPECT_EQ(source->arrays()[0].offset, 128u);
  }
}

TEST_F(NpyArraysTest, ReadsHeadersOfEveryVersionAndWriter) {
  for (int version = 1; version <= 3; ++version) {
    for (const size_t alignment : {1, 16, 64}) {
      NpyFile file = NpyOf("<u4", {5, 1u << 31, 7});
      file.version = version;
      file.alignment = alignment;
      ASSERT_OK_AND_ASSIGN(const auto source,
                           OpenWith(kNpyFormat, File(file.Bytes())));
      EXPECT_EQ(source->arrays()[0].offset, file.Bytes().size() - 12);
      ExpectSame(*source, {{{5, 1u << 31, 7}}, {}}, kArraysRule);
    }
  }
  for (const char* dictionary :
       {"{\"shape\":(3,),\"fortran_order\":False,\"descr\":\"<u2\"}",
        "{'shape': (3L,), 'fortran_order': False, 'descr': '<u2'}",
        "{'shape': (3), 'fortran_order': False, 'descr': '<u2'}",
        "{'shape': (3,), 'fortran_order': True, 'descr': '<u2'}",
        "{'shape': (3, 1), 'fortran_order': False, 'descr': '<u2'}"}) {
    NpyFile file = NpyOf("<u2", {1, 2, 3});
    file.dictionary = dictionary;
    ASSERT_OK_AND_ASSIGN(const FileArray array, Find(file.Bytes()));
    EXPECT_EQ(array.tokens, 3u) << dictionary;
    EXPECT_EQ(array.type, StoredType::kU16) << dictionary;
  }
}

TEST_F(NpyArraysTest, RowsFollowEachOther) {
  NpyFile file = NpyOf("<u2", {1, 2, 3, 4, 5, 6});
  file.shape = "(2, 3)";
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenWith(kNpyFormat, File(file.Bytes())));
  ExpectSame(*source, {{{1, 2, 3, 4, 5, 6}}, {}}, kArraysRule);
  for (const char* shape : {"(0,)", "(0, 7)", "(7, 0)"}) {
    NpyFile empty = NpyOf("<u2", {});
    empty.shape = shape;
    ASSERT_OK_AND_ASSIGN(const auto none,
                         OpenWith(kNpyFormat, File(empty.Bytes())));
    ExpectSame(*none, {{{}}, {}}, kArraysRule);
  }
}

TEST_F(NpyArraysTest, AFolderIsCutFileByFileInTheOrderOfBytes) {
  File(NpyOf("<u2", {20, 21, 22}).Bytes(), "part10.npy");
  File(NpyOf("<u2", {90}).Bytes(), "part9.npy");
  File(NpyOf("<u2", {}).Bytes(), "part1.npy");
  File(NpyOf("<u2", {1, 2, 3, 4, 5, 6, 7}).Bytes(), "Part.npy");
  File("else", "notes.txt");
  File(NpyOf("<u2", {4}).Bytes(), ".hidden.npy");
  EXPECT_TRUE(Recognizes(folder_.path()));
  ASSERT_OK_AND_ASSIGN(const auto source, OpenWith(kNpyFormat, folder_.path()));
  ExpectSame(*source, {{{1, 2, 3, 4, 5, 6, 7}, {}, {20, 21, 22}, {90}}, {}},
             kArraysRule);
  EXPECT_THAT(testing::GetStatus(source->DocumentRange(0)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("")));

  ASSERT_OK_AND_ASSIGN(const auto some, OpenWith(kNpyFormat, folder_.path(),
                                                 WithGlob("part[0-9].npy")));
  ExpectSame(*some, {{{}, {90}}, {}}, kArraysRule);
  EXPECT_THAT(OpenWith(kNpyFormat, folder_.path(), WithGlob("*.bin")),
              StatusIs(kInvalid, AllOf(HasSubstr("6 files"),
                                       HasSubstr("none of which matches"))));
}

TEST_F(NpyArraysTest, FilesOfAFolderAreOfOneType) {
  File(NpyOf("<u2", {1}).Bytes(), "a.npy");
  File(NpyOf("<u4", {1}).Bytes(), "b.npy");
  EXPECT_THAT(OpenWith(kNpyFormat, folder_.path()),
              StatusIs(kInvalid,
                       AllOf(HasSubstr("b.npy' holds u32"), HasSubstr("u16"))));
  EXPECT_THAT(
      OpenWith(kNpyFormat, folder_.path("a.npy"), WithType(StoredType::kU32)),
      StatusIs(kInvalid, AllOf(HasSubstr("a.npy' holds u16"),
                               HasSubstr("stated was u32"))));
  EXPECT_THAT(
      OpenWith(kNpyFormat, folder_.path("a.npy"), WithType(StoredType::kU16)),
      IsOk());
}

TEST_F(NpyArraysTest, ArraysOfAnythingElseAreRefused) {
  for (const auto& [type, message] :
       std::vector<std::pair<std::string, std::string>>{
           {">u2", "type '>u2'; save it as a little-endian number"},
           {">i8", "type '>i8'"},
           {"|O", "pickled Python objects, which are not read"},
           {"<f4", "holds floating-point numbers of 4 bytes, expected ids"},
           {"<f2", "type '<f2'"},
           {"|b1", "holds bools of 1 bytes, expected ids"},
           {"<U5", "type '<U5'"}}) {
    NpyFile file = NpyOf("<u8", {1, 2, 3});
    file.type = type;
    file.shape = "(" + std::to_string(24 / (type.back() - '0')) + ",)";
    if (type == "|O") file.shape = "(3,)";
    EXPECT_THAT(
        Find(file.Bytes()),
        StatusIs(kInvalid, AllOf(HasSubstr(message), HasSubstr("'a.npy'"))))
        << type;
  }
  for (const auto& [dictionary, message] :
       std::vector<std::pair<std::string, std::string>>{
           {"{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': (3,)}",
            "several fields"},
           {"{'descr': '<u2', 'fortran_order': True, 'shape': (1, 3)}",
            "Fortran order"},
           {"{'descr': '<u2', 'fortran_order': False, 'shape': (1, 1, 3)}",
            "3 dimensions; save one or two"},
           {"{'descr': '<u2', 'fortran_order': False, 'shape': ()}",
            "0 dimensions"},
           {"{'descr': '<u2', 'fortran_order': False, 'shape': (4294967296, "
            "4294967297)}",
            "below 2^60"},
           {"{'descr': '<u2', 'fortran_order': False, 'shape': (-3,)}",
            "a count"}}) {
    NpyFile file = NpyOf("<u2", {1, 2, 3});
    file.dictionary = dictionary;
    EXPECT_THAT(Find(file.Bytes()), StatusIs(kInvalid, HasSubstr(message)))
        << dictionary;
  }
}

TEST_F(NpyArraysTest, WhatIsNoArraySaysWhatToDo) {
  const std::string zip = File(std::string("PK\3\4 and so on", 14), "z.npy");
  EXPECT_TRUE(Recognizes(zip));
  EXPECT_THAT(OpenWith(kNpyFormat, zip),
              StatusIs(kInvalid, AllOf(HasSubstr("z.npy' is an archive"),
                                       HasSubstr("numpy.save"))));
  EXPECT_FALSE(Recognizes(File(std::string("PK\3\4", 4), "z.zip")));
  const std::string raw = File(std::string("\1\0\2\0", 4), "raw.npy");
  EXPECT_FALSE(Recognizes(raw));
  EXPECT_THAT(OpenWith(kNpyFormat, raw),
              StatusIs(kInvalid, AllOf(HasSubstr("raw.npy' has 4 bytes"),
                                       HasSubstr("state the format raw"))));
  EXPECT_THAT(Find(""), StatusIs(kInvalid, HasSubstr("'a.npy' has 0 bytes")));
}

TEST_F(NpyArraysTest, SizesThatDisagreeAreDataLoss) {
  NpyFile file = NpyOf("<u2", {1, 2, 3});
  EXPECT_THAT(Find(file.Bytes() + "x"),
              StatusIs(kDataLoss, HasSubstr("135 bytes, expected 134")));
  file.shape = "(1152921504606846975,)";
  EXPECT_THAT(Find(file.Bytes()), StatusIs(kInvalid, HasSubstr("below 2^60")));
  file.shape = "(720575940379279369,)";
  EXPECT_THAT(Find(file.Bytes()),
              StatusIs(kDataLoss, HasSubstr("expected 1441151880758558866")));
}

TEST_F(NpyArraysTest, AFileCutAnywhereIsRefused) {
  const std::string whole = NpyOf("<u2", {1, 2, 3}).Bytes();
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_THAT(Find(whole.substr(0, bytes)),
                StatusIs(bytes < 6 ? kInvalid : kDataLoss, HasSubstr("a.npy")))
        << bytes;
  }
}

TEST_F(NpyArraysTest, AnyChangedByteGivesAnErrorOrAnArrayWithinTheFile) {
  const std::string whole = NpyOf("<u2", {1, 2, 3}).Bytes();
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = whole;
      changed[at] = static_cast<char>(value);
      const auto array = Find(changed);
      if (!array.ok()) continue;
      ASSERT_LE(array->offset + array->tokens * StoredTypeBytes(array->type),
                changed.size())
          << at << ' ' << value;
    }
  }
}

TEST_F(NpyArraysTest, AFileOfMoreThanFourGiBIsRead) {
  NpyFile file = NpyOf("<u2", {});
  const uint64_t count = (uint64_t{1} << 31) + 3;
  file.shape = "(" + std::to_string(count) + ",)";
  const std::string path = File(file.Bytes());
  std::filesystem::resize_file(path, 128 + 2 * count);
  ASSERT_OK_AND_ASSIGN(const auto source, OpenWith(kNpyFormat, path));
  EXPECT_EQ(source->num_tokens(), count);
  ASSERT_OK_AND_ASSIGN(const auto windows, source->Windows(1u << 30));
  ASSERT_EQ(windows->CurrentLength(), 2u);
}

TEST_F(NpyArraysTest, MetadataNamesTheTokenizer) {
  File(NpyOf("<u2", {1}).Bytes());
  File(
      "name: corpus\ntokenized_info:\n  tokenizer: t5-base\n  dtype: uint16\n"
      "  vocab_size: 32100\n",
      "metadata.yaml");
  const auto layout = kNpyFormat.open(*FindPath(folder_.path()), {});
  ASSERT_THAT(layout, IsOk());
  EXPECT_EQ(layout->tokenizer, "t5-base");
  EXPECT_EQ(layout->vocabulary_size, 32100u);
  EXPECT_THAT(layout->warnings, IsEmpty());

  File("tokenized_info:\n  dtype: uint32\n", "metadata.yaml");
  EXPECT_THAT(kNpyFormat.open(*FindPath(folder_.path()), {})->warnings,
              ElementsAre(AllOf(HasSubstr("says dtype u32"),
                                HasSubstr("files hold u16"))));
  File("tokenized_info:\n  dtype: words\n", "metadata.yaml");
  EXPECT_THAT(kNpyFormat.open(*FindPath(folder_.path()), {})->warnings,
              ElementsAre(AllOf(HasSubstr("line 2: dtype is 'words'"),
                                HasSubstr("not used"))));
}

}  // namespace
}  // namespace poniente::internal
