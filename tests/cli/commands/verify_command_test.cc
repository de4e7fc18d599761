// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/trace/drop_proof.h"
#include "poniente/config.h"
#include "poniente/journal.h"
#include "poniente/loader.h"
#include "poniente/trace.h"
#include "tests/cli/run_tool.h"
#include "tests/config/small_stores.h"

namespace poniente::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class VerifyCommandTest : public SmallStores {
 protected:
  void SetUp() override {
    SmallStores::SetUp();
    WriteFile(config(),
              "[data]\nbatch_size = 8\nseq_len = 20\n[data.flat]\n"
              "a = { path = 'a' }\nb = { path = 'b' }\n"
              "again = { path = './a' }\n");
  }

  std::string config() const { return dir_.path("t.toml"); }

  // One bit of the tokens.
  void Damage(const std::string& store) const {
    for (const auto& entry :
         std::filesystem::directory_iterator(dir_.path(store))) {
      if (entry.path().filename().string().starts_with("tokens-")) {
        FlipBit(entry.path(), 500);
      }
    }
  }

  const TempDir& dir() const { return dir_; }
};

TEST_F(VerifyCommandTest, WholeStoresAreSaidToBeWhole) {
  EXPECT_THAT(RunTool("verify " + dir().path("c")),
              Prints(AllOf(HasSubstr("/c: ok, 3,000 tokens"),
                           HasSubstr("fingerprint "))));
}

TEST_F(VerifyCommandTest, EachStoreOfAConfigIsReadOnce) {
  const ToolRun run = RunTool("verify --json " + config() + " " +
                              dir().path("b") + " " + dir().path("c"));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const Json json = Json::parse(run.out);
  EXPECT_EQ(json["ok"], true);
  ASSERT_EQ(json["stores"].size(), 3u);
  for (const Json& store : json["stores"]) {
    EXPECT_EQ(store["ok"], true);
    EXPECT_FALSE(store.contains("error"));
  }
}

TEST_F(VerifyCommandTest, SourcesOfOnePathAreReadEach) {
  std::filesystem::create_directories(dir().path("raw"));
  WriteFile(dir().path("raw/a.bin"), std::string(800'000, '\1'));
  std::string damaged(800'000, '\1');
  damaged.replace(400'004, 4, "\xff\xff\xff\xff");
  WriteFile(dir().path("raw/b.bin"), damaged);
  WriteFile(config(),
            "[data]\nbatch_size = 8\nseq_len = 20\n[data.flat]\n"
            "a = { path = 'raw', dtype = 'i32', glob = 'a*' }\n"
            "b = { path = 'raw', dtype = 'i32', glob = 'b*' }\n");
  const ToolRun run = RunTool("verify " + config());
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, HasSubstr("raw: can be read, no checksums, 200,000"));
  EXPECT_THAT(run.err, HasSubstr("token 100001 is stored as -1"));
}

TEST_F(VerifyCommandTest, FilesOfOtherProjectsAreReadToTheirEnds) {
  // llm.c, GPT-2: magic, version, tokens, 253 zeros, then u16.
  std::vector<int32_t> header(256);
  header[0] = 20240520;
  header[1] = 1;
  header[2] = 1000;
  std::string llmc(reinterpret_cast<const char*>(header.data()), 1024);
  llmc.append(2000, '\1');
  WriteFile(dir().path("tokens.bin"), llmc);
  EXPECT_THAT(RunTool("verify " + dir().path("tokens.bin")),
              Prints(HasSubstr("can be read, no checksums, 1,000 tokens")));

  std::string raw(800'000, '\1');
  WriteFile(dir().path("raw.bin"), raw);
  const std::string verify = "verify " + dir().path("raw.bin");
  EXPECT_THAT(RunTool(verify + " --dtype i32"),
              Prints(HasSubstr("can be read, no checksums, 200,000 tokens")));
  raw.replace(400'004, 4, "\xff\xff\xff\xff");
  WriteFile(dir().path("raw.bin"), raw);
  const ToolRun damaged = RunTool(verify + " --dtype i32");
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_THAT(damaged.err, HasSubstr("token 100001 is stored as -1"));
  EXPECT_THAT(RunTool(verify + " --dtype u7"), FailsWith(2, HasSubstr("u7")));
  // Not taken for a configuration.
  WriteFile(dir().path("raw.bin"), std::string(1000, '\0'));
  const ToolRun unknown = RunTool(verify);
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("state their dtype"));
  WriteFile(dir().path("raw.bin"), std::string(1000, '\xfe'));
  EXPECT_THAT(RunTool(verify).err, HasSubstr("state their dtype"));
  // Which is one whatever is stated of others.
  std::filesystem::copy_file(config(), dir().path("run.conf"));
  EXPECT_THAT(RunTool(verify + " --dtype u8 " + dir().path("run.conf")),
              Prints(AllOf(HasSubstr("/a: ok, 10,000 tokens"),
                           HasSubstr("3 stores, all can be read, 1 without"))));
  // A store says all that of itself.
  EXPECT_THAT(RunTool("verify --dtype u32 " + dir().path("a")).err,
              HasSubstr("which has a dtype (u16)"));
}

TEST_F(VerifyCommandTest, DamageIsNamedAndTheOthersAreReadToo) {
  Damage("a");
  const ToolRun run = RunTool("verify " + config() + " " + dir().path("none"));
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, AllOf(HasSubstr("/a/tokens-"), HasSubstr("block 0"),
                             HasSubstr("checksum"), HasSubstr("/none")));
  EXPECT_THAT(run.out, AllOf(HasSubstr("/b: ok"),
                             HasSubstr("3 stores, 2 damaged, unreadable")));
  const ToolRun run_json = RunTool("verify --json " + config());
  EXPECT_EQ(run_json.exit_code, 1);
  const Json json = Json::parse(run_json.out);
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["stores"][0]["ok"], false);
  EXPECT_THAT(json["stores"][0]["error"].get<std::string>(),
              HasSubstr("block 0"));
  EXPECT_EQ(json["stores"][1]["ok"], true);
}

TEST_F(VerifyCommandTest, WrongCommandLinesAndConfigs) {
  EXPECT_THAT(RunTool("verify"), FailsWith(2, HasSubstr("PATH or a CONFIG")));
  WriteFile(config(), "[data]\nbatch_size = 0\n");
  EXPECT_EQ(RunTool("verify " + config()).exit_code, 1);
  EXPECT_THAT(RunTool("verify " + dir().path("none")).err, HasSubstr("/none"));
  EXPECT_THAT(RunTool("verify --help"),
              Prints(HasSubstr("example:\n  poniente verify ")));
}

class VerifyDroppedTest : public SmallStores {
 protected:
  void SetUp() override {
    WriteDocuments(dir_.path("a"), 0, 10000);
    WriteDocuments(dir_.path("b"), 1, 5000);
    WriteFile(
        dir_.path("run.toml"),
        "[data]\nsteps = 400\nbatch_size = 8\nseq_len = 16\n"
        "block_size = 32\njournal = 'run.journal'\n[data.mixture]\n"
        "a = { path = 'a', weight = 2 }\nb = { path = 'b', weight = 1 }\n");
  }

  // Drops it at step 100.
  void Drop(const RunChange& change) const {
    auto config = Config::Load(dir_.path("run.toml"));
    ASSERT_THAT(config, IsOk());
    auto loader = config->OpenLoader();
    ASSERT_THAT(loader, IsOk());
    ASSERT_THAT((*loader)->Seek(100), IsOk());
    ASSERT_THAT((*loader)->Steer(change), IsOk());
  }
};

TEST_F(VerifyDroppedTest, TheProofCountsWhatItLookedAt) {
  const std::string run = dir_.path("run.toml");
  EXPECT_THAT(RunTool("verify " + run + " --steps 0..10"),
              FailsWith(1, HasSubstr("nothing to prove")));
  Drop(RunChange::DropDocuments("a", {{5, 7}}));
  Drop(RunChange::DropItems("b", {{3, 4}}));
  EXPECT_THAT(
      RunTool("verify " + run + " --steps 0..1000"),
      Prints(AllOf(HasSubstr("steps 0 to 399 (3,200 samples): none reads"),
                   HasSubstr("2 changes dropped before"))));
  // find agrees: readings before the change, none behind it.
  for (const std::string document : {"5", "6"}) {
    const std::string find =
        "find " + run + " --source a --document " + document;
    EXPECT_THAT(RunTool(find + " --steps 0..100"),
                Prints(AllOf(HasSubstr("step"),
                             HasSubstr("document " + document +
                                       ": dropped by change 1, from step "
                                       "100 on"))));
    const ToolRun behind = RunTool(find + " --json --steps 104..400");
    EXPECT_EQ(behind.exit_code, 0) << behind.err;
    EXPECT_EQ(Json::parse(behind.out)["readings"].size(), 0u) << behind.out;
  }
  const ToolRun json = RunTool("verify --json " + run + " --steps 50..150");
  EXPECT_EQ(json.exit_code, 0) << json.err;
  EXPECT_EQ(Json::parse(json.out)["samples"], 800);
  EXPECT_EQ(Json::parse(json.out)["changes"], 2);
  EXPECT_GE(Json::parse(json.out)["items"], 2);
}

// The proof is not of the tree that it looks at: that of another journal fails.
TEST_F(VerifyDroppedTest, ARunThatReadsThemIsFound) {
  Drop(RunChange::DropItems("b", {{3, 4}}));
  const auto before = Config::Load(dir_.path("run.toml"));
  ASSERT_THAT(before, IsOk());
  std::filesystem::remove(dir_.path("run.journal"));
  const auto config = Config::Load(dir_.path("run.toml"));
  ASSERT_THAT(config, IsOk());
  const auto proof =
      internal::ProveDropped(before->journal(), TracedRun(*config), {0, 400});
  ASSERT_THAT(proof, IsOk());
  ASSERT_FALSE(proof->readings.empty());
  EXPECT_EQ(proof->readings[0].origin.path, "b");
  EXPECT_EQ(proof->readings[0].origin.item, 3u);
  EXPECT_GE(proof->readings[0].origin.sample, 800u);
}

// A mixture below the root serves its begun block to the end: no proof there.
TEST_F(VerifyDroppedTest, BelowTheRootTheProofBeginsWhereTheDropHolds) {
  const std::string run = dir_.path("run.toml");
  WriteFile(run,
            "[data]\nsteps = 400\nbatch_size = 8\nseq_len = 16\n"
            "block_size = 32\njournal = 'run.journal'\n[data.mixture]\n"
            "a = { path = 'a', weight = 2 }\n[data.mixture.n]\nweight = 1\n"
            "block_size = 64\n[data.mixture.n.mixture]\n"
            "b = { path = 'b', weight = 1 }\nc = { path = 'a', weight = 1 }\n");
  Drop(RunChange::DropItems("n/b", {{0, 150}}));
  const Json plan = Json::parse(RunTool("plan --json " + run).out);
  const auto holds = plan["changes"][0]["step"].get<uint64_t>();
  ASSERT_GT(holds, 104u) << "behind the root's next block";
  ASSERT_LT(holds, 200u);
  EXPECT_THAT(
      RunTool(absl::StrCat("verify ", run, " --steps ", holds, "..400")),
      Prints(HasSubstr("none reads")));
  const ToolRun early =
      RunTool(absl::StrCat("verify ", run, " --steps 100..", holds));
  EXPECT_EQ(early.exit_code, 1);
  EXPECT_THAT(early.out, AllOf(HasSubstr("drops, but only from the next block"),
                               HasSubstr("some read")));
  EXPECT_THAT(RunTool(absl::StrCat("show ", run, " --step ", holds)),
              Prints(HasSubstr("change 1 of the journal holds from here on: "
                               "drop of \"n/b\" items 0-149")));
}

// Stages whose thresholds choose other documents cut other windows.
TEST_F(VerifyDroppedTest, MaskedDocumentsAndPartsAreLookedAt) {
  const std::string run = dir_.path("run.toml");
  Drop(RunChange::MaskDocuments("a", {{5, 9}}));
  Drop(RunChange::DropDocuments("a", {{20, 40}}));
  Drop(RunChange::Split("a",
                        {{"x", "{path = 'a', weight = 1, slice = [300, 625]}"},
                         {"y", "{path = 'a', weight = 1, slice = [0, 300]}"}}));
  EXPECT_THAT(RunTool("verify " + run + " --steps 0..400"),
              Prints(AllOf(HasSubstr("or tokens of the 4 documents,"),
                           HasSubstr("2 changes dropped before"))));
  for (const std::string document : {"5", "8", "30"}) {
    const ToolRun find = RunTool("find " + run + " --source y --document " +
                                 document + " --json");
    EXPECT_EQ(find.exit_code, 0) << find.err;
    EXPECT_EQ(Json::parse(find.out)["readings"].size(), 0u) << find.out;
  }
  // The proof is about what is read: without the mask, it fails.
  const auto config = Config::Load(run);
  ASSERT_THAT(config, IsOk());
  const Journal journal = config->journal();
  Journal unmasked;
  for (size_t i = 1; i < journal.size(); ++i) {
    const JournalEntry entry = journal.entry(i);
    const auto line = unmasked.LineOf(entry.change, entry.sample, entry.step);
    ASSERT_THAT(line, IsOk());
    ASSERT_THAT(unmasked.Append(*line), IsOk());
  }
  std::ofstream(dir_.path("run.journal"), std::ios::binary) << unmasked.bytes();
  const auto other = Config::Load(run);
  ASSERT_THAT(other, IsOk());
  const auto proof =
      internal::ProveDropped(journal, TracedRun(*other), {0, 400});
  ASSERT_THAT(proof, IsOk());
  ASSERT_FALSE(proof->readings.empty());
  EXPECT_EQ(proof->readings[0].change, 1u);
}

TEST_F(VerifyDroppedTest, EachStageDropsItsOwnWindows) {
  const auto store = Config::Load(dir_.path("run.toml"));
  ASSERT_THAT(store, IsOk());
  const uint64_t documents = store->sources()[0].data->num_documents();
  std::ofstream scores(dir_.path("scores.f32"), std::ios::binary);
  for (uint64_t i = 0; i < documents; ++i) {
    const float score = static_cast<float>(i * 7919 % 100) / 100;
    scores.write(reinterpret_cast<const char*>(&score), sizeof(score));
  }
  scores.close();
  WriteFile(dir_.path("run.toml"),
            "[data]\nsteps = 400\nbatch_size = 8\nseq_len = 16\n"
            "block_size = 32\njournal = 'run.journal'\n[data.mixture]\n"
            "a = { path = 'a', weight = 2, documents = { scores = "
            "'scores.f32', at_least = 0.2 } }\n"
            "b = { path = 'b', weight = 1 }\n[[data.stages]]\n"
            "start_step = 200\nthresholds = { a = 0.5 }\n[[data.stages]]\n"
            "start_step = 300\nthresholds = { a = 0.1 }\n");
  Drop(RunChange::DropDocuments("a", {{5, 30}}));
  EXPECT_THAT(RunTool("verify " + dir_.path("run.toml") + " --steps 0..400"),
              Prints(HasSubstr("none reads")));
  for (const std::string document : {"5", "6", "7", "17", "29"}) {
    const ToolRun behind =
        RunTool("find " + dir_.path("run.toml") + " --source a --document " +
                document + " --json --steps 104..400");
    EXPECT_EQ(behind.exit_code, 0) << behind.err;
    EXPECT_EQ(Json::parse(behind.out)["readings"].size(), 0u) << behind.out;
  }
  // Numbers of items mean others in each.
  auto config = Config::Load(dir_.path("run.toml"));
  ASSERT_THAT(config, IsOk());
  auto loader = config->OpenLoader();
  ASSERT_THAT(loader, IsOk());
  EXPECT_THAT((*loader)->Steer(RunChange::DropItems("a", {{1, 2}})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("drop documents instead")));
}

TEST_F(VerifyDroppedTest, StepsBeforeTheChangeAreNoProof) {
  Drop(RunChange::DropItems("b", {{3, 4}}));
  EXPECT_THAT(RunTool("verify " + dir_.path("run.toml") + " --steps 0..100"),
              FailsWith(1, HasSubstr("before the end of these steps")));
}

TEST_F(VerifyDroppedTest, TheCommandLineIsChecked) {
  const std::string run = dir_.path("run.toml");
  EXPECT_THAT(RunTool("verify " + run + " --steps 5"),
              FailsWith(2, HasSubstr("must be a range a..b")));
  EXPECT_THAT(RunTool("verify " + run + " " + run + " --steps 0..5"),
              FailsWith(2, HasSubstr("give one CONFIG")));
  EXPECT_THAT(RunTool("verify " + run + " --journal x"),
              FailsWith(2, HasSubstr("goes with --steps")));
}

}  // namespace
}  // namespace poniente::testing
