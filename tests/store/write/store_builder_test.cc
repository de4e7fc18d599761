// SPDX-License-Identifier: Apache-2.0
#include "store/write/store_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "store/write/encode_ids.h"
#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using testing::AllIds;
using testing::ByteOptions;
using testing::Documents;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::ProvenDocuments;
using testing::ReadFile;
using testing::StatusIs;
using testing::TempDir;
using testing::TestSeed;
using testing::TextDocument;

StoreManifest ByteManifest(
    uint32_t block_bytes = TokenStoreWriterOptions().block_bytes) {
  TokenStoreWriterOptions options = ByteOptions();
  options.block_bytes = block_bytes;
  return *ManifestToWrite("", options);
}

std::vector<std::byte> Encoded(const Documents& documents) {
  const std::vector<uint32_t> ids = AllIds(documents);
  std::vector<std::byte> bytes(2 * ids.size());
  EncodeIds(std::span<const uint32_t>(ids), 2, bytes.data());
  return bytes;
}

absl::Status AddDocuments(const Documents& documents, StoreBuilder* builder) {
  uint64_t end = 0;
  for (const TextDocument& document : documents) {
    const absl::Status begun = builder->BeginDocument(document.name);
    if (!begun.ok()) return begun;
    end += document.ids.size();
    const absl::Status ended = builder->EndDocument(end);
    if (!ended.ok()) return ended;
  }
  return absl::OkStatus();
}

void ExpectSameFiles(const std::string& one, const std::string& other) {
  for (const auto& entry : std::filesystem::directory_iterator(one)) {
    const std::string name = entry.path().filename();
    EXPECT_TRUE(ReadFile(entry.path()) == ReadFile(other + "/" + name)) << name;
  }
}

// Pieces of any size, written in any order and added in that of the file.
TEST(StoreBuilderTest, HowTheTokensAreCutDoesNotMatter) {
  std::mt19937_64 random(TestSeed(87));
  const Documents documents = ProvenDocuments({300000, 0, 7, 100001}, 257);
  const std::vector<std::byte> all = Encoded(documents);
  for (const uint32_t block_bytes : {4096, 65536, 1 << 18}) {
    for (const bool directly : {false, true}) {
      const TempDir folder;
      TokenStoreWriterOptions options = ByteOptions();
      options.block_bytes = block_bytes;
      ASSERT_THAT(testing::WriteStore(folder.path("whole"), documents, options),
                  IsOk());
      ASSERT_OK_AND_ASSIGN(
          const auto builder,
          StoreBuilder::Create(folder.path("s"), ByteManifest(block_bytes)));
      if (directly) {
        builder->WriteDirectly(0);
      }
      struct Piece {
        size_t begin, tokens;
        PieceChecksums checksums;
      };
      std::vector<Piece> pieces;
      for (size_t at = 0; at < all.size() / 2;) {
        const size_t tokens = std::min(all.size() / 2 - at, random() % 60000);
        pieces.push_back({at, tokens, {}});
        at += tokens;
      }
      std::vector<Piece*> order;
      for (Piece& piece : pieces) order.push_back(&piece);
      std::shuffle(order.begin(), order.end(), random);
      for (Piece* piece : order) {
        ASSERT_OK_AND_ASSIGN(
            piece->checksums,
            builder->WriteTokens(
                piece->begin,
                std::span(all).subspan(2 * piece->begin, 2 * piece->tokens)));
      }
      for (const Piece& piece : pieces) {
        ASSERT_THAT(builder->AddTokens(piece.checksums), IsOk());
      }
      ASSERT_THAT(AddDocuments(documents, builder.get()), IsOk());
      ASSERT_THAT(builder->Finish(), IsOk());
      ExpectSameFiles(folder.path("whole"), folder.path("s"));
    }
  }
}

// Writes the first `tokens` tokens, and saves.
void SaveAfter(const std::string& path, const std::vector<std::byte>& all,
               size_t tokens, bool directly) {
  ASSERT_OK_AND_ASSIGN(const auto builder,
                       StoreBuilder::CreateToSave(path, ByteManifest(),
                                                  [](auto) { return false; }));
  if (directly) {
    builder->WriteDirectly(0);
  }
  ASSERT_OK_AND_ASSIGN(
      const PieceChecksums checksums,
      builder->WriteTokens(0, std::span(all).first(2 * tokens)));
  ASSERT_THAT(builder->AddTokens(checksums), IsOk());
  ASSERT_THAT(builder->BeginDocument("a"), IsOk());
  ASSERT_OK_AND_ASSIGN(StoreCheckpoint mark, builder->Mark());
  mark.caller = "caller";
  ASSERT_THAT(builder->Save(mark), IsOk());
  // What lies behind the mark is not to be found again.
  ASSERT_THAT(builder->WriteTokens(tokens, std::vector<std::byte>(200000)),
              IsOk());
  ASSERT_THAT(builder->EndDocument(1), IsOk());
  ASSERT_THAT(builder->BeginDocument("b"), IsOk());
  ASSERT_THAT(builder->Mark(), IsOk());
  builder->KeepForLater();
}

// Tokens saved; whether those before and behind the mark are written past the
// page cache.
class SavedStoreTest
    : public ::testing::TestWithParam<std::tuple<size_t, bool, bool>> {};

TEST_P(SavedStoreTest, IsGoneOnWithFromTheMark) {
  const auto [saved, before, behind] = GetParam();
  const TempDir folder;
  const Documents documents = {{"a", ProvenDocuments({200000}, 257)[0].ids}};
  const std::vector<std::byte> all = Encoded(documents);
  ASSERT_THAT(testing::WriteStore(folder.path("whole"), documents), IsOk());
  SaveAfter(folder.path("s"), all, saved, before);
  ASSERT_OK_AND_ASSIGN(
      const auto builder,
      StoreBuilder::CreateToSave(folder.path("s"), ByteManifest(),
                                 [](auto who) { return who == "caller"; }));
  ASSERT_EQ(builder->manifest().tokens, saved);
  if (behind) {
    builder->WriteDirectly(0);
  }
  ASSERT_OK_AND_ASSIGN(
      const PieceChecksums checksums,
      builder->WriteTokens(saved, std::span(all).subspan(2 * saved)));
  ASSERT_THAT(builder->AddTokens(checksums), IsOk());
  ASSERT_THAT(builder->EndDocument(200000), IsOk());
  ASSERT_THAT(builder->Finish(), IsOk());
  ExpectSameFiles(folder.path("whole"), folder.path("s"));
}

INSTANTIATE_TEST_SUITE_P(
    Marks, SavedStoreTest,
    ::testing::Combine(::testing::Values(0, 1, 32767, 32768, 32769, 65536,
                                         199999, 200000),
                       ::testing::Bool(), ::testing::Bool()));

LossBits BitsOf(const std::vector<uint8_t>& mask, size_t begin, size_t end) {
  LossBits bits;
  bits.Append(std::span(mask).subspan(begin, end - begin));
  return bits;
}

// Writes tokens [begin, end), with their mask from `masked_from` on.
absl::Status AddMasked(const testing::TextDocument& document, size_t begin,
                       size_t end, size_t masked_from, StoreBuilder* builder) {
  const std::vector<std::byte> all = Encoded({document});
  const auto checksums = builder->WriteTokens(
      begin, std::span(all).subspan(2 * begin, 2 * (end - begin)));
  if (!checksums.ok()) return checksums.status();
  const absl::Status added = builder->AddTokens(*checksums);
  const size_t first = std::clamp(masked_from, begin, end);
  if (!added.ok() || first == end) return added;
  return builder->AddLossBits(first, BitsOf(*document.has_loss, first, end));
}

// Tokens saved, and the first token that has a mask.
class SavedMaskTest
    : public ::testing::TestWithParam<std::tuple<size_t, size_t>> {
 protected:
  static constexpr size_t kTokens = 100000;

  void SetUp() override {
    document_ = {"a", ProvenDocuments({kTokens}, 257)[0].ids};
    document_.has_loss.emplace(kTokens, 1);
    for (size_t t = masked_from(); t < kTokens; ++t) {
      (*document_.has_loss)[t] = testing::ProvenLoss(7, t);
    }
  }
  size_t saved() const { return std::get<0>(GetParam()); }
  size_t masked_from() const { return std::get<1>(GetParam()); }
  absl::StatusOr<std::unique_ptr<StoreBuilder>> Open(bool accepts) const {
    return StoreBuilder::CreateToSave(path(), ByteManifest(),
                                      [=](auto) { return accepts; });
  }
  // Saves a mark, then writes more, as a writer does that is killed later.
  absl::Status SaveAndDie() const {
    auto builder = Open(false);
    if (!builder.ok()) return builder.status();
    absl::Status done = (*builder)->BeginDocument("a");
    if (done.ok()) {
      done = AddMasked(document_, 0, saved(), masked_from(), builder->get());
    }
    if (!done.ok()) return done;
    const auto mark = (*builder)->Mark();
    if (!mark.ok()) return mark.status();
    done = (*builder)->Save(*mark);
    if (done.ok()) {
      done = AddMasked(document_, saved(), kTokens, saved(), builder->get());
    }
    if (!done.ok()) return done;
    const auto later = (*builder)->Mark();
    (*builder)->KeepForLater();
    return later.status();
  }
  std::string path() const { return folder_.path("s"); }

  const TempDir folder_;
  TextDocument document_;
};

TEST_P(SavedMaskTest, IsGoneOnWithFromTheMark) {
  ASSERT_THAT(testing::WriteStore(folder_.path("whole"), {document_}), IsOk());
  ASSERT_THAT(SaveAndDie(), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto builder, Open(true));
  ASSERT_EQ(builder->manifest().tokens, saved());
  ASSERT_THAT(
      AddMasked(document_, saved(), kTokens, masked_from(), builder.get()),
      IsOk());
  ASSERT_THAT(builder->EndDocument(kTokens), IsOk());
  ASSERT_THAT(builder->Finish(), IsOk());
  ExpectSameFiles(folder_.path("whole"), path());
  ExpectSameFiles(path(), folder_.path("whole"));
  EXPECT_THAT(VerifyTokenStore(path()), IsOk());
}

TEST_P(SavedMaskTest, ADamagedMaskIsNotGoneOnWith) {
  ASSERT_THAT(SaveAndDie(), IsOk());
  const std::string file = path() + "/loss_mask-1.bin";
  if (saved() < 8 || masked_from() >= saved()) return;  // not in the mark
  testing::FlipBit(file, saved() / 16);
  EXPECT_THAT(Open(true),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(file)));
}

INSTANTIATE_TEST_SUITE_P(
    Marks, SavedMaskTest,
    ::testing::Combine(::testing::Values(0, 1, 7, 8, 32768, 32771, 65536,
                                         99999),
                       ::testing::Values(0, 5, 32770, 99998)));

TEST(StoreBuilderTest, ASavedStoreThatNobodyWantsIsRemoved) {
  const TempDir folder;
  const Documents documents = ProvenDocuments({70000}, 257);
  const std::string path = folder.path("s");
  SaveAfter(path, Encoded(documents), 70000, false);
  // An ordinary writer knows nothing of it.
  ASSERT_THAT(testing::WriteStore(path, documents), IsOk());
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("scratch-"));
    ++files;
  }
  EXPECT_EQ(files, 4u);
}

TEST(StoreBuilderTest, ACheckpointThatIsRefusedStaysForAnotherAttempt) {
  const TempDir folder;
  const Documents documents = ProvenDocuments({70000}, 257);
  const std::string path = folder.path("s");
  SaveAfter(path, Encoded(documents), 70000, false);
  EXPECT_THAT(
      StoreBuilder::CreateToSave(
          path, ByteManifest(),
          [](auto) { return absl::FailedPreconditionError("another"); }),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another")));
  ASSERT_OK_AND_ASSIGN(
      const auto builder,
      StoreBuilder::CreateToSave(path, ByteManifest(),
                                 [](auto who) { return who == "caller"; }));
  EXPECT_EQ(builder->manifest().tokens, 70000u);
}

TEST(StoreBuilderTest, ACheckpointThatWasCommittedIsNotGoneOnWith) {
  const TempDir folder;
  const Documents documents = ProvenDocuments({70000}, 257);
  const std::string path = folder.path("s");
  SaveAfter(path, Encoded(documents), 70000, false);
  const std::string checkpoint = ReadFile(path + "/scratch-checkpoint");
  ASSERT_THAT(testing::WriteStore(path, documents), IsOk());
  testing::WriteFile(path + "/scratch-checkpoint", checkpoint);
  bool asked = false;
  ASSERT_OK_AND_ASSIGN(const auto builder, StoreBuilder::CreateToSave(
                                               path, ByteManifest(), [&](auto) {
                                                 return asked = true;
                                               }));
  EXPECT_FALSE(asked) << "the caller would go on behind what it has saved";
  EXPECT_EQ(builder->manifest().tokens, 0u);
  EXPECT_EQ(builder->manifest().generation, 2u);
}

}  // namespace
}  // namespace poniente::internal
