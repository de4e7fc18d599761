// SPDX-License-Identifier: Apache-2.0
#include "store/manifest/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_replace.h"
#include "store/manifest/manifest_text.h"
#include "store/manifest/written_manifest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"
#include "util/crc32c.h"

namespace poniente::internal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::StatusIs;

StoreManifest Example() {
  StoreManifest manifest;
  manifest.generation = 7;
  manifest.vocabulary = {"llama \"3\"\n\xc3\xbc", 128256};
  manifest.token_type = TokenType::kU32;
  manifest.end_of_document = 128001;
  manifest.tokens = 5000;
  manifest.documents = 3;
  manifest.name_bytes = 11;
  manifest.block_bytes = 4096;
  manifest.checksums_crc32c = 0x0000abcd;
  manifest.fingerprint = 0x00000000deadbeef;
  manifest.tokenizer_library = "sentencepiece 0.1.97";
  manifest.tokenizer_model = {"/models/llama \\3.model", 0x0000beef};
  return manifest;
}

// A manifest in the compact form that its checksum covers, with its members in
// the order of their names; `members` begins after "checksum".
std::string Sealed(const std::string& before, const std::string& after) {
  const std::string covered = "{" + before + after + "}";
  char checksum[16];
  std::snprintf(checksum, sizeof(checksum), "%08x",
                Crc32c(std::as_bytes(std::span(covered))));
  return "{" + before + "\"checksum\":\"" + checksum + "\"," + after + "}";
}

constexpr char kBefore[] = R"("block_bytes":65536,)";
constexpr char kAfter[] =
    R"("documents":2,"end_of_document":null,"files":{)"
    R"("checksums":{"bytes":8,"crc32c":"00000001","name":"checksums-1.bin"},)"
    R"("documents":{"bytes":4096,"name":"documents-1.bin"},)"
    R"("tokens":{"bytes":4096,"name":"tokens-1.bin"}},)"
    R"("fingerprint":"0123456789abcdef","format":"poniente-token-store",)"
    R"("generation":1,"name_bytes":5,"token_type":"u8","tokenizer":"t",)"
    R"("tokens":9,"version":1,"vocab_size":256)";

TEST(ManifestTest, WhatIsEncodedIsParsed) {
  EXPECT_THAT(ParseManifest(EncodeManifest(Example())),
              IsOkAndHolds(Example()));
}

StoreManifest PlainExample() {
  StoreManifest manifest = Example();
  manifest.vocabulary.tokenizer = "llama {3}: a, b";
  manifest.tokenizer_model->path = "/models/llama {3}.model";
  return manifest;
}

TEST(ManifestTest, WhatIsEncodedIsReadWithoutAParserIfItIsPlain) {
  StoreManifest manifest = PlainExample();
  EXPECT_EQ(ReadWrittenManifest(EncodeManifest(manifest)), manifest);
  manifest.end_of_document.reset();
  EXPECT_EQ(ReadWrittenManifest(EncodeManifest(manifest)), manifest);
  manifest.end_of_document = 0;
  manifest.generation = UINT64_MAX;
  EXPECT_EQ(ReadWrittenManifest(EncodeManifest(manifest)), manifest);
  // Members that it may not have.
  manifest.tokenizer_library = "";
  EXPECT_EQ(ReadWrittenManifest(EncodeManifest(manifest)), manifest);
  manifest.tokenizer_model->path = "";
  EXPECT_EQ(ReadWrittenManifest(EncodeManifest(manifest)), manifest);
  manifest.tokenizer_library = "x";
  manifest.tokenizer_model.reset();
  EXPECT_EQ(ReadWrittenManifest(EncodeManifest(manifest)), manifest);
  manifest.has_loss_mask = true;
  EXPECT_EQ(ReadWrittenManifest(EncodeManifest(manifest)), manifest);
  // Others are left to the parser.
  const std::string text = EncodeManifest(Example());
  EXPECT_EQ(ReadWrittenManifest(text), std::nullopt);
  EXPECT_THAT(ParseManifest(text), IsOkAndHolds(Example()));
  EXPECT_EQ(ReadWrittenManifest(EncodeManifest(manifest) + "\n"), std::nullopt);
}

// A reader that does not know masks knows only version 1.
TEST(ManifestTest, AStoreWithALossMaskHasItsOwnVersionAndAFourthFile) {
  StoreManifest manifest = PlainExample();
  EXPECT_THAT(EncodeManifest(manifest), HasSubstr("\"version\": 1,"));
  EXPECT_EQ(manifest.FileBytes(StoreFile::kLossMask), 0u);
  const uint64_t checksums = manifest.FileBytes(StoreFile::kChecksums);
  manifest.has_loss_mask = true;
  const std::string text = EncodeManifest(manifest);
  EXPECT_THAT(text, AllOf(HasSubstr("\"version\": 2,"),
                          HasSubstr("\"name\": \"loss_mask-7.bin\"")));
  EXPECT_EQ(manifest.FileBytes(StoreFile::kLossMask), 4096u);
  EXPECT_EQ(manifest.FileBytes(StoreFile::kChecksums), checksums + 4);
  EXPECT_THAT(ParseManifest(text), IsOkAndHolds(manifest));
  for (const uint64_t tokens : {0, 1, 32768, 32769}) {
    manifest.tokens = tokens;
    EXPECT_EQ(manifest.FileBytes(StoreFile::kLossMask),
              (tokens + 32767) / 32768 * 4096);
  }
}

// The text without the line breaks in which the parser alone reads it.
absl::StatusOr<StoreManifest> ParseSlowly(const std::string& text) {
  return ParseManifest(absl::StrReplaceAll(text, {{"\n", " "}}));
}

// Any change, also under a checksum that covers it: both readers say the same.
TEST(ManifestTest, BothReadersAgreeOnChangedTexts) {
  std::mt19937_64 random(testing::TestSeed(3));
  StoreManifest masked = PlainExample();
  masked.has_loss_mask = true;
  const std::string two[] = {EncodeManifest(PlainExample()),
                             EncodeManifest(masked)};
  const std::vector<std::string> parts = {
      "0", "1", "00",   "-",   "null", "\"", "u8", ",", "a",
      " ", "}", "9999", "u16", "f",    "A",  "\\", "é", "."};
  int accepted = 0;
  for (int turn = 0; turn < 20'000; ++turn) {
    std::string text = two[turn % 2];
    const size_t changes = random() % 3;
    for (size_t i = 0; i < changes; ++i) {
      const std::string& part = parts[random() % parts.size()];
      const size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text.insert(at, part);
      } else {
        text.replace(at, part.size(), part);
      }
    }
    // What the compact text would be, if it is one.
    constexpr char kKey[] = "\"checksum\": \"";
    const size_t key = text.find(kKey);
    if (key != std::string::npos && key + 26 < text.size()) {
      std::string compact = text.substr(0, key) + text.substr(key + 24);
      std::string kept;
      bool in_string = false;
      for (const char c : compact) {
        if (c == '"') in_string = !in_string;
        if (in_string || (c != ' ' && c != '\n')) kept.push_back(c);
      }
      char checksum[16];
      std::snprintf(checksum, sizeof checksum, "%08x",
                    Crc32c(std::as_bytes(std::span(kept))));
      text.replace(key + sizeof kKey - 1, 8, checksum);
    }
    const auto quick = ReadWrittenManifest(text);
    const auto slow = ParseSlowly(text);
    if (quick.has_value()) {
      ++accepted;
      ASSERT_THAT(slow, IsOkAndHolds(*quick)) << text;
    }
  }
  EXPECT_GT(accepted, 5000);
}

TEST(ManifestTest, SizesFollowFromTheCounts) {
  const StoreManifest manifest = Example();
  EXPECT_EQ(manifest.FileBytes(StoreFile::kTokens), 20480u);    // 5 pages
  EXPECT_EQ(manifest.FileBytes(StoreFile::kDocuments), 4096u);  // 59 bytes
  EXPECT_EQ(manifest.FileBytes(StoreFile::kChecksums), 4u * (5 + 1));
}

TEST(ManifestTest, ATextWrittenByHandIsParsed) {
  const auto manifest = ParseManifest(Sealed(kBefore, kAfter));
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->tokens, 9u);
  EXPECT_EQ(manifest->vocabulary, (Vocabulary{"t", 256}));
  EXPECT_EQ(manifest->end_of_document, std::nullopt);
  EXPECT_EQ(manifest->fingerprint, 0x0123456789abcdefu);
  EXPECT_EQ(manifest->checksums_crc32c, 1u);
  EXPECT_EQ(manifest->tokenizer_library, "");
  EXPECT_EQ(manifest->tokenizer_model, std::nullopt);
}

constexpr char kTokenizer[] = R"("tokenizer":"t",)";

// kAfter, with members behind the tokenizer.
std::string AfterWith(const std::string& members) {
  return absl::StrReplaceAll(kAfter, {{kTokenizer, kTokenizer + members}});
}

TEST(ManifestTest, TheOriginOfTheIdsIsParsed) {
  const auto manifest = ParseManifest(
      Sealed(kBefore, AfterWith(R"("tokenizer_library":"lib 1",)"
                                R"("tokenizer_model":{"crc32c":"0000002a",)"
                                R"("path":"/m","zeta":1},)")));
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->tokenizer_library, "lib 1");
  EXPECT_EQ(manifest->tokenizer_model, (TokenizerModel{"/m", 42}));
}

TEST(ManifestTest, AWrongOriginIsRefusedWithTheMembersName) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("tokenizer_library":"",)", "'tokenizer_library' is empty"},
      {R"("tokenizer_library":1,)", "'tokenizer_library' is not a string"},
      {R"("tokenizer_model":null,)", "'tokenizer_model' is not an object"},
      {R"("tokenizer_model":{"path":"/m"},)", "'tokenizer_model.crc32c' is"},
      {R"("tokenizer_model":{"crc32c":"2a","path":"/m"},)",
       "'tokenizer_model.crc32c' is not 8"},
      {R"("tokenizer_model":{"crc32c":"0000002a"},)",
       "'tokenizer_model.path' is missing"}};
  for (const auto& [members, message] : cases) {
    EXPECT_THAT(ParseManifest(Sealed(kBefore, AfterWith(members))),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(message)));
  }
  const std::string much(1025, 'x');
  EXPECT_THAT(
      ParseManifest(Sealed(
          kBefore, AfterWith("\"tokenizer_library\":\"" + much + "\","))),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("at most 1024 bytes")));
}

TEST(ManifestTest, APathThatAManifestCannotHoldIsNotRecorded) {
  EXPECT_EQ(ModelToRecord("/m/\xc3\xbc.model", 7),
            (TokenizerModel{"/m/\xc3\xbc.model", 7}));
  EXPECT_EQ(ModelToRecord("/m/\xff.model", 7), (TokenizerModel{"", 7}));
  EXPECT_EQ(ModelToRecord(std::string(4097, 'm'), 7), (TokenizerModel{"", 7}));
}

TEST(ManifestTest, WhiteSpaceIsOfNoMeaning) {
  const std::string text =
      absl::StrReplaceAll(EncodeManifest(Example()), {{"\n", "\r\n\t"}});
  EXPECT_THAT(ParseManifest(text), IsOkAndHolds(Example()));
}

TEST(ManifestTest, AnUnknownMemberIsIgnoredButCovered) {
  const std::string more = std::string(kAfter) + R"(,"zeta":[1,{"x":null}])";
  const std::string text = Sealed(kBefore, more);
  EXPECT_TRUE(ParseManifest(text).ok()) << ParseManifest(text).status();
  EXPECT_THAT(ParseManifest(absl::StrReplaceAll(text, {{"[1", "[2"}})),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("checksum")));
}

TEST(ManifestTest, AnyOtherValueOfAnyMemberIsNoticed) {
  const std::string text = Sealed(kBefore, kAfter);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] < '0' || text[i] > '9') continue;
    std::string changed = text;
    changed[i] = text[i] == '9' ? '8' : static_cast<char>(text[i] + 1);
    EXPECT_FALSE(ParseManifest(changed).ok()) << changed;
  }
}

TEST(ManifestTest, AnotherFormatOrVersionSaysSo) {
  EXPECT_THAT(ParseManifest(R"({"format":"zarr","version":3})"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'zarr'"),
                             HasSubstr("'poniente-token-store'"))));
  EXPECT_THAT(ParseManifest(R"({"format":"poniente-token-store","version":3})"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("version 3"),
                             HasSubstr("reads versions 1 and 2"))));
}

TEST(ManifestTest, DeepNestingIsRefusedNotFollowed) {
  const std::string deep(100000, '[');
  EXPECT_THAT(ParseManifest(deep), StatusIs(absl::StatusCode::kDataLoss,
                                            HasSubstr("nested too deeply")));
  std::string objects;
  for (int i = 0; i < 20000; ++i) objects += R"({"a":)";
  EXPECT_THAT(ParseManifest(objects),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("nested")));
}

TEST(ManifestTest, EveryPrefixIsRefused) {
  const std::string text = EncodeManifest(Example());
  for (size_t size = 0; size + 2 < text.size(); ++size) {
    EXPECT_FALSE(ParseManifest(text.substr(0, size)).ok()) << size;
  }
}

// Manifests whose checksum is right and whose content is not.
struct BadCase {
  const char* from;
  const char* to;
  const char* message;
};

class BadManifestTest : public ::testing::TestWithParam<BadCase> {};

TEST_P(BadManifestTest, IsRefusedWithTheMembersName) {
  const auto& [from, to, message] = GetParam();
  const std::string before = absl::StrReplaceAll(kBefore, {{from, to}});
  const std::string after = absl::StrReplaceAll(kAfter, {{from, to}});
  ASSERT_NE(before + after, std::string(kBefore) + kAfter);
  EXPECT_THAT(ParseManifest(Sealed(before, after)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(message)));
}

INSTANTIATE_TEST_SUITE_P(
    Members, BadManifestTest,
    ::testing::Values(
        BadCase{"65536", "65537", "power of two"},
        BadCase{"65536", "2048", "'block_bytes' is 2048"},
        BadCase{"\"tokens\":9", "\"tokens\":-9", "'tokens' is not a whole"},
        BadCase{"\"tokens\":9", "\"tokens\":9.0", "'tokens' is not a whole"},
        BadCase{"\"tokens\":9", "\"tokens\":\"9\"", "'tokens' is not a whole"},
        BadCase{"\"tokens\":9", "\"tokens\":5000", "'files.tokens.bytes'"},
        BadCase{"\"tokens\":9", "\"tokens\":18446744073709551615", "'tokens'"},
        BadCase{"\"tokens\":9,", "", "'tokens' is missing"},
        BadCase{"\"documents\":2", "\"documents\":0", "no documents"},
        BadCase{"\"generation\":1", "\"generation\":0", "'generation' is 0"},
        BadCase{"\"generation\":1", "\"generation\":2", "'files.tokens.name'"},
        BadCase{"\"vocab_size\":256", "\"vocab_size\":257", "u8 holds ids up"},
        BadCase{"\"vocab_size\":256", "\"vocab_size\":0", "'vocab_size' is 0"},
        BadCase{"\"u8\"", "\"i64\"", "not as i64"},
        BadCase{"\"u8\"", "\"f32\"", "unknown token type 'f32'"},
        BadCase{"\"u8\"", "8", "'token_type' is not a string"},
        BadCase{"\"tokenizer\":\"t\"", "\"tokenizer\":\"\"", "tokenizer"},
        BadCase{"null", "256", "end-of-document id 256"},
        BadCase{"null", "\"x\"", "'end_of_document' is not a whole"},
        BadCase{"tokens-1.bin", "../tokens-1.bin", "'files.tokens.name'"},
        BadCase{"0123456789abcdef", "0123456789ABCDEF", "'fingerprint'"},
        BadCase{"0123456789abcdef", "123456789abcdef", "'fingerprint'"},
        BadCase{"\"crc32c\":\"00000001\",", "", "'files.checksums.crc32c'"},
        BadCase{"\"bytes\":8", "\"bytes\":12", "'files.checksums.bytes'"}));

}  // namespace
}  // namespace poniente::internal
