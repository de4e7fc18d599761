// SPDX-License-Identifier: Apache-2.0
// Text through a SentencePiece model, which the test trains; or the way to get
// the library, where the build has none.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#ifdef PONIENTE_HAVE_SENTENCEPIECE
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>
#endif

#include "tests/cli/run_tool.h"
#include "tests/support/temp_dir.h"

// No header of ours that has Abseil's: the library's own absl::string_view is
// another type. What is compared is what the tool prints.
namespace poniente::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

#ifdef PONIENTE_HAVE_SENTENCEPIECE

class PackSentencePieceTest : public ::testing::Test {
 protected:
  PackSentencePieceTest() {
    std::string text;
    for (int i = 0; i < 300; ++i) {
      text += "the wind from the west number " + std::to_string(i * i) +
              " blows over the sea\n";
    }
    WriteFile(folder_.path("words"), text);
  }

  // Trains a model of 100 pieces, whose end of sentence is `end`.
  std::string Train(int end) {
    const std::string prefix = folder_.path("wind");
    const auto trained = sentencepiece::SentencePieceTrainer::Train(
        "--input=" + folder_.path("words") + " --model_prefix=" + prefix +
        " --vocab_size=100 --minloglevel=2 --hard_vocab_limit=false "
        "--eos_id=" +
        std::to_string(end));
    EXPECT_TRUE(trained.ok()) << trained.ToString();
    return prefix + ".model";
  }
  std::vector<int> Encode(const std::string& model, const std::string& text) {
    sentencepiece::SentencePieceProcessor processor;
    EXPECT_TRUE(processor.Load(model).ok());
    std::vector<int> ids;
    EXPECT_TRUE(processor.Encode(text, &ids).ok());
    return ids;
  }
  // The first tokens of the store, as `poniente inspect` prints them.
  std::string FirstTokens() const {
    return ValueOf(RunTool("inspect " + folder_.path("out")).out,
                   "first tokens");
  }
  static std::string Words(const std::vector<int>& ids) {
    std::string words;
    for (size_t i = 0; i < ids.size() && i < 16; ++i) {
      words += (i == 0 ? "" : " ") + std::to_string(ids[i]);
    }
    return words;
  }
  ToolRun Pack(const std::string& arguments) const {
    return RunTool("pack " + arguments + " --out " + folder_.path("out"));
  }

  const TempDir folder_;
};

// What comes before the answer has no loss; the answer and the end have.
TEST_F(PackSentencePieceTest, TokensOfAnswersHaveLoss) {
  const std::string model = Train(2);
  WriteFile(folder_.path("x.jsonl"),
            "{\"messages\": [{\"role\": \"user\", \"content\": \"the wind\"}, "
            "{\"role\": \"assistant\", \"content\": \"the sea\"}]}\n");
  ASSERT_THAT(Pack(folder_.path("x.jsonl") +
                   " --input-format messages --turn-begin 'number\\n' "
                   "--turn-end '\\n' --tokenizer " +
                   model),
              Prints(HasSubstr("1 document")));
  // The whole is encoded as one text.
  const std::vector<int> whole =
      Encode(model, "number\nthe wind\nnumber\nthe sea\n");
  const size_t before = Encode(model, "number\nthe wind\nnumber").size();
  EXPECT_EQ(Encode(model, "number the wind number"),
            std::vector<int>(whole.begin(),
                             whole.begin() + static_cast<ptrdiff_t>(before)));
  // A space that is a token of its own is outside of the answer.
  sentencepiece::SentencePieceProcessor processor;
  ASSERT_TRUE(processor.Load(model).ok());
  const int space = processor.PieceToId("\xe2\x96\x81");
  const std::string bits = ReadFile(folder_.path("out/loss_mask-1.bin"));
  for (size_t t = 0; t <= whole.size(); ++t) {
    const bool is_lone_space = t == before && whole[t] == space;
    EXPECT_EQ((bits[t / 8] >> (t % 8)) & 1, t < before || is_lone_space ? 0 : 1)
        << t;
  }
  // So are the bytes of a text.
  WriteFile(folder_.path("y.jsonl"),
            "{\"text\": \"the wind the sea\", \"loss_spans\": [[9, 12]]}\n");
  ASSERT_THAT(Pack(folder_.path("y.jsonl") + " --tokenizer " + model),
              Prints(HasSubstr("1 document")));
  const size_t first = Encode(model, "the wind").size();
  const size_t last = Encode(model, "the wind the").size();
  const std::string some = ReadFile(folder_.path("out/loss_mask-2.bin"));
  const std::vector<int> text = Encode(model, "the wind the sea");
  for (size_t t = 0; t < text.size(); ++t) {
    const bool is_in = t >= first && t < last && text[t] != space;
    EXPECT_EQ((some[t / 8] >> (t % 8)) & 1, is_in ? 1 : 0) << t;
  }
}

TEST_F(PackSentencePieceTest, EachTextOfJsonlIsEncodedAndEnded) {
  const std::string model = Train(2);
  WriteFile(folder_.path("x.jsonl"),
            "{\"text\": \"the wind\"}\n{\"text\": \"\"}\n"
            "{\"text\": \"the sea\"}\n");
  std::vector<int> expected = Encode(model, "the wind");
  expected.insert(expected.end(), {2, 2});
  for (const int id : Encode(model, "the sea")) expected.push_back(id);
  expected.push_back(2);
  EXPECT_THAT(Pack(folder_.path("x.jsonl") + " --tokenizer " + model),
              Prints(HasSubstr("3 documents, " +
                               std::to_string(expected.size()) + " tokens")));
  EXPECT_EQ(FirstTokens(), Words(expected));
  const std::string facts = RunTool("inspect " + folder_.path("out")).out;
  EXPECT_THAT(facts, HasSubstr("wind-"));
}

TEST_F(PackSentencePieceTest, DocumentsOfTextAreEncodedWhole) {
  const std::string model = Train(2);
  WriteFile(folder_.path("x"), "the wind\n\nthe sea\n");
  std::vector<int> expected = Encode(model, "the wind\n");
  expected.push_back(2);
  for (const int id : Encode(model, "the sea\n")) expected.push_back(id);
  expected.push_back(2);
  EXPECT_EQ(Pack(folder_.path("x") + " --split paragraphs --tokenizer " + model)
                .exit_code,
            0);
  EXPECT_EQ(FirstTokens(), Words(expected));
  EXPECT_THAT(Pack("- --tokenizer-name west --tokenizer " + model + " <" +
                   folder_.path("words")),
              Prints(HasSubstr("1 document,")));
  EXPECT_THAT(RunTool("inspect " + folder_.path("out")).out, HasSubstr("west"));
}

TEST_F(PackSentencePieceTest, AModelWithoutAnEndNeedsOne) {
  const std::string model = Train(-1);
  const std::string input = folder_.path("words") + " --tokenizer " + model;
  EXPECT_THAT(Pack(input), FailsWith(1, AllOf(HasSubstr("wind.model"),
                                              HasSubstr("--eod none"))));
  EXPECT_EQ(Pack(input + " --eod none").exit_code, 0);
  EXPECT_EQ(Pack(input + " --eod 5").exit_code, 0);
  EXPECT_THAT(Pack(input + " --eod 100000"),
              FailsWith(2, HasSubstr("outside of the vocabulary")));
}

TEST_F(PackSentencePieceTest, WhatIsNoModelIsNamed) {
  EXPECT_THAT(
      Pack(folder_.path("words") + " --tokenizer " + folder_.path("words")),
      FailsWith(1, HasSubstr("/words' is not a SentencePiece model")));
  EXPECT_THAT(Pack(folder_.path("words") + " --tokenizer " + folder_.path()),
              FailsWith(1, HasSubstr("is a directory, not a regular file")));
  EXPECT_THAT(Pack(folder_.path("words") + " --tokenizer no.model"),
              FailsWith(1, HasSubstr("'no.model': open: No such file")));
}

#else

TEST(PackSentencePieceTest, WithoutTheLibraryItSaysWhatToInstall) {
  const TempDir folder;
  WriteFile(folder.path("x.model"), "model");
  EXPECT_THAT(RunTool("pack " + folder.path("x.model") + " --tokenizer " +
                      folder.path("x.model") + " --out " + folder.path("out")),
              FailsWith(1, AllOf(HasSubstr("libsentencepiece-dev"),
                                 HasSubstr("--tokenizer bytes"))));
}

#endif

}  // namespace
}  // namespace poniente::testing
