// SPDX-License-Identifier: Apache-2.0
// Scores, bitmaps and lists in files, whole, malformed, and cut at every byte.

#include "poniente/score_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteFile;

using testing::kDataLoss;
using testing::kInvalid;

template <class T>
std::string Bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()),
          values.size() * sizeof(T)};
}

// As numpy.save writes it.
std::string Npy(int version, const std::string& dictionary,
                const std::string& data) {
  std::string head = "\x93NUMPY";
  head += static_cast<char>(version);
  head += '\0';
  const size_t length_bytes = version == 1 ? 2 : 4;
  std::string text = dictionary;
  while ((head.size() + length_bytes + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  const auto length = static_cast<uint32_t>(text.size());
  head.append(reinterpret_cast<const char*>(&length), length_bytes);
  return head + text + data;
}

std::string Dictionary(const std::string& type, uint64_t count) {
  return "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" +
         std::to_string(count) + ",), }";
}

template <class T>
std::string NpyOf(const std::string& type, const std::vector<T>& values,
                  int version = 1) {
  return Npy(version, Dictionary(type, values.size()), Bytes(values));
}

std::vector<uint64_t> ItemsOf(const Selection& selection) {
  std::vector<uint64_t> items(selection.count());
  std::iota(items.begin(), items.end(), 0u);
  selection.Select(items, items);
  return items;
}

class ScoreFileTest : public ::testing::Test {
 protected:
  std::string File(const std::string& content,
                   const std::string& name = "file.npy") {
    WriteFile(folder_.path(name), content);
    return folder_.path(name);
  }

  const TempDir folder_;
};

const std::vector<float> kNarrow = {0.7f, -1.5f, 3, 0};
const std::vector<double> kWide = {0.7, -1.5, 3, 0};

TEST_F(ScoreFileTest, ReadsScoresOfEveryFormat) {
  for (int version = 1; version <= 3; ++version) {
    EXPECT_EQ(
        std::get<0>(ReadScores(File(NpyOf("<f4", kNarrow, version)))->values),
        kNarrow);
    EXPECT_EQ(
        std::get<1>(ReadScores(File(NpyOf("<f8", kWide, version)))->values),
        kWide);
  }
  const std::string narrow = File(Bytes(kNarrow), "s.f32");
  const std::string wide = File(Bytes(kWide), "s.f64");
  EXPECT_EQ(std::get<0>(ReadScores(narrow)->values), kNarrow);
  EXPECT_EQ(std::get<1>(ReadScores(wide)->values), kWide);
  EXPECT_EQ(
      std::get<0>(
          ReadScores(File(Bytes(kNarrow), "s"), ScoreFormat::kFloat32)->values),
      kNarrow);
  EXPECT_EQ(
      std::get<1>(
          ReadScores(File(Bytes(kWide), "s"), ScoreFormat::kFloat64)->values),
      kWide);
  EXPECT_EQ(ReadScores(File("", "s.f32"))->size(), 0u);
  EXPECT_EQ(ReadScores(File(NpyOf("<f4", std::vector<float>())))->size(), 0u);
}

TEST_F(ScoreFileTest, AcceptsHeadersThatMeanTheSame) {
  for (const char* dictionary :
       {"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }",
        "{\"shape\":(4,),\"fortran_order\":False,\"descr\":\"<f4\"}",
        "  { 'shape' : ( 4 , ) , 'descr' : '<f4' , 'fortran_order' : False }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4), }"}) {
    EXPECT_THAT(ReadScores(File(Npy(1, dictionary, Bytes(kNarrow)))), IsOk())
        << dictionary;
  }
}

TEST_F(ScoreFileTest, ThresholdsAreRoundedAsTheScoresWere) {
  const Scores narrow{kNarrow};
  const Scores wide{kWide};
  EXPECT_THAT(ItemsOf(*narrow.AtLeast(0.7)), ElementsAre(0, 2));
  EXPECT_THAT(ItemsOf(*wide.AtLeast(0.7)), ElementsAre(0, 2));
  const float inf = HUGE_VALF;
  const Scores ends{std::vector<float>{-inf, -3e38f, 3e38f, inf}};
  EXPECT_THAT(ItemsOf(*ends.AtLeast(1e300)), ElementsAre(3));
  EXPECT_THAT(ItemsOf(*ends.AtLeast(-1e300)), ElementsAre(1, 2, 3));
  EXPECT_THAT(ItemsOf(*ends.AtLeast(inf)), ElementsAre(3));
  EXPECT_THAT(ItemsOf(*ends.AtLeast(-inf)), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(narrow.AtLeast(std::nan("")), StatusIs(kInvalid, ::testing::_));
  EXPECT_THAT(wide.AtLeast(std::nan("")), StatusIs(kInvalid, ::testing::_));
  EXPECT_EQ(narrow.Order()->ItemAt(0), 1u);
  EXPECT_EQ(wide.Order(ScoreDirection::kDescending)->ItemAt(0), 2u);
}

TEST_F(ScoreFileTest, ScoresThatAreNoneAreRefused) {
  EXPECT_THAT(ReadScores(folder_.path("none")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
  EXPECT_THAT(ReadScores(folder_.path()),
              StatusIs(kInvalid, HasSubstr("directory")));
  EXPECT_THAT(ReadScores(File(Bytes(kNarrow), "s.bin")),
              StatusIs(kInvalid, AllOf(HasSubstr("s.bin"), HasSubstr(".f32"))));
  EXPECT_THAT(ReadScores(File("12345", "s.f32")),
              StatusIs(kDataLoss, HasSubstr("5 bytes, 1 too many")));
  EXPECT_THAT(ReadScores(File("123456789012", "s.f64")),
              StatusIs(kDataLoss, HasSubstr("12 bytes, 4 too many")));
  const std::vector<float> bad = {1, 2, std::nanf("")};
  EXPECT_THAT(ReadScores(File(Bytes(bad), "s.f32")),
              StatusIs(kInvalid, HasSubstr("score 2 at byte 8 is not a "
                                           "number")));
  EXPECT_THAT(ReadScores(File(NpyOf("<f4", bad))),
              StatusIs(kInvalid, HasSubstr("score 2 at byte 136 is not")));
  EXPECT_THAT(ReadScores(File(NpyOf("<u8", std::vector<uint64_t>{1}))),
              StatusIs(kInvalid, HasSubstr("kind 'u'")));
}

TEST_F(ScoreFileTest, HeadersThatSayAnythingElseAreRefused) {
  const auto read = [&](const std::string& dictionary) {
    return ReadScores(File(Npy(1, dictionary, Bytes(kNarrow))));
  };
  for (const auto& [dictionary, message] :
       std::vector<std::pair<std::string, std::string>>{
           {Dictionary(">f4", 4), "type '>f4'"},
           {Dictionary("<f2", 4), "type '<f2'"},
           {Dictionary("|O", 4), "type '|O'"},
           {Dictionary("", 4), "type ''"},
           {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': "
            "(4,), }",
            "several fields"},
           {"{'descr': '<f4', 'fortran_order': True, 'shape': (4,), }",
            "Fortran order"},
           {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (4,), }",
            "True or False"},
           {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }",
            "2 dimensions"},
           {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }",
            "0 dimensions"},
           {"{'descr': '<f4', 'fortran_order': False, 'shape': (-4,), }",
            "a count"},
           {"{'descr': '<f4', 'fortran_order': False, 'shape': "
            "(99999999999999999999999,), }",
            "below 2^60"},
           {"{'descr': '<f4', 'fortran_order': False}", "member 'shape'"},
           {"{'descr': '<f4', 'shape': (4,)}", "member 'fortran_order'"},
           {"{'fortran_order': False, 'shape': (4,)}", "member 'descr'"},
           {"{'colour': 3}", "'descr', 'fortran_order' or 'shape'"},
           {"{'descr'", "':'"},
           {"{'descr", "closing quote"},
           {"", "'{'"},
           {Dictionary("<f4", 4) + "x", "the end"}}) {
    EXPECT_THAT(
        read(dictionary),
        StatusIs(kInvalid, AllOf(HasSubstr(message), HasSubstr("file.npy"))))
        << dictionary;
  }
  EXPECT_THAT(read(Dictionary("<f4", 5)),
              StatusIs(kDataLoss, HasSubstr("144 bytes, expected 148")));
  EXPECT_THAT(read(Dictionary("<f4", 3)),
              StatusIs(kDataLoss, HasSubstr("144 bytes, expected 140")));
  EXPECT_THAT(read(Dictionary("<f4", uint64_t{1} << 58)),
              StatusIs(kDataLoss, HasSubstr("144 bytes, expected")));
  EXPECT_THAT(ReadScores(File(NpyOf("<f4", kNarrow, 4))),
              StatusIs(kInvalid, HasSubstr("format 4")));
  std::string endless = NpyOf("<f4", kNarrow, 2);
  endless[11] = '\x7f';
  EXPECT_THAT(ReadScores(File(endless)),
              StatusIs(kInvalid, HasSubstr("at most 65536")));
}

TEST_F(ScoreFileTest, ReadsIndexListsOfEveryIntegerType) {
  const std::vector<uint64_t> list = {7, 0, 99};
  const auto items = [&](const std::string& content) {
    const auto read = ReadIndexList(File(content), 100);
    EXPECT_THAT(read, IsOk());
    return read.ok() ? ItemsOf(*read) : std::vector<uint64_t>();
  };
  const auto as = [&]<class T>(T) {
    return std::vector<T>(list.begin(), list.end());
  };
  const auto expected = ElementsAre(0, 7, 99);
  EXPECT_THAT(items(Bytes(list)), expected);
  EXPECT_THAT(items(NpyOf("<u8", as(uint64_t{}))), expected);
  EXPECT_THAT(items(NpyOf("<i8", as(int64_t{}))), expected);
  EXPECT_THAT(items(NpyOf("<u4", as(uint32_t{}))), expected);
  EXPECT_THAT(items(NpyOf("<i4", as(int32_t{}))), expected);
  EXPECT_THAT(items(NpyOf("<u2", as(uint16_t{}))), expected);
  EXPECT_THAT(items(NpyOf("<i2", as(int16_t{}))), expected);
  EXPECT_THAT(items(NpyOf("|u1", as(uint8_t{}))), expected);
  EXPECT_THAT(items(NpyOf("|i1", as(int8_t{}))), expected);
  EXPECT_THAT(items(""), ElementsAre());
}

TEST_F(ScoreFileTest, IndexListsThatDoNotFitAreRefused) {
  const auto read = [&](const std::string& content) {
    return ReadIndexList(File(content), 100);
  };
  EXPECT_THAT(read(NpyOf("<i8", std::vector<int64_t>{5, -1})),
              StatusIs(kInvalid, HasSubstr("entry 1 at byte 136 is negative")));
  EXPECT_THAT(read(NpyOf("<i4", std::vector<int32_t>{-7})),
              StatusIs(kInvalid, HasSubstr("entry 0 at byte 128 is negative")));
  EXPECT_THAT(read(Bytes(std::vector<uint64_t>{100})),
              StatusIs(kInvalid, AllOf(HasSubstr("file.npy"),
                                       HasSubstr("is 100, the dataset has "
                                                 "100"))));
  EXPECT_THAT(read(Bytes(std::vector<uint64_t>{3, 3})),
              StatusIs(kInvalid, HasSubstr("second time")));
  EXPECT_THAT(read("1234567"), StatusIs(kDataLoss, HasSubstr("7 bytes")));
  EXPECT_THAT(read(NpyOf("|b1", std::vector<uint8_t>{1})),
              StatusIs(kInvalid, HasSubstr("ReadBitmap")));
  EXPECT_THAT(read(NpyOf("<f4", kNarrow)),
              StatusIs(kInvalid, HasSubstr("ReadScores")));
}

TEST_F(ScoreFileTest, ReadsBitmapsAndMasks) {
  const std::vector<uint64_t> words = {0x8000000000000001, 2};
  const auto expected = ElementsAre(0, 63, 65);
  EXPECT_THAT(ItemsOf(*ReadBitmap(File(Bytes(words)), 70)), expected);
  EXPECT_THAT(ItemsOf(*ReadBitmap(File(NpyOf("<u8", words)), 70)), expected);
  EXPECT_THAT(ItemsOf(*ReadBitmap(File(NpyOf("<i8", words)), 70)), expected);
  std::vector<uint8_t> mask(70);
  mask[0] = mask[63] = mask[65] = 1;
  EXPECT_THAT(ItemsOf(*ReadBitmap(File(NpyOf("|b1", mask)), 70)), expected);
  EXPECT_EQ(ReadBitmap(File(""), 0)->size(), 0u);
}

TEST_F(ScoreFileTest, BitmapsThatDoNotFitAreRefused) {
  const std::vector<uint64_t> words = {1, 2};
  EXPECT_THAT(ReadBitmap(File(Bytes(words)), 129),
              StatusIs(kInvalid, HasSubstr("holds 2 words of 64 bits, expected "
                                           "3 for the dataset's 129")));
  EXPECT_THAT(ReadBitmap(File(Bytes(words)), UINT64_MAX),
              StatusIs(kInvalid, HasSubstr("holds 2 words")));
  EXPECT_THAT(
      ReadBitmap(File(Bytes(words)), 65),
      StatusIs(kInvalid, AllOf(HasSubstr("bit 65"), HasSubstr("file.npy"))));
  EXPECT_THAT(ReadBitmap(File(NpyOf("|b1", std::vector<uint8_t>(9))), 10),
              StatusIs(kInvalid, HasSubstr("holds 9 bools, the dataset has "
                                           "10")));
  EXPECT_THAT(ReadBitmap(File(NpyOf("|b1", std::vector<uint8_t>{1, 0, 2})), 3),
              StatusIs(kDataLoss, HasSubstr("byte 130 is 2, expected 0 or 1")));
  EXPECT_THAT(ReadBitmap(File(NpyOf("<u4", std::vector<uint32_t>{1})), 10),
              StatusIs(kInvalid, HasSubstr("elements of 4 bytes")));
}

TEST_F(ScoreFileTest, CutAnywhereOrFlippedItIsAStatus) {
  const std::string whole = NpyOf("<f4", kNarrow, 2);
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto read = ReadScores(File(whole.substr(0, size)));
    ASSERT_FALSE(read.ok()) << size;
    ASSERT_THAT(std::string(read.status().message()), HasSubstr("file.npy"));
  }
  std::mt19937_64 random(testing::TestSeed(71));
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int i = 0; i < 8; ++i) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(random());
      const std::string path = File(flipped);
      (void)ReadScores(path);
      (void)ReadBitmap(path, 4);
      (void)ReadIndexList(path, 4);
    }
  }
}

}  // namespace
}  // namespace poniente
