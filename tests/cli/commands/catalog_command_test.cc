// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "poniente/catalog.h"
#include "tests/cli/run_tool.h"
#include "tests/config/small_stores.h"

namespace poniente::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::json;

class CatalogCommandTest : public SmallStores {
 protected:
  std::string folder() const { return dir_.path(); }
  std::string path(const std::string& name) const { return dir_.path(name); }
  std::string file() const { return path("poniente-catalog.tsv"); }

  static void Touch(const std::string& file) {
    fs::last_write_time(file,
                        fs::last_write_time(file) + std::chrono::seconds(3));
  }
  std::string TokensOf(const std::string& store) const {
    for (const auto& entry : fs::directory_iterator(path(store))) {
      const std::string name = entry.path().filename();
      if (name.starts_with("tokens-")) return entry.path();
    }
    return "";
  }
};

TEST_F(CatalogCommandTest, SaysWhatItHasWritten) {
  const ToolRun run = RunTool("catalog " + folder() + "/");
  EXPECT_THAT(run,
              Prints(AllOf(HasSubstr(file() + ": 4 stores, "),
                           HasSubstr(" tokens, "), HasSubstr(" documents, "))));
  EXPECT_THAT(run.err, IsEmpty());
  EXPECT_THAT(RunTool("catalog --check " + folder()),
              Prints(AllOf(HasSubstr("4 stores"),
                           HasSubstr("all match the catalogue"))));
}

TEST_F(CatalogCommandTest, VerifyOfAConfigurationComparesWhatTheRunWould) {
  ASSERT_EQ(RunTool("catalog " + folder()).exit_code, 0);
  const StoreCatalog catalog = *StoreCatalog::Open(folder());
  const std::string store = catalog.entries().front().path;
  const std::string config = path("train.toml");
  WriteFile(config,
            "[data]\nseed = 1\nsteps = 1\nbatch_size = 1\n"
            "seq_len = 2\npath = \"" +
                folder() + "/" + store + "\"\n[runtime]\ncatalogs = [\"" +
                folder() + "\"]\n");
  EXPECT_THAT(RunTool("verify " + config), Prints(HasSubstr(": ok, ")));
  Touch(TokensOf(store));
  const ToolRun run = RunTool("verify " + config);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("is not the store that the catalogue"));
}

TEST_F(CatalogCommandTest, TellsTheSameInJson) {
  const ToolRun run = RunTool("catalog --json " + folder());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json json = Json::parse(run.out);
  EXPECT_EQ(json["catalog"], file());
  ASSERT_EQ(json["stores"].size(), 4u);
  uint64_t tokens = 0;
  for (const Json& store : json["stores"]) {
    tokens += store["tokens"].get<uint64_t>();
    const Json inspected = Json::parse(
        RunTool("verify --json " + path(store["path"])).out)["stores"][0];
    EXPECT_EQ(store["tokens"], inspected["tokens"]);
    EXPECT_EQ(store["bytes"], inspected["bytes"]);
    EXPECT_EQ(store["fingerprint"], inspected["fingerprint"]);
  }
  EXPECT_EQ(json["tokens"], tokens);
  EXPECT_FALSE(json.contains("ok"));
}

TEST_F(CatalogCommandTest, SaysWhichStoresHaveALossMask) {
  EXPECT_THAT(RunTool("catalog " + folder()),
              Prints(Not(HasSubstr("loss mask"))));
  WriteFile(path("chat.jsonl"),
            "{\"text\": \"abc\", \"loss_spans\": [[1, 2]]}\n");
  ASSERT_EQ(RunTool("pack " + path("chat.jsonl") + " --out " + path("chat"))
                .exit_code,
            0);
  EXPECT_THAT(RunTool("catalog " + folder()),
              Prints(HasSubstr(", 1 with a loss mask")));
  const Json json = Json::parse(RunTool("catalog --json " + folder()).out);
  ASSERT_EQ(json["stores"].size(), 5u);
  for (const Json& store : json["stores"]) {
    EXPECT_EQ(store["loss_mask"], store["path"] == "chat") << store;
  }
}

TEST_F(CatalogCommandTest, CheckNamesWhatIsStaleMissingAndNew) {
  ASSERT_EQ(RunTool("catalog " + folder()).exit_code, 0);
  Touch(path("a/manifest.json"));
  fs::rename(path("b"), path("moved"));
  const ToolRun run = RunTool("catalog --check " + folder());
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, HasSubstr("1 stale, 1 missing, 1 new"));
  EXPECT_THAT(run.err,
              AllOf(HasSubstr("/a' is not the store"),
                    HasSubstr("manifest.json was written"),
                    HasSubstr("/b' is not the store"),
                    HasSubstr("/moved' is not in the catalogue"),
                    HasSubstr("run `poniente catalog " + folder() + "`")));
  const ToolRun in_json = RunTool("catalog --check --json " + folder());
  EXPECT_EQ(in_json.exit_code, 1);
  const Json json = Json::parse(in_json.out);
  EXPECT_EQ(json["ok"], false);
  ASSERT_EQ(json["findings"].size(), 3u);
  EXPECT_EQ(json["findings"][0]["path"], "a");
  EXPECT_EQ(json["findings"][0]["kind"], "stale");
  EXPECT_EQ(json["findings"][1]["kind"], "missing");
  EXPECT_EQ(json["findings"][2]["kind"], "new");
  // The remedy that it names.
  ASSERT_EQ(RunTool("catalog " + folder()).exit_code, 0);
  EXPECT_EQ(RunTool("catalog --check " + folder()).exit_code, 0);
}

TEST_F(CatalogCommandTest, VerifyReadsAllThatItLists) {
  ASSERT_EQ(RunTool("catalog " + folder()).exit_code, 0);
  EXPECT_THAT(RunTool("verify " + folder()),
              Prints(AllOf(HasSubstr("/a: ok"), HasSubstr("/b: ok"),
                           HasSubstr("4 stores, all as they were written"))));
  const std::string tokens = TokensOf("a");
  const auto time = fs::last_write_time(tokens);
  FlipBit(tokens, 500);  // unseen but by its checksum
  fs::last_write_time(tokens, time);
  Touch(TokensOf("b"));
  const ToolRun run = RunTool("verify " + folder());
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, AllOf(HasSubstr("block 0"), HasSubstr("/a/tokens-"),
                             HasSubstr("/b' is not the store")));
  EXPECT_THAT(run.out, AllOf(HasSubstr("/c: ok"),
                             HasSubstr("2 damaged, unreadable or stale")));
}

TEST_F(CatalogCommandTest, ADamagedCatalogueIsNotBelieved) {
  ASSERT_EQ(RunTool("catalog " + folder()).exit_code, 0);
  FlipBit(file(), fs::file_size(file()) - 40);
  EXPECT_THAT(RunTool("catalog --check " + folder()),
              FailsWith(1, AllOf(HasSubstr("poniente-catalog.tsv"),
                                 HasSubstr("line 6"))));
  const ToolRun run = RunTool("verify " + folder());
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("line 6"));
  EXPECT_EQ(RunTool("catalog " + folder()).exit_code, 0);
  EXPECT_EQ(RunTool("verify " + folder()).exit_code, 0);
}

TEST_F(CatalogCommandTest, WhatCannotBeListedIsNamed) {
  fs::resize_file(TokensOf("a"), 10);
  WriteFile(path("b/manifest.json"), "{}");
  const ToolRun run = RunTool("catalog " + folder());
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_THAT(run.err, AllOf(HasSubstr("/a/tokens-"), HasSubstr("10 bytes"),
                             HasSubstr("\nponiente: '" + path("b"))));
  EXPECT_FALSE(fs::exists(file()));
}

TEST_F(CatalogCommandTest, OtherManifestsAndEmptyFoldersAreWarnedOf) {
  fs::create_directory(path("app"));
  WriteFile(path("app/manifest.json"), R"({"name":"app"})");
  const ToolRun run = RunTool("catalog " + folder());
  EXPECT_THAT(run, Prints(HasSubstr("4 stores")));
  EXPECT_THAT(
      run.err,
      HasSubstr("/app/manifest.json' does not belong to a token store"));
  const ToolRun empty = RunTool("catalog " + path("app"));
  EXPECT_THAT(empty, FailsWith(1, HasSubstr("no token store below")));
}

TEST_F(CatalogCommandTest, WrongCommandLinesAndFolders) {
  EXPECT_THAT(RunTool("catalog"), FailsWith(2, HasSubstr("give one DIR")));
  EXPECT_THAT(RunTool("catalog a b"), FailsWith(2, HasSubstr("give one DIR")));
  EXPECT_THAT(RunTool("catalog --chek a"), FailsWith(2, HasSubstr("--check")));
  EXPECT_THAT(RunTool("catalog " + path("none")),
              FailsWith(1, HasSubstr("/none")));
  EXPECT_THAT(RunTool("catalog " + path("a")),
              FailsWith(1, HasSubstr("is itself a token store")));
  EXPECT_THAT(RunTool("catalog --check " + folder()),
              FailsWith(1, HasSubstr("no catalogue in")));
  EXPECT_THAT(RunTool("catalog --help"),
              Prints(HasSubstr("example:\n  poniente catalog ")));
}

}  // namespace
}  // namespace poniente::testing
