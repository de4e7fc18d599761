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
