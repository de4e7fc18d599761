// SPDX-License-Identifier: Apache-2.0
// Ids of a SentencePiece model back to text, wherever they are cut.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sentencepiece_trainer.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pack/pack_sentence_piece.h"
#include "tests/support/temp_dir.h"

// No header of ours that has Abseil's: the library's own absl::string_view is
// another type.
namespace poniente::internal {
namespace {

using ::poniente::testing::ReadFile;
using ::poniente::testing::TempDir;
using ::poniente::testing::WriteFile;
using Ids = std::vector<uint32_t>;

class SentencePieceTest : public ::testing::Test {
 protected:
  // <unk>, <s> and </s> are 0, 1 and 2; "<0x00>" and the other bytes follow.
  static void SetUpTestSuite() {
    const TempDir folder;
    std::string text;
    for (int i = 0; i < 300; ++i) {
      text += "the wind from the west number " + std::to_string(i * i) +
              " blows over the sea\n";
    }
    WriteFile(folder.path("words"), text);
    const auto trained = sentencepiece::SentencePieceTrainer::Train(
        "--input=" + folder.path("words") +
        " --model_prefix=" + folder.path("m") +
        " --vocab_size=340 --minloglevel=2 --hard_vocab_limit=false "
        "--byte_fallback=true");
    ASSERT_TRUE(trained.ok()) << trained.ToString();
    std::string error;
    model_ = SentencePiece::Load(ReadFile(folder.path("m.model")), &error);
    ASSERT_NE(model_, nullptr) << error;
  }

  static Ids Encoded(const std::string& text) {
    Ids ids;
    std::string error;
    EXPECT_TRUE(model_->Encode(text, &ids, &error)) << error;
    return ids;
  }

  static std::shared_ptr<const SentencePiece> model_;
};

std::shared_ptr<const SentencePiece> SentencePieceTest::model_;

// The characters that an id stands for, and none for all but the last byte of a
// character without a piece.
TEST_F(SentencePieceTest, SaysWhatEachIdStandsFor) {
  for (const std::string text : {"the wind from", "  the  sea",
                                 "blows\nover \xe2\x82\xac the", "", " "}) {
    Ids ids;
    std::vector<TokenPlace> places;
    std::string error;
    ASSERT_TRUE(model_->Encode(text, &ids, &places, &error)) << error;
    EXPECT_EQ(ids, Encoded(text));
    ASSERT_EQ(places.size(), ids.size());
    uint32_t end = 0;
    for (const TokenPlace& place : places) {
      EXPECT_GE(place.begin, end) << text;
      ASSERT_LE(place.begin, place.end);
      ASSERT_LE(place.end, text.size());
      end = place.end;
    }
  }
  Ids ids;
  std::vector<TokenPlace> places;
  std::string error;
  const std::string euro = "the wind \xe2\x82\xac";
  ASSERT_TRUE(model_->Encode(euro, &ids, &places, &error)) << error;
  ASSERT_GE(places.size(), 5u);
  const std::vector<TokenPlace> bytes(places.end() - 3, places.end());
  EXPECT_EQ(bytes, (std::vector<TokenPlace>{{9, 9}, {9, 9}, {9, 12}}));
  std::string covered;
  for (const TokenPlace& place : places) {
    covered += euro.substr(place.begin, place.end - place.begin);
  }
  EXPECT_EQ(covered, euro);
}

TEST_F(SentencePieceTest, SaysWhichVersionItIs) {
  EXPECT_THAT(SentencePiece::Library(),
              ::testing::MatchesRegex("sentencepiece [0-9]+\\.[0-9]+.*"));
}

TEST_F(SentencePieceTest, ADocumentIsItsTextAndTheNameOfItsEnd) {
  Ids ids = Encoded("the wind blows");
  EXPECT_EQ(model_->Decode(ids, true), "the wind blows");
  ids.push_back(2);
  EXPECT_EQ(model_->Decode(ids, true), "the wind blows</s>");
  const Ids next = Encoded("over the sea");
  ids.insert(ids.end(), next.begin(), next.end());
  EXPECT_EQ(model_->Decode(ids, true), "the wind blows</s>over the sea");
  EXPECT_EQ(model_->Decode({}, true), "");
}

// Cut anywhere, the parts are the whole: no space is lost or added.
TEST_F(SentencePieceTest, ThePartsOfADocumentAreItsText) {
  const std::string text = "the wind from  the west, number 15129";
  const Ids ids = Encoded(text);
  ASSERT_GT(ids.size(), 8u);
  const std::string whole = model_->Decode(ids, true);
  ASSERT_EQ(whole, "the wind from the west, number 15129");
  for (size_t cut = 1; cut < ids.size(); ++cut) {
    const std::span<const uint32_t> all = ids;
    EXPECT_EQ(model_->Decode(all.first(cut), true) +
                  model_->Decode(all.subspan(cut), false),
              whole)
        << cut;
  }
}

TEST_F(SentencePieceTest, ACharacterOfBytesIsWholeOrReplaced) {
  // U+20AC is no piece, but three bytes.
  const Ids ids = Encoded("the \xe2\x82\xac sea");
  ASSERT_THAT(ids, ::testing::IsSupersetOf({3u + 0xe2, 3u + 0x82, 3u + 0xac}));
  EXPECT_EQ(model_->Decode(ids, true), "the \xe2\x82\xac sea");
  const Ids half = {3 + 0x82, 3 + 0xac};
  EXPECT_EQ(model_->Decode(half, false), "\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_F(SentencePieceTest, AnIdThatIsNoPieceAppearsAsItsNumber) {
  Ids ids = Encoded("the sea");
  ids.push_back(model_->vocabulary_size());
  ids.push_back(1);
  EXPECT_EQ(model_->Decode(ids, true),
            "the sea<" + std::to_string(model_->vocabulary_size()) + "><s>");
}

}  // namespace
}  // namespace poniente::internal
