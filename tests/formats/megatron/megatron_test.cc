// SPDX-License-Identifier: Apache-2.0
#include "formats/megatron/megatron.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "formats/core/found_path.h"
#include "formats/core/token_format.h"
#include "formats/megatron/index_pair.h"
#include "tests/formats/expect_source.h"
#include "tests/formats/megatron_files.h"
#include "tests/formats/open_with.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::internal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::EndsOf;
using ::testing::HasSubstr;
using testing::InMemory;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::MadeIds;
using testing::MegatronIndex;
using testing::OpenWith;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteFile;

absl::StatusOr<TokenLayout> LayOutMegatron(
    const std::string& index, uint64_t bytes,
    const TokenSourceOptions& options = {}) {
  return LayOutMegatron(InMemory("x.idx", index), "x.bin", bytes, options);
}
absl::StatusOr<TokenLayout> LayOutMegatron(const MegatronIndex& index) {
  return LayOutMegatron(index.Bytes(), index.IdsBytes());
}

// Five sequences in four documents, of which one has none, one has two.
MegatronIndex SmallMegatron() {
  MegatronIndex index;
  index.lengths = {3, 0, 5, 1, 4};
  index.documents = {{0, 1, 1, 3, 5}};
  return index;
}

class MegatronTest : public ::testing::Test {
 protected:
  void Write(const std::string& prefix, const MegatronIndex& index,
             const std::vector<uint32_t>& ids) {
    WriteFile(folder_.path(prefix + ".idx"), index.Bytes());
    WriteFile(folder_.path(prefix + ".bin"),
              testing::LittleIds(ids, index.width));
  }
  bool Recognizes(const TokenFormat& format, const std::string& name) {
    const auto found = FindPath(folder_.path(name));
    return found.ok() && format.recognizes(*found);
  }

  const TempDir folder_;
};

TEST_F(MegatronTest, TokensDocumentsAndWindowsAreThoseWritten) {
  MegatronIndex index;
  for (int i = 0; i < 300; ++i) index.lengths.push_back(i * 7 % 23);
  index.documents.emplace();
  for (int i = 0; i <= 300; ++i) index.documents->push_back(i);
  const std::vector<uint64_t> ends = EndsOf(index.lengths);
  const std::vector<uint32_t> ids = MadeIds(ends.back(), 120, 1);
  for (const testing::CodedType& type : testing::kCodedTypes) {
    index.code = type.code;
    index.width = type.width;
    Write("x", index, ids);
    ASSERT_OK_AND_ASSIGN(const auto source,
                         OpenWith(kMegatronFormat, folder_.path("x.idx")));
    EXPECT_EQ(StoredTypeName(source->stored_type()), type.name);
    testing::ExpectTokens(*source, ids);
    testing::ExpectDocuments(*source, ends);
    testing::ExpectWindows(*source, ids, {ids.size()}, false, 32);
    EXPECT_EQ(source->arrays().size(), 1u);
    EXPECT_EQ(source->num_bytes(),
              index.Bytes().size() + ids.size() * type.width);
    EXPECT_THAT(source->DocumentName(7), IsOkAndHolds(""));
  }
}

TEST_F(MegatronTest, SequencesMakeUpDocuments) {
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout,
                       LayOutMegatron(SmallMegatron()));
  EXPECT_EQ(layout.format, "megatron");
  EXPECT_THAT(layout.warnings, IsEmpty());
  const DocumentTable& documents = *layout.documents;
  ASSERT_EQ(documents.ends().size(), 4u);
  std::vector<uint64_t> lengths;
  for (uint64_t d = 0; d < 4; ++d)
    lengths.push_back(documents.ends().Length(d));
  EXPECT_THAT(lengths, ElementsAre(3, 0, 5, 5));
  EXPECT_THAT(documents.Name(0), IsOkAndHolds("document 0, sequence 0"));
  EXPECT_THAT(documents.Name(1), IsOkAndHolds("document 1, no sequence"));
  EXPECT_THAT(documents.Name(2), IsOkAndHolds("document 2, sequences 1 to 2"));
  EXPECT_THAT(documents.Name(3), IsOkAndHolds("document 3, sequences 3 to 4"));
}

TEST_F(MegatronTest, SequencesPastTheListOfDocumentsAreADocumentEach) {
  for (const std::vector<int64_t>& list :
       {std::vector<int64_t>{}, {0}, {0, 2}}) {
    MegatronIndex index = SmallMegatron();
    index.documents = list;
    ASSERT_OK_AND_ASSIGN(const TokenLayout layout, LayOutMegatron(index));
    const uint64_t listed = list.size() == 2 ? 1 : 0;
    EXPECT_EQ(layout.documents->ends().size(), listed + 5 - 2 * listed);
    EXPECT_EQ(layout.documents->ends().total(), 13u);
    EXPECT_THAT(layout.warnings,
                ElementsAre(HasSubstr(absl::StrCat(
                    "at byte 94 ends at sequence ", 2 * listed, " of 5"))));
  }
}

TEST_F(MegatronTest, ModesOfSequencesMayFollow) {
  MegatronIndex index = SmallMegatron();
  index.modes = {0, 1, 0, 1, 1};
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, LayOutMegatron(index));
  EXPECT_EQ(layout.documents->ends().size(), 4u);
  EXPECT_THAT(layout.warnings,
              ElementsAre(HasSubstr(
                  "'x.idx': 3 of 5 sequences have another mode than 0, the "
                  "first is sequence 1 (1, byte 135)")));
  index.modes.pop_back();
  EXPECT_THAT(LayOutMegatron(index), StatusIs(absl::StatusCode::kDataLoss,
                                              HasSubstr("has 138 bytes")));
}

TEST_F(MegatronTest, ModesOfTextAloneAreNoWarning) {
  MegatronIndex index = SmallMegatron();
  index.modes = {0, 0, 0, 0, 0};
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, LayOutMegatron(index));
  EXPECT_THAT(layout.warnings, IsEmpty());
}

TEST_F(MegatronTest, ModesFarIntoALongListAreFound) {
  MegatronIndex index;
  index.lengths.assign(200'001, 1);
  index.documents = {{0, 200'001}};
  index.modes.assign(200'001, 0);
  index.modes[131'072] = -3;
  index.modes[200'000] = 2;
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, LayOutMegatron(index));
  EXPECT_THAT(layout.warnings,
              ElementsAre(HasSubstr("2 of 200001 sequences have another mode "
                                    "than 0, the first is sequence 131072 (-3, "
                                    "byte ")));
}

TEST_F(MegatronTest, NothingIsADatasetToo) {
  MegatronIndex index;
  index.documents = {{0}};
  Write("x", index, {});
  ASSERT_OK_AND_ASSIGN(const auto megatron,
                       OpenWith(kMegatronFormat, folder_.path("x.idx")));
  EXPECT_EQ(megatron->num_tokens(), 0u);
  EXPECT_EQ(megatron->num_documents(), 0u);
  index.documents.reset();
  Write("y", index, {});
  ASSERT_OK_AND_ASSIGN(const auto fairseq,
                       OpenWith(kFairseqFormat, folder_.path("y.idx")));
  EXPECT_EQ(fairseq->num_tokens(), 0u);
  EXPECT_TRUE(Recognizes(kFairseqFormat, "y.idx"));
}

TEST_F(MegatronTest, FairseqIsToldByTheSizeOfItsIndex) {
  MegatronIndex index = SmallMegatron();
  index.documents.reset();
  index.code = 9;
  index.width = 4;
  const std::vector<uint32_t> ids = MadeIds(13, 100000, 2);
  Write("train", index, ids);
  for (const char* name : {"train.idx", "train.bin", ""}) {
    EXPECT_TRUE(Recognizes(kFairseqFormat, name)) << name;
    EXPECT_FALSE(Recognizes(kMegatronFormat, name)) << name;
  }
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenWith(kFairseqFormat, folder_.path("train.bin")));
  testing::ExpectTokens(*source, ids);
  testing::ExpectDocuments(*source, EndsOf(index.lengths));
  testing::ExpectWindows(*source, ids, {13}, true, 4);
  TokenSourceOptions options;
  options.format = "megatron";
  EXPECT_THAT(OpenWith(kMegatronFormat, folder_.path("train.bin"), options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("is of the format 'fairseq', stated was "
                                 "'megatron'")));
}

TEST_F(MegatronTest, EveryNameOfADatasetFindsIt) {
  const std::vector<uint32_t> ids = MadeIds(13, 60000, 3);
  Write("x_text_document", SmallMegatron(), ids);
  for (const char* name : {"x_text_document.idx", "x_text_document.bin", ""}) {
    EXPECT_TRUE(Recognizes(kMegatronFormat, name)) << name;
    ASSERT_OK_AND_ASSIGN(const auto source,
                         OpenWith(kMegatronFormat, folder_.path(name)));
    testing::ExpectTokens(*source, ids);
  }
  EXPECT_EQ(IndexOfPrefix(folder_.path("x_text_document")),
            folder_.path("x_text_document.idx"));
  EXPECT_EQ(IndexOfPrefix(folder_.path("x")), std::nullopt);
  WriteFile(folder_.path("alone.bin"), "MMIDIDX");
  WriteFile(folder_.path("y.bin"), "ids");
  WriteFile(folder_.path("y.idx"), "no index");
  EXPECT_FALSE(Recognizes(kMegatronFormat, "alone.bin"));
  EXPECT_FALSE(Recognizes(kMegatronFormat, "y.bin"));
}

TEST_F(MegatronTest, OfAFolderOfSeveralOneIsChosen) {
  Write("train", SmallMegatron(), MadeIds(13, 60000, 4));
  Write("valid", SmallMegatron(), MadeIds(13, 60000, 5));
  EXPECT_TRUE(Recognizes(kMegatronFormat, ""));
  EXPECT_THAT(OpenWith(kMegatronFormat, folder_.path()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("holds 2 datasets, 'train.idx' and "
                                 "'valid.idx' among them; name one")));
  TokenSourceOptions options;
  options.glob = "valid*";
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenWith(kMegatronFormat, folder_.path(), options));
  testing::ExpectTokens(*source, MadeIds(13, 60000, 5));
  options.glob = "test*";
  EXPECT_THAT(OpenWith(kMegatronFormat, folder_.path(), options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("holds no .idx that matches 'test*'")));
}

// As megatron-core 0.6 to 0.14 leave it under NumPy 2 after merging: sums of 32
// bits, below zero past 2 GiB, above zero again and wrong past 4 GiB.
TEST_F(MegatronTest, PlacesThatOverflowedAreNotUsed) {
  MegatronIndex index;
  index.lengths = {1000000000, 500000000, 600000000, 7, 1000000000};
  index.documents = {{0, 1, 2, 3, 4, 5}};
  index.places = {{0, 2000000000, -1294967296, -94967296, -94967282}};
  const auto layout = LayOutMegatron(index);
  ASSERT_THAT(layout, IsOk());
  EXPECT_THAT(
      layout->warnings,
      ElementsAre(AllOf(
          HasSubstr("sequence 2 is said to lie at -1294967296, byte 70"),
          HasSubstr("by the lengths it lies at 3000000000"),
          HasSubstr("3 of 5 are wrong, as sums of 32 bits are (Megatron-LM "
                    "issue 1672)"))));
  index.lengths.push_back(3);
  index.documents->push_back(6);
  index.places->push_back(1905032718);
  const auto longer = LayOutMegatron(index);
  ASSERT_THAT(longer, IsOk());
  EXPECT_EQ(longer->documents->ends().Begin(5), 3100000007u);
  EXPECT_THAT(longer->warnings,
              ElementsAre(HasSubstr("4 of 6 are wrong, as sums of 32 bits")));
}

TEST_F(MegatronTest, PlacesThatOverflowedWithoutASignAreNotUsed) {
  MegatronIndex index;
  index.lengths = {1000000000, 1000000000, 1000000000, 7};
  index.documents = {{0, 1, 2, 3, 4}};
  index.places = {{0, 2000000000, 4000000000, 1705032704}};
  auto layout = LayOutMegatron(index);
  ASSERT_THAT(layout, IsOk());
  EXPECT_THAT(layout->warnings,
              ElementsAre(HasSubstr("1 of 4 are wrong, as sums of 32 bits")));
  // Sums of one index have all a sign, or none has.
  index.lengths.insert(index.lengths.end(), {500000000, 3});
  index.documents = {{0, 6}};
  index.places = {
      {0, 2000000000, -294967296, 1705032704, 1705032718, -1589934578}};
  EXPECT_THAT(LayOutMegatron(index), IsOk());
  index.places->back() = 2705032718;
  EXPECT_THAT(LayOutMegatron(index),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("4 of 6 are wrong: it is damaged")));
}

TEST_F(MegatronTest, OtherWrongPlacesAreDataLoss) {
  MegatronIndex index = SmallMegatron();
  index.places = {{0, 6, 6, 17, 18}};
  EXPECT_THAT(LayOutMegatron(index),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("sequence 3 is said to lie at 17, byte "
                                       "78, but by the lengths it lies at 16; "
                                       "1 of 5 are wrong:"),
                             Not(HasSubstr("1672")))));
  // Sequences in another order, as the places say.
  index.lengths = {5, 10};
  index.documents = {{0, 1, 2}};
  index.places = {{20, 0}};
  EXPECT_THAT(LayOutMegatron(index),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("its sequences do not follow each other")));
}

// Its size is then that of Fairseq's, and here the lengths that are read match
// the ids as well.
TEST_F(MegatronTest, AnIndexCutToTheSizeOfFairseqsIsFound) {
  EXPECT_THAT(LayOutMegatron(SmallMegatron().Bytes().substr(0, 86), 26),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("or is Megatron's and was cut short")));
}

TEST_F(MegatronTest, WhatCannotBeReadSaysWhy) {
  using absl::StatusCode;
  const auto fails = [](const MegatronIndex& index, uint64_t bytes,
                        StatusCode code, const std::string& message) {
    EXPECT_THAT(LayOutMegatron(index.Bytes(), bytes),
                StatusIs(code, HasSubstr(message)));
  };
  fails(SmallMegatron(), 24, StatusCode::kDataLoss,
        "its first 5 sequences have 13 tokens, 'x.bin' holds 12");
  fails(SmallMegatron(), 28, StatusCode::kDataLoss,
        "its first 5 sequences have 13 tokens, 'x.bin' holds 14");
  fails(SmallMegatron(), 25, StatusCode::kDataLoss,
        "25 bytes of ids are no whole number of u16");
  MegatronIndex index = SmallMegatron();
  index.version = 2;
  fails(index, 26, StatusCode::kInvalidArgument, "version 2 at byte 9");
  index = SmallMegatron();
  index.code = 7;
  fails(index, 26, StatusCode::kInvalidArgument,
        "has 7 as the code of its type at byte 17, which means fractions");
  index.code = 11;
  fails(index, 26, StatusCode::kInvalidArgument, "has 11 as the code");
  index = SmallMegatron();
  index.lengths[2] = -5;
  fails(index, 26, StatusCode::kDataLoss,
        "sequence 2 has the length -5 at byte 42");
  index = SmallMegatron();
  index.documents = {{1, 5}};
  fails(index, 26, StatusCode::kDataLoss,
        "document 0 begins at sequence 1 at byte 94");
  index.documents = {{0, 3, 2, 5}};
  fails(index, 26, StatusCode::kDataLoss,
        "document 2 begins at sequence 2 at byte 110, the one before at 3");
  index.documents = {{0, 6}};
  fails(index, 26, StatusCode::kDataLoss, "document 1 begins at sequence 6");
  index.documents = {{0, -1}};
  fails(index, 26, StatusCode::kDataLoss, "document 1 begins at sequence -1");
  TokenSourceOptions options;
  options.dtype = StoredType::kI32;
  EXPECT_THAT(LayOutMegatron(SmallMegatron().Bytes(), 26, options),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("holds u16, stated was i32")));
}

TEST_F(MegatronTest, MissingIdsAreNamed) {
  WriteFile(folder_.path("x.idx"), SmallMegatron().Bytes());
  EXPECT_THAT(
      OpenWith(kMegatronFormat, folder_.path("x.idx")),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr(folder_.path("x.bin"))));
  WriteFile(folder_.path("renamed"), SmallMegatron().Bytes());
  EXPECT_TRUE(Recognizes(kMegatronFormat, "renamed"));
  EXPECT_THAT(OpenWith(kMegatronFormat, folder_.path("renamed")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("ends neither in .idx nor in .bin")));
}

TEST_F(MegatronTest, CountsThatNoFileHoldsAreDataLoss) {
  for (const size_t at : {18, 26}) {
    for (const uint64_t count :
         {uint64_t{1} << 32, uint64_t{1} << 61, (uint64_t{1} << 63) + 5,
          UINT64_MAX, UINT64_MAX / 12, UINT64_MAX / 8 + 2}) {
      std::string bytes = SmallMegatron().Bytes();
      bytes.replace(at, 8, testing::Little(count));
      EXPECT_THAT(LayOutMegatron(bytes, 26),
                  StatusIs(absl::StatusCode::kDataLoss,
                           HasSubstr(absl::StrCat(count))));
    }
  }
}

TEST_F(MegatronTest, AnIndexCutAnywhereIsRefused) {
  const std::string whole = SmallMegatron().Bytes();
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const auto layout = LayOutMegatron(whole.substr(0, bytes), 26);
    EXPECT_TRUE(absl::IsDataLoss(layout.status())) << bytes << layout.status();
  }
}

TEST_F(MegatronTest, AnyFlippedBitGivesAStatusOrALayoutWithinBounds) {
  const std::string whole = SmallMegatron().Bytes();
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    const auto layout = LayOutMegatron(bytes, 26);
    if (!layout.ok()) {
      EXPECT_THAT(std::string(layout.status().message()), HasSubstr("x."));
      continue;
    }
    ASSERT_EQ(layout->shards.size(), 1u);
    EXPECT_LE(layout->shards[0].tokens * StoredTypeBytes(layout->type), 26u);
    EXPECT_EQ(layout->documents->ends().total(), layout->shards[0].tokens);
  }
}

// Places past 4 GiB of a file that is mostly a hole.
TEST_F(MegatronTest, TokensPastFourGigabytesAreFound) {
  MegatronIndex index;
  index.lengths = {2000000000, 300000000, 5};
  index.documents = {{0, 1, 2, 3}};
  WriteFile(folder_.path("x.idx"), index.Bytes());
  WriteFile(folder_.path("x.bin"), "");
  ASSERT_EQ(::truncate(folder_.path("x.bin").c_str(), 4600000000), 0);
  {
    std::ofstream out(folder_.path("x.bin"), std::ios::binary | std::ios::app);
    out << testing::LittleIds({5, 6, 7, 8, 9}, 2);
  }
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenWith(kMegatronFormat, folder_.path("x.idx")));
  ASSERT_OK_AND_ASSIGN(const TokenRange last, source->DocumentRange(2));
  EXPECT_EQ(last, (TokenRange{2300000000, 2300000005}));
  ASSERT_OK_AND_ASSIGN(const auto ids,
                       RunBlocking(source->ReadTokens(last.begin, 5)));
  EXPECT_THAT(ids, ElementsAre(5, 6, 7, 8, 9));
}

}  // namespace
}  // namespace poniente::internal
