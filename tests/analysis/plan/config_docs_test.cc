// SPDX-License-Identifier: Apache-2.0
// docs/config.md against the code: its rows are the keys that the parser knows,
// each of them is read, and its examples are configurations.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/parse/config_keys.h"
#include "config/parse/run_parser.h"
#include "poniente/config.h"
#include "poniente/plan.h"
#include "poniente/run_trace.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::internal {
namespace {

using poniente::testing::IsOk;
using ::testing::HasSubstr;

std::string Docs(const std::string& name) {
  return poniente::testing::ReadFile(PONIENTE_SOURCE_DIR "/docs/" + name);
}

TEST(ConfigDocsTest, RowsAreTheKeysInTheirOrderBelowTheirTitles) {
  std::vector<std::string> expected;
  for (const ConfigKey& key : ConfigKeys()) {
    expected.push_back(
        absl::AsciiStrToLower(std::string(KeyTableName(key.table))) + ": " +
        MarkdownRow(key));
  }
  std::vector<std::string> rows;
  std::string title;
  std::istringstream in(Docs("config.md"));
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("#")) {
      title = absl::AsciiStrToLower(line.substr(line.find(' ') + 1));
    }
    if (line.starts_with("| `")) rows.push_back(title + ": " + line);
  }
  EXPECT_EQ(rows, expected);
}

// A file in which a key of the table has a value that no key takes.
std::string WithWrongValue(const ConfigKey& key) {
  const std::string wrong =
      absl::StrCat(std::string(key.name), " = 1979-05-27\n");
  const std::string head = "[data]\nsteps = 9\nbatch_size = 6\nseq_len = 20\n";
  const std::string stage = "mixture = { a = { path = 'a', weight = 1 } }\n";
  std::string data = "[data]\n";  // without the key itself
  for (const char* size : {"steps", "batch_size", "seq_len"}) {
    if (key.name != size) absl::StrAppend(&data, size, " = 9\n");
  }
  switch (key.table) {
    case KeyTable::kTop:
      return wrong;
    case KeyTable::kData:
      return absl::StrCat(data, wrong, "path = 'a'\n");
    case KeyTable::kNode:
      if (std::set<std::string_view>{"path", "hf_name", "tokens", "flat",
                                     "mixture", "concat", "use"}
              .contains(key.name)) {
        return absl::StrCat(head, "flat = { a = { ",
                            wrong.substr(0, wrong.size() - 1), " } }\n");
      }
      if (key.name == "hf_config" || key.name == "hf_split") {
        return absl::StrCat(head, "hf_name = 'a'\n", wrong);
      }
      if (key.name == "tokenizer" || key.name == "vocab_size") {
        return absl::StrCat(head, "tokens = 5\n",
                            key.name == "tokenizer" ? "" : "tokenizer = 'x'\n",
                            wrong);
      }
      if (key.name == "name") {
        return absl::StrCat(head, "[[data.concat]]\npath = 'a'\n", wrong);
      }
      if (std::set<std::string_view>{"documents", "format", "dtype", "column",
                                     "glob", "document_end", "document_begin",
                                     "loss_mask", "overlap", "across_shards",
                                     "order_documents", "growing"}
              .contains(key.name)) {
        return absl::StrCat(head, "path = 'a'\n", wrong);
      }
      // Of a mixture below a mixture, which has all others.
      return absl::StrCat(head, "[data.mixture.m]\n",
                          key.name == "weight" ? "" : "weight = 1\n",
                          "mixture = { a = { path = 'a', weight = 1 } }\n",
                          wrong);
    case KeyTable::kBudget:
      return absl::StrCat(
          head, "path = 'a'\n[data.budget]\n",
          key.name == "seed" ? "experiment = 1\ntarget = 2\n" : "", wrong);
    case KeyTable::kThreshold:
      return absl::StrCat(head,
                          "path = 'a'\n[data.filter]\nscores = "
                          "'s'\n[data.filter.at_least]\n",
                          wrong);
    case KeyTable::kSelection:
    case KeyTable::kOrder:
    case KeyTable::kPacking:
    case KeyTable::kInfilling:
    case KeyTable::kLossMask:
    case KeyTable::kBlockShuffle: {
      const std::string table(
          key.table == KeyTable::kSelection   ? "filter"
          : key.table == KeyTable::kPacking   ? "pack_documents"
          : key.table == KeyTable::kInfilling ? "fill_in_the_middle"
          : key.table == KeyTable::kLossMask  ? "loss_mask"
          : key.table == KeyTable::kOrder     ? "order"
                                              : "block_shuffle");
      std::string beside = "scores = 's'\n";
      if (key.name == "seed") beside = "fraction = 0.5\n";
      if (key.name == "scores" || key.name == "table" || key.name == "bitmap" ||
          key.name == "indices" || key.name == "fraction" ||
          key.table == KeyTable::kPacking || key.table == KeyTable::kLossMask ||
          key.table == KeyTable::kInfilling ||
          key.table == KeyTable::kBlockShuffle) {
        beside.clear();
      }
      return absl::StrCat(head, "path = 'a'\n[data.", table, "]\n", beside,
                          wrong);
    }
    case KeyTable::kHoldOut: {
      const bool is_share = key.name == "documents" || key.name == "windows";
      return absl::StrCat(head, "path = 'a'\n[data.hold_out]\n",
                          is_share ? "" : "documents = 0.5\n", wrong);
    }
    case KeyTable::kEval:
      return absl::StrCat(head, "path = 'a'\n[data.eval.e]\n",
                          key.name == "held_out" ? "" : "path = 'a'\n", wrong);
    case KeyTable::kStage:
      return absl::StrCat(
          head, stage, "[[data.stages]]\n",
          key.name == "start_step" || key.name == "share" ||
                  absl::StartsWith(std::string(key.name), "start_")
              ? ""
              : "start_step = 1\n",
          wrong);
    case KeyTable::kMixtureStage:
      return absl::StrCat(head, "[data.mixture.m]\nweight = 1\n", stage,
                          "[[data.mixture.m.stages]]\n",
                          absl::StartsWith(std::string(key.name), "start_")
                              ? ""
                              : "start_sample = 1\n",
                          wrong);
    case KeyTable::kBatchSize:
    case KeyTable::kSeqLen:
      return absl::StrCat(
          head, "path = 'a'\n[[data.",
          key.table == KeyTable::kBatchSize ? "batch_sizes" : "seq_lens",
          "]]\n",
          absl::StartsWith(std::string(key.name), "start_")
              ? ""
              : "start_step = 1\n",
          wrong);
    case KeyTable::kFlatForm:
      if (key.name == "datasets") return head + wrong;
      return absl::StrCat(
          head, wrong,
          key.name == "dataset_path" ? "" : "dataset_path = 'a'\n");
    case KeyTable::kPhase:
      return absl::StrCat(head, "dataset_path = 'a'\n[[data.phases]]\n", wrong);
    case KeyTable::kTrain:
      return absl::StrCat("[data]\ndataset_path = 'a'\n[train]\n", wrong);
    case KeyTable::kRuntime:
      return absl::StrCat(head, "path = 'a'\n[runtime]\n", wrong);
  }
  return "";
}

TEST(ConfigDocsTest, EveryKeyIsRead) {
  for (const ConfigKey& key : ConfigKeys()) {
    const std::string text = WithWrongValue(key);
    const auto run = ParseRunText(text, "t.toml");
    const std::string name(key.name);
    EXPECT_FALSE(run.ok()) << text;
    // Of a type that it does not have; not "unknown", and not "no meaning".
    EXPECT_THAT(std::string(run.status().message()),
                ::testing::ContainsRegex(name + " must "))
        << text;
  }
}

// The ```toml blocks of a page.
std::vector<std::string> Examples(const std::string& page) {
  std::vector<std::string> examples;
  constexpr char kFence[] = "```toml\n";
  for (size_t at = page.find(kFence); at != std::string::npos;
       at = page.find(kFence, at)) {
    at += sizeof kFence - 1;
    examples.push_back(page.substr(at, page.find("```", at) - at));
  }
  return examples;
}

// Each makes a run that can be planned and whose steps can be looked into.
TEST(ConfigDocsTest, ExamplesOfAllPagesAreRuns) {
  size_t examples = 0;
  for (const auto& page :
       std::filesystem::directory_iterator(PONIENTE_SOURCE_DIR "/docs")) {
    if (page.path().extension() != ".md") continue;
    for (const std::string& example : Examples(Docs(page.path().filename()))) {
      SCOPED_TRACE(absl::StrCat(page.path().string(), "\n", example));
      ++examples;
      ASSERT_OK_AND_ASSIGN(const Config config,
                           Config::Parse(example, "example.toml", "."));
      EXPECT_THAT(MakePlan(config, std::nullopt), IsOk());
      const RunTrace trace(*config.dataset(), config.schedule());
      for (const PlannedStage& stage : config.schedule().stages()) {
        EXPECT_THAT(trace.Resolve(stage.start_step), IsOk());
      }
    }
  }
  EXPECT_GE(examples, 3u);
}

}  // namespace
}  // namespace poniente::internal
