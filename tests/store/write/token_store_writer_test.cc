// SPDX-License-Identifier: Apache-2.0
#include "poniente/token_store_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using testing::ByteOptions;
using testing::Documents;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::NamesIn;
using testing::ProvenDocuments;
using testing::ReadStore;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteStore;

TEST(TokenStoreWriterTest, FactsAreThoseOfTheStore) {
  const TempDir folder;
  ASSERT_OK_AND_ASSIGN(
      const TokenStoreFacts facts,
      WriteStore(folder.path("s"), ProvenDocuments({7, 0, 90}, 257)));
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path("s")));
  EXPECT_EQ(facts.tokens, 97u);
  EXPECT_EQ(facts.documents, 3u);
  EXPECT_EQ(facts.token_type, TokenType::kU16);
  EXPECT_EQ(facts.fingerprint, store->fingerprint());
  uint64_t bytes = 0;
  for (const auto& name : NamesIn(folder.path("s"))) {
    bytes += std::filesystem::file_size(folder.path("s/" + name));
  }
  EXPECT_EQ(facts.bytes, bytes);
  EXPECT_EQ(store->num_bytes(), bytes);
}

TEST(TokenStoreWriterTest, TheLibraryIsRecordedAndNotPartOfTheFingerprint) {
  const TempDir folder;
  const Documents documents = ProvenDocuments({7, 0, 90}, 257);
  TokenStoreWriterOptions options = ByteOptions();
  ASSERT_OK_AND_ASSIGN(const TokenStoreFacts without,
                       WriteStore(folder.path("without"), documents, options));
  options.tokenizer_library = "mine 2.1";
  ASSERT_OK_AND_ASSIGN(const TokenStoreFacts with,
                       WriteStore(folder.path("with"), documents, options));
  EXPECT_EQ(with.fingerprint, without.fingerprint);
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path("with")));
  EXPECT_EQ(store->tokenizer_library(), "mine 2.1");
  ASSERT_OK_AND_ASSIGN(const auto old,
                       TokenStore::Open(folder.path("without")));
  EXPECT_EQ(old->tokenizer_library(), "");
  options.tokenizer_library = "\xff";
  EXPECT_THAT(WriteStore(folder.path("no"), documents, options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("tokenizer's library")));
}

TEST(TokenStoreWriterTest, MakesTheFoldersAboveIt) {
  const TempDir folder;
  const Documents documents = ProvenDocuments({5}, 257);
  ASSERT_THAT(WriteStore(folder.path("a/b/c/"), documents), IsOk());
  EXPECT_THAT(ReadStore(folder.path("a/b/c")), IsOkAndHolds(documents));
}

TEST(TokenStoreWriterTest, AnIdOutsideOfTheVocabularyIsNamedAndNotWritten) {
  const TempDir folder;
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       TokenStoreWriter::Create(folder.path(), ByteOptions()));
  ASSERT_THAT(writer->AddDocument(std::vector<uint32_t>{1}, "a"), IsOk());
  EXPECT_THAT(
      writer->AddDocument(std::vector<uint32_t>{256, 1, 257, 999}, "b"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("token 2 of document 1"), HasSubstr("id 257"),
                     HasSubstr("'bytes'"), HasSubstr("below 257"))));
  ASSERT_THAT(writer->BeginDocument("c"), IsOk());
  ASSERT_THAT(writer->Append(std::vector<uint32_t>{7, 8}), IsOk());
  EXPECT_THAT(writer->Append(std::vector<uint32_t>{9, 257}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("token 3 of document 1")));
  ASSERT_THAT(writer->EndDocument(), IsOk());
  ASSERT_THAT(writer->Finish(), IsOk());
  EXPECT_THAT(ReadStore(folder.path()),
              IsOkAndHolds(Documents{{"a", {1}}, {"c", {7, 8}}}));
}

TEST(TokenStoreWriterTest, BytesAreCheckedAgainstASmallVocabulary) {
  const TempDir folder;
  TokenStoreWriterOptions options;
  options.vocabulary = {"ascii", 128};
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       TokenStoreWriter::Create(folder.path(), options));
  ASSERT_THAT(writer->BeginDocument("a"), IsOk());
  ASSERT_THAT(writer->AppendBytes("ok"), IsOk());
  EXPECT_THAT(writer->AppendBytes("a\xc3"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("token 3 of document 0 is id 195")));
}

TEST(TokenStoreWriterTest, CallsOutOfTurnAreRefused) {
  const TempDir folder;
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       TokenStoreWriter::Create(folder.path(), ByteOptions()));
  const auto refused = [](const char* words) {
    return StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(words));
  };
  EXPECT_THAT(writer->Append({}), refused("Append without BeginDocument"));
  EXPECT_THAT(writer->EndDocument(), refused("EndDocument without"));
  ASSERT_THAT(writer->BeginDocument("a"), IsOk());
  EXPECT_THAT(writer->BeginDocument("b"), refused("while a document is open"));
  EXPECT_THAT(writer->AddDocument({}, "b"), refused("call EndDocument"));
  EXPECT_THAT(writer->Finish(), refused("Finish while a document is open"));
  ASSERT_THAT(writer->EndDocument(), IsOk());
  ASSERT_THAT(writer->Finish(), IsOk());
  EXPECT_THAT(writer->AddDocument({}, "b"), refused("after Finish"));
  EXPECT_THAT(writer->Finish(), refused("after Finish"));
}

struct OptionsCase {
  const char* name;
  TokenStoreWriterOptions options;
  const char* message;
};

TokenStoreWriterOptions With(auto change) {
  TokenStoreWriterOptions options = ByteOptions();
  change(options);
  return options;
}

class WriterOptionsTest : public ::testing::TestWithParam<OptionsCase> {};

TEST_P(WriterOptionsTest, AreRefusedAndLeaveNothing) {
  const TempDir folder;
  EXPECT_THAT(TokenStoreWriter::Create(folder.path("s"), GetParam().options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("/s'"), HasSubstr(GetParam().message))));
  EXPECT_THAT(NamesIn(folder.path()), IsEmpty());
}

using Options = TokenStoreWriterOptions;

INSTANTIATE_TEST_SUITE_P(
    Bad, WriterOptionsTest,
    ::testing::Values(
        OptionsCase{"NoVocabulary", {}, "name of the tokenizer"},
        OptionsCase{"NoUtf8",
                    With([](Options& o) { o.vocabulary.tokenizer = "\xff"; }),
                    "UTF-8"},
        OptionsCase{"NoIds", With([](Options& o) { o.vocabulary.size = 0; }),
                    "got 0"},
        OptionsCase{"TooManyIds", With([](Options& o) {
                      o.vocabulary.size = (1ull << 32) + 1;
                    }),
                    "1 to 2^32"},
        OptionsCase{"TooNarrow",
                    With([](Options& o) { o.token_type = TokenType::kU8; }),
                    "u8 holds ids up to 255, the vocabulary has 257"},
        OptionsCase{"SignedType",
                    With([](Options& o) { o.token_type = TokenType::kI32; }),
                    "not as i32"},
        OptionsCase{"EndOutside",
                    With([](Options& o) { o.end_of_document = 257; }),
                    "end-of-document id 257"},
        OptionsCase{"OddBlock", With([](Options& o) { o.block_bytes = 5000; }),
                    "got 5000"},
        OptionsCase{"SmallBlock",
                    With([](Options& o) { o.block_bytes = 2048; }),
                    "got 2048"}),
    [](const auto& case_info) { return case_info.param.name; });

TEST(TokenStoreWriterTest, ASecondWriterIsRefusedUntilTheFirstHasEnded) {
  const TempDir folder;
  auto first = TokenStoreWriter::Create(folder.path("s"), ByteOptions());
  ASSERT_THAT(first, IsOk());
  EXPECT_THAT(TokenStoreWriter::Create(folder.path("s"), ByteOptions()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(folder.path("s")),
                             HasSubstr("another writer"))));
  ASSERT_THAT((*first)->AddDocument(std::vector<uint32_t>{1}, "a"), IsOk());
  ASSERT_THAT((*first)->Finish(), IsOk());
  // The lock goes with Finish, not with the writer.
  EXPECT_THAT(WriteStore(folder.path("s"), {{"b", {2}}}), IsOk());
  EXPECT_THAT(ReadStore(folder.path("s")), IsOkAndHolds(Documents{{"b", {2}}}));
}

TEST(TokenStoreWriterTest, GivenUpItLeavesNoTrace) {
  const TempDir folder;
  {
    ASSERT_OK_AND_ASSIGN(
        const auto writer,
        TokenStoreWriter::Create(folder.path("s"), ByteOptions()));
    ASSERT_THAT(writer->AddDocument(std::vector<uint32_t>(5000000), "a"),
                IsOk());
    EXPECT_THAT(TokenStore::Open(folder.path("s")),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr("/s'")));
  }
  EXPECT_THAT(NamesIn(folder.path()), IsEmpty());
}

TEST(TokenStoreWriterTest, GivenUpItLeavesTheStoreThatWasThere) {
  const TempDir folder;
  const Documents documents = ProvenDocuments({100}, 257);
  ASSERT_THAT(WriteStore(folder.path(), documents), IsOk());
  const auto names = NamesIn(folder.path());
  {
    ASSERT_OK_AND_ASSIGN(const auto writer, TokenStoreWriter::Create(
                                                folder.path(), ByteOptions()));
    ASSERT_THAT(writer->BeginDocument("half"), IsOk());
    EXPECT_THAT(ReadStore(folder.path()), IsOkAndHolds(documents));
  }
  EXPECT_EQ(NamesIn(folder.path()), names);
  EXPECT_THAT(ReadStore(folder.path()), IsOkAndHolds(documents));
}

TEST(TokenStoreWriterTest, AReplacementHasTheNextGenerationAndNothingElse) {
  const TempDir folder;
  ASSERT_THAT(WriteStore(folder.path(), {{"a", {1}}}), IsOk());
  ASSERT_THAT(WriteStore(folder.path(), {{"b", {2}}}), IsOk());
  EXPECT_THAT(NamesIn(folder.path()),
              ElementsAre("checksums-2.bin", "documents-2.bin", "manifest.json",
                          "tokens-2.bin"));
}

TEST(TokenStoreWriterTest, RemovesWhatDeadWritersLeftAndNothingElse) {
  const TempDir folder;
  ASSERT_THAT(WriteStore(folder.path(), {{"a", {1}}}), IsOk());
  for (const char* name :
       {"tokens-2.bin", "documents-9.bin", "scratch-names", "writer.lock",
        "manifest.json.tmp", "tokens-02.bin", "tokens-x.bin", "notes.txt"}) {
    testing::WriteFile(folder.path(name), "left over");
  }
  const auto writer = TokenStoreWriter::Create(folder.path(), ByteOptions());
  ASSERT_THAT(writer, IsOk());
  EXPECT_THAT(
      NamesIn(folder.path()),
      ElementsAre("checksums-1.bin", "checksums-2.bin", "documents-1.bin",
                  "manifest.json", "notes.txt", "tokens-02.bin", "tokens-1.bin",
                  "tokens-2.bin", "tokens-x.bin", "writer.lock"));
}

TEST(TokenStoreWriterTest, ReplacesAStoreWhoseManifestCannotBeRead) {
  const TempDir folder;
  ASSERT_THAT(WriteStore(folder.path(), {{"a", {1}}}), IsOk());
  testing::WriteFile(folder.path("manifest.json"), "{");
  {
    // Not before it has something better, though.
    const auto writer = TokenStoreWriter::Create(folder.path(), ByteOptions());
    ASSERT_THAT(writer, IsOk());
    EXPECT_TRUE(std::filesystem::exists(folder.path("tokens-1.bin")));
  }
  ASSERT_THAT(WriteStore(folder.path(), {{"b", {2}}}), IsOk());
  EXPECT_THAT(ReadStore(folder.path()), IsOkAndHolds(Documents{{"b", {2}}}));
  EXPECT_FALSE(std::filesystem::exists(folder.path("tokens-1.bin")));
}

TEST(TokenStoreWriterTest, APathThatIsAFileIsRefused) {
  const TempDir folder;
  testing::WriteFile(folder.path("file"), "text");
  for (const std::string& path : {folder.path("file"), folder.path("file/s")}) {
    EXPECT_THAT(TokenStoreWriter::Create(path, ByteOptions()),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr(folder.path("file"))));
  }
  EXPECT_EQ(testing::ReadFile(folder.path("file")), "text");
}

TEST(TokenStoreWriterTest, APathWithoutRoomForAFolderSaysWhy) {
  EXPECT_THAT(TokenStoreWriter::Create("/proc/nowhere/s", ByteOptions()),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("/proc/nowhere': make folder")));
}

TEST(TokenStoreWriterTest, APieceAtATimeMakesTheSameStore) {
  const TempDir folder;
  std::mt19937_64 random(testing::TestSeed(33));
  const Documents documents = ProvenDocuments({1500000, 0, 1, 3000}, 256);
  ASSERT_OK_AND_ASSIGN(const TokenStoreFacts whole,
                       WriteStore(folder.path("whole"), documents));
  ASSERT_OK_AND_ASSIGN(
      const auto writer,
      TokenStoreWriter::Create(folder.path("pieces"), ByteOptions()));
  for (const auto& [name, ids, has_loss] : documents) {
    ASSERT_THAT(writer->BeginDocument(name), IsOk());
    for (size_t at = 0; at < ids.size();) {
      const size_t count = std::min<size_t>(ids.size() - at, random() % 300000);
      const auto piece = std::span(ids).subspan(at, count);
      if (random() % 2 == 0) {
        ASSERT_THAT(writer->Append(piece), IsOk());
      } else {
        ASSERT_THAT(
            writer->AppendBytes(std::string(piece.begin(), piece.end())),
            IsOk());
      }
      at += count;
    }
    ASSERT_THAT(writer->EndDocument(), IsOk());
  }
  ASSERT_OK_AND_ASSIGN(const TokenStoreFacts pieces, writer->Finish());
  EXPECT_EQ(pieces.fingerprint, whole.fingerprint);
  for (const std::string& name : NamesIn(folder.path("whole"))) {
    EXPECT_EQ(testing::ReadFile(folder.path("whole/" + name)),
              testing::ReadFile(folder.path("pieces/" + name)))
        << name;
  }
}

TEST(TokenStoreWriterTest, ManyDocumentsSpillAndComeBackInOrder) {
  const TempDir folder;
  constexpr uint64_t kDocuments = 300000;
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       TokenStoreWriter::Create(folder.path(), ByteOptions()));
  const auto name = [](uint64_t d) { return "name-" + std::to_string(d * d); };
  for (uint64_t d = 0; d < kDocuments; ++d) {
    const uint32_t id = testing::ProvenId(d, 0, 257);
    ASSERT_THAT(writer->AddDocument(std::span(&id, d % 2), name(d)), IsOk());
  }
  ASSERT_THAT(writer->Finish(), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  EXPECT_THAT(VerifyTokenStore(*store), IsOk());
  for (uint64_t d = 0; d < kDocuments; d += 997) {
    EXPECT_THAT(store->DocumentName(d), IsOkAndHolds(name(d)));
    EXPECT_THAT(store->DocumentRange(d),
                IsOkAndHolds(TokenRange{d / 2, d / 2 + d % 2}));
  }
  EXPECT_THAT(NamesIn(folder.path()),
              ElementsAre("checksums-1.bin", "documents-1.bin", "manifest.json",
                          "tokens-1.bin"));
}

// Sizes at which pages, blocks and buffers end, in bytes of u8 tokens.
class BoundaryTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(BoundaryTest, IsCheckedAndReadToTheLastToken) {
  for (const uint32_t block_bytes : {4096, 65536, 1 << 21}) {
    const TempDir folder;
    TokenStoreWriterOptions options;
    options.vocabulary = {"u8", 256};
    options.block_bytes = block_bytes;
    const Documents documents = ProvenDocuments({GetParam()}, 256);
    ASSERT_THAT(WriteStore(folder.path(), documents, options), IsOk());
    EXPECT_THAT(VerifyTokenStore(folder.path()), IsOk());
    EXPECT_TRUE(*ReadStore(folder.path()) == documents);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, BoundaryTest,
                         ::testing::Values(0, 1, 4095, 4096, 4097, 65535, 65536,
                                           65537, 1048567, 1048568, 1048575,
                                           1048576, 1048577, 2097152, 2097153));

}  // namespace
}  // namespace poniente
