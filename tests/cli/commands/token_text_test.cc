// SPDX-License-Identifier: Apache-2.0
// Text of stores that a SentencePiece model has made, where the model is at
// hand; the test trains it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/run_tool.h"
#include "tests/support/temp_dir.h"

// No header of ours that has Abseil's: the library's own absl::string_view is
// another type.
namespace poniente::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::json;

// "out", a store of the two documents "the wind from the west" and "over the
// sea", each with its end; and "t.toml", a run whose only window is all of it.
class TokenTextTest : public ::testing::Test {
 protected:
  TokenTextTest() {
    std::filesystem::create_directory(folder_.path("models"));
    std::filesystem::create_directory(folder_.path("data"));
    Train(model_, "wind from the west");
    WriteFile(folder_.path("x.jsonl"),
              "{\"text\": \"the wind from the west\"}\n"
              "{\"text\": \"over the sea\"}\n");
    Pack("--tokenizer " + model_);
    WriteRun(store_);
  }

  static void Train(const std::string& model, const std::string& words) {
    const TempDir folder;
    std::string text;
    for (int i = 0; i < 300; ++i) {
      text += "the " + words + " number " + std::to_string(i * i) +
              " blows over the sea\n";
    }
    WriteFile(folder.path("words"), text);
    const auto trained = sentencepiece::SentencePieceTrainer::Train(
        "--input=" + folder.path("words") +
        " --model_prefix=" + folder.path("m") +
        " --vocab_size=100 --minloglevel=2 --hard_vocab_limit=false");
    EXPECT_TRUE(trained.ok()) << trained.ToString();
    std::filesystem::copy(folder.path("m.model"), model,
                          std::filesystem::copy_options::overwrite_existing);
  }
  void Pack(const std::string& options) const {
    const ToolRun run = RunTool("pack " + folder_.path("x.jsonl") + " --out " +
                                store_ + " --quiet " + options);
    EXPECT_EQ(run.exit_code, 0) << run.err;
  }
  // All tokens of the store.
  std::vector<int> Ids() const {
    sentencepiece::SentencePieceProcessor processor;
    EXPECT_TRUE(processor.Load(model_).ok());
    std::vector<int> all, ids;
    for (const char* text : {"the wind from the west", "over the sea"}) {
      EXPECT_TRUE(processor.Encode(text, &ids).ok());
      all.insert(all.end(), ids.begin(), ids.end());
      all.push_back(processor.eos_id());
    }
    return all;
  }
  void WriteRun(const std::string& path) const {
    WriteFile(run_, "[data]\nbatch_size = 1\nseq_len = " +
                        std::to_string(Ids().size()) + "\npath = '" + path +
                        "'\n");
  }
  std::string ShowText(const std::string& more = "") const {
    return "show " + run_ + " --step 0 --text " + more;
  }
  // The only sample that a run shows.
  static Json SampleOf(const ToolRun& run) {
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return Json::parse(run.out)["samples"][0];
  }
  // The CRC32C that the store names its model with.
  std::string Checksum() const {
    const Json inspected = Json::parse(RunTool("inspect --json " + store_).out);
    return inspected["tokenizer_model"]["crc32c"];
  }
  void ExpectText(const ToolRun& run) const {
    EXPECT_THAT(run.err, IsEmpty());
    const Json sample = SampleOf(run);
    EXPECT_EQ(sample["text"], kText);
    EXPECT_FALSE(sample.contains("tokens"));
  }
  // Expects ids and a warning of one line.
  void ExpectIds(const ToolRun& run,
                 const ::testing::Matcher<std::string>& warning) const {
    EXPECT_THAT(run.err, AllOf(HasSubstr("showing ids instead"), warning));
    EXPECT_EQ(run.err.find('\n'), run.err.size() - 1) << run.err;
    const Json sample = SampleOf(run);
    EXPECT_EQ(sample["tokens"], Json(Ids()));
    EXPECT_FALSE(sample.contains("text"));
  }

  static constexpr char kText[] = "the wind from the west</s>over the sea</s>";

  const TempDir folder_;
  const std::string model_ = folder_.path("models/wind.model");
  const std::string store_ = folder_.path("data/out");
  const std::string run_ = folder_.path("t.toml");
};

TEST_F(TokenTextTest, IsShownWhileTheModelIsWhereItWas) {
  ExpectText(RunTool(ShowText("--json")));
  EXPECT_THAT(RunTool(ShowText()),
              Prints(HasSubstr(std::string("position 0: ") + kText + "\n")));
}

TEST_F(TokenTextTest, AWindowWithinADocumentBeginsWithItsSpace) {
  WriteFile(run_, "[data]\nbatch_size = 1\nseq_len = 1\nseed = 1\npath = '" +
                      store_ + "'\n");
  std::vector<std::string> windows(Ids().size());
  for (size_t step = 0; step < windows.size(); ++step) {
    const Json sample = SampleOf(RunTool("show " + run_ +
                                         " --text --json "
                                         "--step " +
                                         std::to_string(step)));
    windows[sample["item"].get<size_t>()] = sample["text"];
  }
  std::string joined;
  for (const std::string& window : windows) joined += window;
  EXPECT_EQ(joined, kText);
}

TEST_F(TokenTextTest, WithoutTheModelOneLineSaysWhatToDo) {
  const std::string moved = folder_.path("moved.model");
  std::filesystem::rename(model_, moved);
  const std::string warning = RunTool(ShowText("--json")).err;
  EXPECT_THAT(warning,
              AllOf(HasSubstr("'" + model_ + "'"), HasSubstr(Checksum()),
                    HasSubstr("--tokenizer PATH")));
  ExpectText(RunTool(ShowText("--json --tokenizer " + moved)));
  // A relative path, and a copy beside the store or in it.
  for (const std::string& place :
       {folder_.path("data/wind.model"), store_ + "/wind.model"}) {
    std::filesystem::copy(moved, place);
    ExpectText(RunTool(ShowText("--json")));
    std::filesystem::remove(place);
  }
  std::filesystem::copy(moved, model_);
  const std::vector<int> ids = Ids();
  std::filesystem::remove(model_);
  const Json sample = SampleOf(RunTool(ShowText("--json")));
  EXPECT_EQ(sample["tokens"], Json(ids));
}

TEST_F(TokenTextTest, AnotherModelIsRefusedWithBothChecksums) {
  const std::string other = folder_.path("other.model");
  Train(other, "rain in the north");
  EXPECT_THAT(RunTool(ShowText("--tokenizer " + other)),
              FailsWith(1, AllOf(HasSubstr("'" + other + "' has the CRC32C "),
                                 HasSubstr("with the CRC32C " + Checksum()))));
  EXPECT_THAT(RunTool("inspect " + store_ + " --tokenizer " + other),
              FailsWith(1, HasSubstr("with the CRC32C " + Checksum())));
  // The same where the store says that its model is.
  const std::vector<int> ids = Ids();
  std::filesystem::copy(other, model_,
                        std::filesystem::copy_options::overwrite_existing);
  const ToolRun run = RunTool(ShowText("--json"));
  EXPECT_THAT(run.err, AllOf(HasSubstr("'" + model_ + "' has the CRC32C "),
                             HasSubstr("not " + Checksum()),
                             HasSubstr("--tokenizer PATH"),
                             HasSubstr("showing ids instead")));
  EXPECT_EQ(SampleOf(run)["tokens"], Json(ids));
}

TEST_F(TokenTextTest, StoresThatDoNotNameTheirModelTakeAStatedOne) {
  const std::string ids = folder_.path("ids.jsonl");
  WriteFile(ids, "{\"tokens\": " + Json(Ids()).dump() + "}\n");
  const auto pack = [&](const std::string& tokenizer) {
    const ToolRun run =
        RunTool("pack " + ids + " --input-format tokens --out " + store_ +
                " --quiet --vocab-size 100 --tokenizer-name " + tokenizer);
    EXPECT_EQ(run.exit_code, 0) << run.err;
  };
  // Earlier versions of `pack` gave this name, and no more.
  const std::string checksum = Checksum();
  pack("wind-" + checksum);
  ExpectIds(RunTool(ShowText("--json")), HasSubstr("--tokenizer PATH"));
  ExpectText(RunTool(ShowText("--json --tokenizer " + model_)));
  pack("wind-00112233");
  EXPECT_THAT(RunTool(ShowText("--tokenizer " + model_)),
              FailsWith(1, AllOf(HasSubstr("00112233"), HasSubstr(checksum))));
  pack("west");
  ExpectIds(RunTool(ShowText("--json")), HasSubstr("'west'"));
  const ToolRun run = RunTool(ShowText("--json --tokenizer " + model_));
  EXPECT_THAT(run.err, HasSubstr("does not name its model"));
  EXPECT_EQ(SampleOf(run)["text"], kText);
}

TEST_F(TokenTextTest, AModelIsNotTakenForBytes) {
  Pack("");
  EXPECT_THAT(RunTool(ShowText("--tokenizer " + model_)),
              FailsWith(1, HasSubstr("are bytes")));
  EXPECT_THAT(RunTool("show " + run_ + " --step 0 --tokenizer " + model_),
              FailsWith(2, HasSubstr("add --text")));
  EXPECT_THAT(RunTool(ShowText("--tokenizer " + run_)),
              FailsWith(1, HasSubstr("is not a SentencePiece model")));
}

TEST_F(TokenTextTest, InspectSaysWhatMadeTheIds) {
  const Json json = Json::parse(RunTool("inspect --json " + store_).out);
  EXPECT_EQ(json["tokenizer_model"]["path"], model_);
  EXPECT_THAT(json["tokenizer_library"].get<std::string>(),
              ::testing::StartsWith("sentencepiece "));
  EXPECT_EQ(json["first_text"], "the wind from the west");
  EXPECT_THAT(RunTool("inspect " + store_),
              Prints(AllOf(HasSubstr("made by         sentencepiece "),
                           HasSubstr("model           " + model_ + " (CRC32C " +
                                     Checksum() + ")"),
                           HasSubstr("as text         the wind from"))));
  std::filesystem::remove(model_);
  EXPECT_THAT(RunTool("inspect " + store_), Prints(Not(HasSubstr("as text"))));
}

TEST_F(TokenTextTest, AStorePackedAgainNamesTheSameModel) {
  const std::string again = folder_.path("data/again");
  ASSERT_EQ(RunTool("pack " + store_ + " --out " + again).exit_code, 0);
  WriteRun(again);
  ExpectText(RunTool(ShowText("--json")));
}

// The parts of a corpus, as one source.
TEST_F(TokenTextTest, ACatalogueIsShownToo) {
  ASSERT_EQ(RunTool("catalog " + folder_.path("data")).exit_code, 0);
  WriteRun(folder_.path("data"));
  ExpectText(RunTool(ShowText("--json")));
  EXPECT_THAT(RunTool("inspect " + folder_.path("data")),
              Prints(AllOf(HasSubstr("made by         sentencepiece "),
                           HasSubstr("as text         the wind from"))));
}

}  // namespace
}  // namespace poniente::testing
