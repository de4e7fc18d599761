// SPDX-License-Identifier: Apache-2.0
#include "store/catalog/catalog_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"
#include "util/crc32c.h"

namespace poniente::internal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Not;
using testing::StatusIs;

// What the writer makes of two stores, written by hand but for the checksums.
constexpr char kHead[] = "poniente-catalog\t2\t2\t";
constexpr char kColumns[] =
    "path\ttokenizer\ttokenizer_library\tvocab_size\ttoken_type\tend_of_"
    "document\ttokens\t"
    "documents\tname_bytes\tblock_bytes\tgeneration\tchecksums_crc32c\t"
    "fingerprint\tmanifest_bytes\tmanifest_crc32c\tmanifest_mtime_ns\t"
    "tokens_mtime_ns\tdocuments_mtime_ns\tchecksums_mtime_ns\t";
constexpr char kFirst[] =
    "a\\tb/\\\\\tby\\ntes\tl\\tib "
    "1\t257\tu16\t256\t9\t2\t17\t65536\t1\t9ba98335\t"
    "9922b6069d386e22\t581\t0000002a\t1700000000000000001\t2\t-3\t0\t";
constexpr char kSecond[] =
    "c\tllama\t\t4294967296\tu32\t-\t0\t0\t0\t4096\t18446744073709551615\t"
    "00000000\t0000000000000001\t600\tffffffff\t-9223372036854775808\t"
    "9223372036854775807\t1\t1\t";

// Each line followed by the checksum of all up to there.
std::string SealedCatalog(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line;
    char checksum[16];
    std::snprintf(checksum, sizeof checksum, "%08x\n",
                  Crc32c(std::as_bytes(std::span(text))));
    text += checksum;
  }
  return text;
}

std::string ExampleCatalog() {
  return SealedCatalog({kHead, kColumns, kFirst, kSecond});
}

TEST(CatalogTextTest, ATextWrittenByHandIsParsed) {
  const auto stores = ParseCatalog(ExampleCatalog());
  ASSERT_THAT(stores, IsOk());
  ASSERT_EQ(stores->size(), 2u);
  const KnownStore& first = stores->front();
  EXPECT_EQ(first.path, "a\tb/\\");
  EXPECT_EQ(first.manifest.vocabulary, (Vocabulary{"by\ntes", 257}));
  EXPECT_EQ(first.manifest.tokenizer_library, "l\tib 1");
  EXPECT_EQ(first.manifest.token_type, TokenType::kU16);
  EXPECT_EQ(first.manifest.end_of_document, 256u);
  EXPECT_EQ(first.manifest.tokens, 9u);
  EXPECT_EQ(first.manifest.documents, 2u);
  EXPECT_EQ(first.manifest.name_bytes, 17u);
  EXPECT_EQ(first.manifest.block_bytes, 65536u);
  EXPECT_EQ(first.manifest.generation, 1u);
  EXPECT_EQ(first.manifest.checksums_crc32c, 0x9ba98335u);
  EXPECT_EQ(first.manifest.fingerprint, 0x9922b6069d386e22u);
  EXPECT_EQ(first.manifest_file, (FileStamp{581, 1700000000000000001}));
  EXPECT_EQ(first.manifest_crc32c, 42u);
  EXPECT_EQ(*first.file_times_ns, (std::array<int64_t, 4>{2, -3, 0, 0}));
  const KnownStore& second = stores->back();
  EXPECT_EQ(second.manifest.vocabulary.size, uint64_t{1} << 32);
  EXPECT_EQ(second.manifest.tokenizer_library, "");
  EXPECT_EQ(second.manifest.end_of_document, std::nullopt);
  EXPECT_EQ(second.manifest.generation, UINT64_MAX);
  EXPECT_EQ(second.manifest_file.mtime_ns, INT64_MIN);
  EXPECT_EQ((*second.file_times_ns)[0], INT64_MAX);
}

TEST(CatalogTextTest, IsWrittenAsItWasRead) {
  const auto stores = ParseCatalog(ExampleCatalog());
  ASSERT_THAT(stores, IsOk());
  EXPECT_EQ(EncodeCatalog(*stores), ExampleCatalog());
  EXPECT_EQ(EncodeCatalog({}),
            SealedCatalog({"poniente-catalog\t2\t0\t", kColumns}));
}

std::string Replaced(const char* text, const char* from, const char* to) {
  return absl::StrReplaceAll(text, {{from, to}});
}

// Version 1 differs only in that it has no tokenizer_library.
TEST(CatalogTextTest, Version1StaysReadable) {
  const std::string columns = Replaced(kColumns, "tokenizer_library\t", "");
  const std::string first = Replaced(kFirst, "l\\tib 1\t", "");
  const auto stores =
      ParseCatalog(SealedCatalog({"poniente-catalog\t1\t1\t", columns, first}));
  ASSERT_THAT(stores, IsOk());
  auto expected = ParseCatalog(ExampleCatalog());
  ASSERT_THAT(expected, IsOk());
  expected->pop_back();
  expected->front().manifest.tokenizer_library = "";
  EXPECT_EQ(EncodeCatalog(*stores), EncodeCatalog(*expected));
  EXPECT_THAT(ParseCatalog(SealedCatalog(
                  {"poniente-catalog\t1\t1\t", kColumns, kFirst})),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("columns")));
}

TEST(CatalogTextTest, EveryOtherByteIsNoticedWithItsLine) {
  const std::string text = ExampleCatalog();
  int line = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    for (const char flip : {0x01, 0x10, 0x7f}) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      const auto parsed = ParseCatalog(changed);
      ASSERT_THAT(parsed, StatusIs(absl::StatusCode::kDataLoss,
                                   HasSubstr("poniente catalog")))
          << i;
      // The last byte of a line changed joins it to the next.
      ASSERT_THAT(std::string(parsed.status().message()),
                  HasSubstr("line " + std::to_string(line) + ":"))
          << i;
    }
    if (text[i] == '\n') ++line;
  }
}

TEST(CatalogTextTest, EveryPrefixIsRefused) {
  const std::string text = ExampleCatalog();
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_THAT(ParseCatalog(text.substr(0, size)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("line ")))
        << size;
  }
  EXPECT_THAT(ParseCatalog(text + "x"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("line 5")));
}

TEST(CatalogTextTest, LinesLeftOutRepeatedOrExchangedAreNoticed) {
  const std::vector<std::string> lines = absl::StrSplit(ExampleCatalog(), '\n');
  const auto joined = [&](std::vector<int> order) {
    std::string text;
    for (const int i : order) text += lines[static_cast<size_t>(i)] + "\n";
    return text;
  };
  EXPECT_THAT(ParseCatalog(joined({0, 1, 2, 3})), IsOk());
  for (const auto& order : std::vector<std::vector<int>>{
           {0, 1, 3, 2}, {0, 1, 2}, {0, 1, 3}, {0, 1, 2, 2, 3}, {0, 2, 3}}) {
    EXPECT_THAT(ParseCatalog(joined(order)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("line ")));
  }
}

// Texts whose checksums are right and whose content is not.
struct BadCatalog {
  const char* from;
  const char* to;
  const char* message;
};

class BadCatalogTest : public ::testing::TestWithParam<BadCatalog> {};

TEST_P(BadCatalogTest, IsRefusedWithTheLine) {
  const auto& [from, to, message] = GetParam();
  std::vector<std::string> lines = {kHead, kColumns, kFirst, kSecond};
  std::string where;
  for (size_t i = 0; i < lines.size() && where.empty(); ++i) {
    const std::string changed = absl::StrReplaceAll(lines[i], {{from, to}});
    if (changed != lines[i]) where = "line " + std::to_string(i + 1) + ":";
    lines[i] = changed;
  }
  ASSERT_FALSE(where.empty());
  EXPECT_THAT(ParseCatalog(SealedCatalog(lines)),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr(where), HasSubstr(message))));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, BadCatalogTest,
    ::testing::Values(
        BadCatalog{"poniente-catalog", "zarr", "does not begin"},
        BadCatalog{"\t2\t2\t", "\t2\t02\t", "its stores is wrong"},
        BadCatalog{"\t2\t2\t", "\t2\t2\t3\t", "its stores is wrong"},
        BadCatalog{"\t2\t2\t", "\t2\t18446744073709551616\t", "its stores"},
        BadCatalog{"path\t", "Path\t", "does not name the columns"},
        BadCatalog{"a\\tb/", "../b/", "its path is wrong"},
        BadCatalog{"a\\tb/", "/b/", "its path is wrong"},
        BadCatalog{"a\\tb/", "b//", "its path is wrong"},
        BadCatalog{"a\\tb/", "b/./", "its path is wrong"},
        BadCatalog{"a\\tb/", "b/../", "its path is wrong"},
        BadCatalog{"a\\tb/\\\\", "", "its path is wrong"},
        BadCatalog{"a\\tb/\\\\", "b/", "its path is wrong"},
        BadCatalog{"a\\tb/\\\\", "b\\x", "its path is wrong"},
        BadCatalog{"a\\tb/\\\\", "b\\", "its path is wrong"},
        BadCatalog{"a\\tb/\\\\", "b\r", "its path is wrong"},
        BadCatalog{"c\tllama", "a\tllama", "does not follow"},
        BadCatalog{"c\tllama", "a\\tb/\\\\\tllama", "does not follow"},
        BadCatalog{"by\\ntes", "", "tokenizer"},
        BadCatalog{"l\\tib 1", "\xff", "tokenizer's library must be"},
        BadCatalog{"l\\tib 1", "l\\", "its tokenizer_library is wrong"},
        BadCatalog{"by\\ntes", "\xff", "UTF-8"},
        BadCatalog{"\t257\t", "\t+257\t", "its vocab_size"},
        BadCatalog{"\t257\t", "\t0x57\t", "its vocab_size"},
        BadCatalog{"\t257\t", "\t0257\t", "its vocab_size"},
        BadCatalog{"\t257\t", "\t \t", "its vocab_size"},
        BadCatalog{"\t257\t", "\t0\t", "vocabulary size"},
        BadCatalog{"\t257\t", "\t65537\t9\t", "its token_type"},
        BadCatalog{"u16", "i64", "not as i64"},
        BadCatalog{"u16", "f32", "its token_type"},
        BadCatalog{"u16", "u8", "u8 holds ids up to 255"},
        BadCatalog{"u16\t256", "u16\t257", "end-of-document id 257"},
        BadCatalog{"u16\t256", "u16\t4294967296", "its end_of_document"},
        BadCatalog{"u16\t256", "u16\t--", "its end_of_document"},
        BadCatalog{"\t9\t2\t17", "\t1152921504606846977\t2\t17", "its range"},
        BadCatalog{"\t9\t2\t17", "\t9\t0\t17", "no documents"},
        BadCatalog{"\t65536\t1\t", "\t65537\t1\t", "power of two"},
        BadCatalog{"\t65536\t1\t", "\t65536\t0\t", "its range"},
        BadCatalog{"9ba98335", "9BA98335", "its checksums_crc32c"},
        BadCatalog{"9ba98335", "ba98335", "its checksums_crc32c"},
        BadCatalog{"9922b6069d386e22", "09922b6069d386e22", "its fingerprint"},
        BadCatalog{"\t581\t", "\t-581\t", "its manifest_bytes"},
        BadCatalog{"0000002a", "2a", "its manifest_crc32c"},
        BadCatalog{"\t2\t-3\t", "\t2\t-03\t", "its documents_mtime_ns"},
        BadCatalog{"\t2\t-3\t", "\t2\t-0\t", "its documents_mtime_ns"},
        BadCatalog{"\t2\t-3\t", "\t9223372036854775808\t-3\t",
                   "its tokens_mtime"},
        BadCatalog{"\t2\t-3\t0\t", "\t2\t-3\t", "its checksums_mtime_ns"},
        BadCatalog{"\t2\t-3\t0\t", "\t2\t-3\t0\t0\t",
                   "its checksums_mtime_ns"}));

TEST(CatalogTextTest, AnotherVersionSaysSo) {
  EXPECT_THAT(
      ParseCatalog(SealedCatalog({"poniente-catalog\t4\tanything\t"})),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("version 4"), HasSubstr("versions 1 to 3"))));
}

// Version 3 has one more column, and is written only if a store has a mask:
// a reader that does not know masks must not read such a store without it.
TEST(CatalogTextTest, AStoreWithALossMaskMakesItVersion3) {
  const std::string columns = std::string(kColumns) + "loss_mask_mtime_ns\t";
  const std::string text = SealedCatalog({Replaced(kHead, "\t2\t2", "\t3\t2"),
                                          columns, std::string(kFirst) + "-\t",
                                          std::string(kSecond) + "5\t"});
  const auto stores = ParseCatalog(text);
  ASSERT_THAT(stores, IsOk());
  EXPECT_FALSE(stores->front().manifest.has_loss_mask);
  EXPECT_TRUE(stores->back().manifest.has_loss_mask);
  EXPECT_EQ(stores->back().file_times_ns->back(), 5);
  EXPECT_EQ(EncodeCatalog(*stores), text);
  // One of the two columns is missing, or too many.
  EXPECT_THAT(ParseCatalog(SealedCatalog(
                  {Replaced(kHead, "\t2\t2", "\t3\t2"), columns, kFirst})),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("loss_mask_mtime_ns is wrong")));
  EXPECT_THAT(ParseCatalog(SealedCatalog(
                  {kHead, kColumns, std::string(kFirst) + "-\t"})),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("checksums_mtime_ns is wrong")));
}

TEST(CatalogTextTest, AHugeCountIsNotBelieved) {
  EXPECT_THAT(ParseCatalog(SealedCatalog(
                  {"poniente-catalog\t2\t18446744073709551615\t", kColumns})),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("line 3")));
}

// Fields of good lines mixed at random, under right checksums: what passes is
// what the writer would have written.
TEST(CatalogTextTest, WhatIsAcceptedIsWrittenTheSame) {
  std::mt19937_64 random(testing::TestSeed(11));
  const std::vector<std::string> parts = {
      "",   "0",   "-",     "1",    "-1",  "00",
      "u8", "u16", "u32",   "a",    "c/d", "..",
      "/",  "\\",  "\\n",   "4096", "256", "4294967296",
      "\t", "2a",  "bytes", "\r",   "\n",  "18446744073709551615"};
  int accepted = 0;
  for (int turn = 0; turn < 20'000; ++turn) {
    std::vector<std::string> fields = absl::StrSplit(kFirst, '\t');
    const size_t changes = random() % 3;
    for (size_t i = 0; i < changes; ++i) {
      std::string& field = fields[random() % fields.size()];
      const std::string& part = parts[random() % parts.size()];
      if (random() % 2 == 0) {
        field = part;
      } else {
        field.insert(random() % (field.size() + 1), part);
      }
    }
    std::string line = fields.front();
    for (size_t i = 1; i < fields.size(); ++i) line += "\t" + fields[i];
    const std::string text =
        SealedCatalog({"poniente-catalog\t2\t1\t", kColumns, line});
    const auto stores = ParseCatalog(text);
    if (!stores.ok()) continue;
    ++accepted;
    ASSERT_EQ(EncodeCatalog(*stores), text);
  }
  EXPECT_GT(accepted, 1000);
}

TEST(CatalogTextTest, BytesAtRandomAreRefused) {
  std::mt19937_64 random(testing::TestSeed(12));
  for (int turn = 0; turn < 20'000; ++turn) {
    std::string text = ExampleCatalog();
    const size_t changes = 1 + random() % 8;
    for (size_t i = 0; i < changes && !text.empty(); ++i) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 40);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
          break;
        default:
          text.resize(at);
      }
    }
    if (text != ExampleCatalog()) {
      ASSERT_THAT(ParseCatalog(text), Not(IsOk()));
    }
  }
}

}  // namespace
}  // namespace poniente::internal
