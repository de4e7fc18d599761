// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_replace.h"
#include "poniente/config.h"
#include "poniente/journal.h"
#include "poniente/loader.h"
#include "tests/cli/run_tool.h"
#include "tests/config/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::json;

// Two sources of documents "a0" to "a9" and "b0" to "b9", of 100 bytes of one
// letter each.
class ShowFindTest : public ::testing::Test {
 protected:
  ShowFindTest() {
    for (const char first : {'a', 'b'}) {
      const std::string name(1, first);
      std::filesystem::create_directories(folder_.path("in-" + name));
      for (char digit = '0'; digit <= '9'; ++digit) {
        const char letter = static_cast<char>(first + 2 * (digit - '0'));
        WriteFile(folder_.path("in-" + name + "/" + name + digit),
                  std::string(100, letter));
      }
      const ToolRun run = RunTool("pack " + folder_.path("in-" + name) +
                                  " --out " + folder_.path(name));
      EXPECT_EQ(run.exit_code, 0) << run.err;
    }
    WriteFile(config(), R"([data]
steps = 40
batch_size = 4
seq_len = 30
[data.mixture]
a = { weight = 0.5, path = "a" }
rest = { weight = 0.5, flat = { b = { path = "b" }, again = { path = "a" } } }
[[data.stages]]
name = "late"
start_step = 30
lr_scale = 0.25
)");
  }

  std::string config() const { return folder_.path("t.toml"); }
  Json RunJson(const std::string& arguments) const {
    const ToolRun run = RunTool(arguments + " --json");
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return Json::parse(run.out);
  }
  Json Show(int step, const std::string& more = "") const {
    return RunJson("show " + config() + " --step " + std::to_string(step) +
                   " " + more);
  }

  const TempDir folder_;
};

// What was added last, below a mixture that comes first, is the last source.
TEST_F(ShowFindTest, SourcesThatWereAddedHaveTheirOwnNames) {
  const std::string toml = folder_.path("grown.toml");
  WriteFile(toml, R"([data]
steps = 200
batch_size = 8
seq_len = 30
block_size = 16
journal = "grown.journal"
[data.mixture]
small = { weight = 1, block_size = 8, mixture = { a = { weight = 1, path = "a" } } }
b = { weight = 1, path = "b" }
)");
  {
    const auto run = Config::Load(toml);
    ASSERT_THAT(run, IsOk());
    const auto loader = run->OpenLoader();
    ASSERT_THAT(loader, IsOk());
    ASSERT_THAT(
        (*loader)->Steer(RunChange::Add("new", "{ weight = 1, path = \"b\" }")),
        IsOk());
    RunChange deep = RunChange::Add("deep", "{ weight = 1, path = \"a\" }");
    deep.path = "small";
    ASSERT_THAT((*loader)->Steer(deep), IsOk());
  }
  const Json reads =
      RunJson("find " + toml + " --source deep --item 2")["reads"];
  EXPECT_EQ(reads,
            RunJson("find " + toml + " --source small/deep --item 2")["reads"]);
  ASSERT_FALSE(reads.empty());
  for (const Json& read : reads) {
    const Json step = RunJson("show " + toml + " --step " +
                              std::to_string(read["step"].get<int>()));
    const Json& sample = step["samples"][read["position"].get<size_t>()];
    EXPECT_EQ(sample["source"], "deep");
    EXPECT_EQ(sample["path"], "small/deep");
    EXPECT_EQ(sample["item"], 2);
  }
}

TEST_F(ShowFindTest, AStepSaysWhatChangesWithIt) {
  const Json step = Show(30);
  ASSERT_EQ(step["changes"].size(), 1u);
  EXPECT_EQ(step["changes"][0]["kind"], "stage");
  EXPECT_EQ(step["changes"][0]["stage"], "late");
  EXPECT_EQ(step["changes"][0]["mixture"], "");
  EXPECT_EQ(Show(31)["changes"].size(), 0u);
  const ToolRun text = RunTool("show " + config() + " --step 30");
  EXPECT_THAT(text, Prints(HasSubstr("\nchanges: stage 'late' begins\n\n")));
  EXPECT_THAT(RunTool("show " + config() + " --step 31"),
              Prints(Not(HasSubstr("changes"))));
}

TEST_F(ShowFindTest, AStepHasAllThatIsPromised) {
  const Json step = Show(33);
  EXPECT_EQ(step["step"], 33);
  EXPECT_EQ(step["batch_size"], 4);
  EXPECT_EQ(step["seq_len"], 30);
  EXPECT_EQ(step["lr_scale"], 0.25);
  EXPECT_EQ(step["stage"], "late");
  ASSERT_EQ(step["samples"].size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const Json& sample = step["samples"][i];
    EXPECT_EQ(sample["position"], i);
    const std::string path = sample["path"];
    EXPECT_EQ(sample["source"], path.substr(path.rfind('/') + 1));
    EXPECT_EQ(sample["token_begin"], 0);
    EXPECT_EQ(sample["token_end"], 30);
    for (const char* key : {"item", "epoch", "document"}) {
      EXPECT_TRUE(sample[key].is_number_unsigned()) << key;
    }
    EXPECT_FALSE(sample.contains("text"));
  }
}

// Each document is one letter, so the text tells which one is read.
TEST_F(ShowFindTest, TheTextIsThatOfTheDocuments) {
  for (int s = 0; s < 40; s += 7) {
    const Json step = Show(s, "--text");
    for (const Json& sample : step["samples"]) {
      const std::string text =
          absl::StrReplaceAll(std::string(sample["text"]), {{"<256>", "."}});
      const char base = sample["source"] == "b" ? 'b' : 'a';
      EXPECT_EQ(text[0], base + 2 * sample["document"].get<int>());
      // Piece by piece: which document it is, and where it begins in it.
      size_t at = 0;
      Json documents = Json::array();
      for (const Json& piece : sample["pieces"]) {
        const int document = piece["document"];
        EXPECT_EQ(piece["name"],
                  (base == 'a' ? "a" : "b") + std::to_string(document));
        EXPECT_EQ(piece["token_begin"], at);
        EXPECT_EQ(piece["document_tokens"], 101);
        const uint64_t first = piece["document_begin"];
        EXPECT_EQ(101 * uint64_t{piece["document"]} + first,
                  30 * uint64_t{sample["item"]} + at);
        EXPECT_EQ(uint64_t{piece["document_end"]} - first,
                  uint64_t{piece["token_end"]} - at);
        for (const uint64_t end = piece["token_end"]; at < end; ++at) {
          const uint64_t place = first + at - uint64_t{piece["token_begin"]};
          EXPECT_EQ(text.at(at), place == 100 ? '.' : base + 2 * document);
        }
        documents.push_back(piece["document"]);
      }
      EXPECT_EQ(at, 30u);
      EXPECT_EQ(sample["documents"], documents);
    }
  }
}

// Documents of 100 bytes and their end in windows of 120: one of them is
// whole, 19 tokens are padding, or of windows of 60, there are parts.
TEST_F(ShowFindTest, PiecesOfPackedDocumentsAndPaddingAreShown) {
  const std::string run = "[data]\nsteps = 5\nbatch_size = 2\npath = 'a'\n";
  WriteFile(config(), run + "seq_len = 120\npack_documents = true\n");
  const Json whole = Show(3);
  for (const Json& sample : whole["samples"]) {
    EXPECT_EQ(sample["documents"].size(), 1u);
    EXPECT_EQ(sample["padding_tokens"], 19);
    ASSERT_EQ(sample["pieces"].size(), 2u);
    EXPECT_EQ(sample["pieces"][0]["document_end"], 101);
    EXPECT_TRUE(sample["pieces"][1]["document"].is_null());
    EXPECT_TRUE(sample["pieces"][1]["document_begin"].is_null());
    EXPECT_EQ(sample["pieces"][1]["token_end"], 120);
  }
  EXPECT_THAT(RunTool("show " + config() + " --step 3"),
              Prints(AllOf(HasSubstr(", 19 tokens of padding"),
                           Not(HasSubstr(" of 101)")))));
  WriteFile(config(), run + "seq_len = 60\npack_documents = true\n");
  const ToolRun shown = RunTool("show " + config() + " --step 3");
  EXPECT_THAT(shown, Prints(HasSubstr(" of 101)")));
  // What is shown of a document is found again, token for token.
  const Json parts = Show(3);
  for (const Json& sample : parts["samples"]) {
    for (const Json& piece : sample["pieces"]) {
      if (piece["document"].is_null()) continue;
      const Json found =
          RunJson("find " + config() + " --source a --document " +
                  std::to_string(int{piece["document"]}) + " --steps 3..4");
      int hits = 0;
      for (const Json& read : found["reads"]) {
        hits += read["position"] == sample["position"] &&
                read["document_begin"] == piece["document_begin"] &&
                read["document_end"] == piece["document_end"];
      }
      EXPECT_EQ(hits, 1) << found.dump() << piece.dump();
    }
  }
  EXPECT_THAT(RunTool("find " + config() + " --source a --document a3"),
              Prints(AllOf(HasSubstr("of the document"), HasSubstr("0..60"),
                           HasSubstr("60..101"))));
}

TEST_F(ShowFindTest, RanksShareAStep) {
  Json joined = Json::array();
  for (const char* rank : {"0/3", "1/3", "2/3"}) {
    const Json part = Show(5, std::string("--rank ") + rank);
    for (const Json& sample : part["samples"]) joined.push_back(sample);
  }
  const Json whole = Show(5);
  EXPECT_EQ(joined, whole["samples"]);
}

TEST_F(ShowFindTest, WhatIsShownIsFound) {
  for (int s = 0; s < 40; s += 13) {
    const Json step = Show(s);
    for (const Json& sample : step["samples"]) {
      const std::string from =
          "find " + config() + " --source " + sample["path"].get<std::string>();
      const Json by_item = RunJson(from + " --item " +
                                   std::to_string(sample["item"].get<int>()));
      const Json by_document =
          RunJson(from + " --document " +
                  std::to_string(sample["document"].get<int>()) + " --steps " +
                  std::to_string(s) + ".." + std::to_string(s + 1));
      for (const Json& found : {by_item, by_document}) {
        int hits = 0;
        for (const Json& read : found["reads"]) {
          hits += read["step"] == s && read["position"] == sample["position"] &&
                  read["epoch"] == sample["epoch"];
        }
        EXPECT_EQ(hits, 1) << found.dump();
      }
      for (const Json& read : by_document["reads"]) {
        EXPECT_EQ(read["step"], s);
      }
    }
  }
}

TEST_F(ShowFindTest, ANameKeepsItsSlashes) {
  WriteFile(config(), R"([data]
steps = 20
batch_size = 4
seq_len = 30
[data.mixture]
code = { weight = 1, flat = { "lang/c" = { path = "a" } } }
lang = { weight = 1, flat = { c = { path = "b" } } }
other = { weight = 1, flat = { lang = { flat = { c = { path = "b" } } } } }
)");
  std::set<std::pair<std::string, std::string>> seen;
  for (int s = 0; s < 20; ++s) {
    const Json step = Show(s);
    for (const Json& sample : step["samples"]) {
      seen.emplace(sample["path"], sample["source"]);
    }
  }
  EXPECT_THAT(seen, ::testing::UnorderedElementsAre(
                        ::testing::Pair("code/lang/c", "lang/c"),
                        ::testing::Pair("lang/c", "c"),
                        ::testing::Pair("other/lang/c", "c")));
  const std::string find = "find " + config() + " --item 0 --source ";
  EXPECT_THAT(RunTool(find + "lang/c"), Prints(HasSubstr("of 'lang/c'")));
  EXPECT_THAT(RunTool(find + "c"), FailsWith(1, HasSubstr("2 sources")));
}

TEST_F(ShowFindTest, ASourceIsFoundByAllOfItsName) {
  WriteFile(config(), R"([data]
steps = 20
batch_size = 4
seq_len = 30
[data.mixture]
code = { weight = 1, flat = { "lang/c" = { path = "a" } } }
other = { weight = 1, flat = { lang = { flat = { c = { path = "b" } } } } }
)");
  const std::string find = "find " + config() + " --item 0 --source ";
  EXPECT_THAT(RunTool(find + "lang/c"), Prints(HasSubstr("of 'code/lang/c'")));
  EXPECT_THAT(RunTool(find + "c"), Prints(HasSubstr("of 'other/lang/c'")));
}

TEST_F(ShowFindTest, ADocumentHasANameToo) {
  const Json by_name =
      RunJson("find " + config() + " --source b --document b7");
  EXPECT_EQ(by_name,
            RunJson("find " + config() + " --source rest/b --document 7"));
  EXPECT_THAT(by_name["reads"], Not(IsEmpty()));
}

TEST_F(ShowFindTest, ASourceThatDoesNotKnowItsDocumentsSaysWhy) {
  WriteFile(folder_.path("raw.bin"), std::string(4000, 'a'));
  WriteFile(config(), R"([data]
steps = 4
batch_size = 4
seq_len = 30
mixture = { r = { weight = 1, path = "raw.bin", dtype = "u16" } }
)");
  for (const char* document : {"3", "three"}) {
    EXPECT_THAT(RunTool("find " + config() + " --source r --document " +
                        std::string(document)),
                FailsWith(1, AllOf(HasSubstr("raw.bin"),
                                   HasSubstr("does not say where they end; "
                                             "state document_end"))));
  }
  const Json step = Show(0);
  const Json& sample = step["samples"][0];
  EXPECT_EQ(sample["documents"], Json::array());
  EXPECT_EQ(sample["pieces"], Json::array());
  EXPECT_TRUE(sample["document"].is_null());
}

TEST_F(ShowFindTest, PeopleGetATable) {
  EXPECT_THAT(
      RunTool("show " + config() + " --step 33 --text"),
      Prints(AllOf(HasSubstr("step 33: batch_size 4, seq_len 30, lr_scale "
                             "0.25, stage 'late'"),
                   HasSubstr("position"), HasSubstr(" 0..30 "),
                   HasSubstr("position 3: "))));
  EXPECT_THAT(RunTool("find " + config() + " --source b --document b7"),
              Prints(AllOf(HasSubstr("document 'b7' of 'rest/b': "),
                           HasSubstr("of the run read"), HasSubstr("0..30"))));
  EXPECT_THAT(RunTool("find " + config() + " --source b --item 0 --steps 0..1"),
              Prints(HasSubstr("item 0 of 'rest/b': ")));
}

TEST_F(ShowFindTest, OtherTokenizersGiveIdsAndAWarning) {
  WriteStore(folder_.path("proof"), 0, 900);
  WriteFile(config(), "[data]\nbatch_size = 2\nseq_len = 30\npath = 'proof'\n");
  const ToolRun run = RunTool("show " + config() + " --step 0 --text --json");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.err,
              HasSubstr("warning: cannot show text of tokenizer 'proof'"));
  const Json step = Json::parse(run.out);
  for (const Json& sample : step["samples"]) {
    EXPECT_FALSE(sample.contains("text"));
    const uint64_t begin = 30 * sample["item"].get<uint64_t>();
    ASSERT_EQ(sample["tokens"].size(), 30u);
    for (uint64_t t = 0; t < 30; ++t) {
      EXPECT_EQ(sample["tokens"][t], StoreToken(0, begin + t));
    }
  }
}

// Each document is 9 letters, of which those before its own number have no
// loss, and its end.
TEST_F(ShowFindTest, SaysWhichTokensHaveNoLoss) {
  std::string text;
  for (int d = 0; d < 60; ++d) {
    const std::string none = std::to_string(d % 10);
    text += R"({"text": "abcdefghi", "loss_spans": [[)" + none + ", 9]]}\n";
  }
  WriteFile(folder_.path("m.jsonl"), text);
  ASSERT_EQ(
      RunTool("pack " + folder_.path("m.jsonl") + " --out " + folder_.path("m"))
          .exit_code,
      0);
  WriteFile(config(),
            "[data]\nsteps = 5\nbatch_size = 4\nseq_len = 25\npath = 'm'\n");
  const Json step = RunJson("show " + config() + " --step 2 --text");
  for (const Json& sample : step["samples"]) {
    std::vector<bool> expected;
    for (uint64_t t = 0; t < 25; ++t) {
      const uint64_t token = 25 * sample["item"].get<uint64_t>() + t;
      const uint64_t none = token / 10 % 10;
      // A document that has no loss at all has none at its end, either.
      expected.push_back(token % 10 >= none && none < 9);
    }
    std::vector<bool> shown(25, true);
    for (const Json& range : sample["without_loss"]) {
      EXPECT_LT(range[0], range[1]);
      for (size_t t = range[0]; t < range[1]; ++t) shown.at(t) = false;
    }
    EXPECT_EQ(shown, expected) << sample;
  }
  EXPECT_THAT(RunTool("show " + config() + " --step 2 --text"),
              Prints(HasSubstr("without loss: ")));
}

TEST_F(ShowFindTest, WithoutAMaskNothingIsSaidOfLoss) {
  const Json step = RunJson("show " + config() + " --step 3 --text");
  for (const Json& sample : step["samples"]) {
    EXPECT_FALSE(sample.contains("without_loss"));
  }
}

TEST_F(ShowFindTest, WrongCommandLinesAreRefused) {
  const auto show = [&](const std::string& more) {
    return RunTool("show " + config() + " " + more);
  };
  EXPECT_THAT(show(""), FailsWith(2, HasSubstr("give a --step")));
  EXPECT_THAT(show("--step x"),
              FailsWith(2, AllOf(HasSubstr("--step must be a whole number"),
                                 HasSubstr("got 'x'"))));
  EXPECT_THAT(show("--step -1"), FailsWith(2, HasSubstr("--step")));
  EXPECT_THAT(show("--step 40"),
              FailsWith(1, HasSubstr("has 40 steps: there is no step 40")));
  for (const char* rank : {"3/3", "x/2", "1", "1/2/3", "-1/2", "0/0", ""}) {
    EXPECT_THAT(show("--step 1 --rank '" + std::string(rank) + "'"),
                FailsWith(2, HasSubstr("--rank must be r/R")))
        << rank;
  }
  EXPECT_THAT(RunTool("show --step 1"), FailsWith(2, HasSubstr("one CONFIG")));
  EXPECT_THAT(RunTool("show /nowhere.toml --step 1"),
              FailsWith(1, HasSubstr("/nowhere.toml")));

  const auto find = [&](const std::string& more) {
    return RunTool("find " + config() + " " + more);
  };
  EXPECT_THAT(find("--item 1"), FailsWith(2, HasSubstr("give a --source")));
  EXPECT_THAT(find("--source a"),
              FailsWith(2, HasSubstr("either an --item or a --document")));
  EXPECT_THAT(find("--source a --item 1 --document 2"),
              FailsWith(2, HasSubstr("either an --item or a --document")));
  EXPECT_THAT(find("--source a --item 1.5"),
              FailsWith(2, HasSubstr("--item must be a whole number")));
  for (const char* steps :
       {"5", "5..5", "6..5", "a..b", "..", "-1..4", "1..2..3"}) {
    EXPECT_THAT(find("--source a --item 1 --steps " + std::string(steps)),
                FailsWith(2, HasSubstr("--steps must be a range a..b")))
        << steps;
  }
  EXPECT_THAT(find("--source agian --item 1"),
              FailsWith(1, HasSubstr("did you mean 'again'?")));
  EXPECT_THAT(
      find("--source a --item 33"),
      FailsWith(1,
                HasSubstr("'a' has 33 items, 0 to 32: there is no item 33")));
  EXPECT_THAT(find("--source a --document 10"),
              FailsWith(1, HasSubstr("document 10")));
  EXPECT_THAT(find("--source a --document b1"),
              FailsWith(1, HasSubstr("has the name 'b1'")));
  EXPECT_THAT(find("--source a --document 99999999999999999999999"),
              FailsWith(1, HasSubstr("no document 99999999999999999999999")));
}

TEST_F(ShowFindTest, ARunWithoutAnEndNeedsSteps) {
  WriteFile(config(),
            "[data]\nbatch_size = 4\nseq_len = 30\n"
            "mixture = { a = { weight = 1, path = 'a' } }\n");
  EXPECT_THAT(
      RunTool("find " + config() + " --source a --item 1"),
      FailsWith(
          1,
          HasSubstr("no end: state which steps to search with --steps a..b")));
  const Json found =
      RunJson("find " + config() + " --source a --item 1 --steps 900..1000");
  EXPECT_GT(found["reads"].size(), 5u);
  EXPECT_EQ(Show(123456)["samples"].size(), 4u);
}

TEST_F(ShowFindTest, HelpHasAnExample) {
  EXPECT_THAT(RunTool("show --help"),
              Prints(AllOf(HasSubstr("--rank r/R"),
                           HasSubstr("example:\n  poniente show "))));
  EXPECT_THAT(RunTool("find --help"),
              Prints(AllOf(HasSubstr("--steps a..b"),
                           HasSubstr("example:\n  poniente find "))));
}

// Holds a few of the ten documents of "a" out.
class EvalToolTest : public ShowFindTest {
 protected:
  EvalToolTest() {
    WriteFile(config(), R"([data]
steps = 40
batch_size = 4
seq_len = 30
[data.mixture]
a = { weight = 0.5, path = "a", hold_out = { documents = 0.4, seed = 3 } }
b = { weight = 0.5, path = "b" }
none = { weight = 0, path = "b", take = 2 }
[data.eval.held]
held_out = ["a"]
batch_size = 2
every_steps = 10
[data.eval.seen]
path = "b"
max_samples = 5
)");
  }
};

TEST_F(EvalToolTest, FindSaysForWhichEvaluationADocumentIsHeldOut) {
  std::set<int> shown;
  const Json plan = RunJson("plan " + config());
  const int batches = plan["evals"][0]["batches"].get<int>();
  for (int step = 0; step < batches; ++step) {
    const Json shown_step = Show(step, "--eval held");
    for (const Json& sample : shown_step["samples"]) {
      EXPECT_EQ(sample["path"], "a");
      if (sample.contains("documents")) {
        for (const Json& one : sample["documents"])
          shown.insert(one.get<int>());
      } else {
        shown.insert(sample["document"].get<int>());
      }
    }
  }
  ASSERT_GE(shown.size(), 2u);
  ASSERT_LT(shown.size(), 10u);
  for (int document = 0; document < 10; ++document) {
    const std::string find = "find " + config() + " --source a --document " +
                             std::to_string(document);
    const Json found = RunJson(find);
    if (!shown.contains(document)) {
      EXPECT_FALSE(found["reads"].empty()) << document;
      EXPECT_TRUE(found["held_out"].empty()) << document;
      continue;
    }
    EXPECT_TRUE(found["reads"].empty()) << document;
    EXPECT_EQ(found["held_out"][0]["number"], document);
    EXPECT_EQ(found["held_out"][0]["evals"], Json::array({"held"}));
    EXPECT_THAT(RunTool(find),
                Prints(HasSubstr("held out for evaluation 'held'\n")));
    EXPECT_THAT(RunTool(find + " --eval held"),
                Prints(HasSubstr("of the run read it")));
  }
}

TEST_F(EvalToolTest, ThePlanProvesWhatIsNotTrainedOn) {
  const Json plan = RunJson("plan " + config());
  const Json& held = plan["evals"][0];
  EXPECT_EQ(held["name"], "held");
  EXPECT_EQ(held["times"], 4);
  EXPECT_EQ(held["sources"][0]["trained"], 0);
  EXPECT_EQ(held["sources"][0]["compared_sources"], 1);
  EXPECT_EQ(held["sources"][0]["of_documents"], 10);
  const Json& seen = plan["evals"][1];
  EXPECT_EQ(seen["samples"], 5);
  EXPECT_EQ(seen["tokens"], 150);
  EXPECT_EQ(seen["sources"][0]["trained"], 10);
  EXPECT_EQ(seen["sources"][0]["undrawn_sources"], Json::array({"none"}));
  const ToolRun text = RunTool("plan " + config());
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("a, held out"),
                    HasSubstr("no: compared with 1 training source"),
                    HasSubstr("YES: training may read 10 documents")));
  EXPECT_THAT(text.err, HasSubstr("reads 10 documents of"));
}

TEST_F(EvalToolTest, AnUnknownEvaluationHasANearestOne) {
  const ToolRun run = RunTool("show " + config() + " --step 0 --eval hald");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("did you mean 'held'?"));
}

}  // namespace
}  // namespace poniente::testing
