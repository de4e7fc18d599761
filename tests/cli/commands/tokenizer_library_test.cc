// SPDX-License-Identifier: Apache-2.0
// The library that made a store's ids: recorded, and compared where stores are
// mixed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_tool.h"
#include "tests/support/temp_dir.h"

namespace poniente::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::json;

class TokenizerLibraryTest : public ::testing::Test {
 protected:
  // A store whose ids come from a library with this version.
  void Pack(const std::string& name, const std::string& library) const {
    WriteFile(folder_.path("ids.jsonl"), "{\"tokens\": [1, 2, 3, 4, 5, 6]}\n");
    const ToolRun run = RunTool(
        "pack " + folder_.path("ids.jsonl") + " --input-format tokens --out " +
        folder_.path(name) + " --vocab-size 9 --tokenizer-name t --quiet" +
        (library.empty() ? "" : " --tokenizer-library '" + library + "'"));
    EXPECT_EQ(run.exit_code, 0) << run.err;
  }
  Json Inspect(const std::string& name) const {
    return Json::parse(RunTool("inspect --json " + folder_.path(name)).out);
  }
  // A warning that names both stores and both versions.
  auto WarnsOf(const std::string& a, const std::string& b) const {
    return AllOf(HasSubstr(folder_.path(a)), HasSubstr("'lib 1'"),
                 HasSubstr(folder_.path(b)), HasSubstr("'lib 2'"));
  }

  const TempDir folder_;
};

TEST_F(TokenizerLibraryTest, IsThatOfTheBytesOrTheOneThatIsStated) {
  Pack("a", "lib 1");
  EXPECT_EQ(Inspect("a")["tokenizer_library"], "lib 1");
  EXPECT_TRUE(Inspect("a")["tokenizer_model"].is_null());
  Pack("b", "");
  EXPECT_TRUE(Inspect("b")["tokenizer_library"].is_null());
  EXPECT_THAT(RunTool("inspect " + folder_.path("b")),
              Prints(Not(HasSubstr("made by"))));
  EXPECT_EQ(Inspect("a")["fingerprint"], Inspect("b")["fingerprint"]);
  const std::string text = "pack " + folder_.path("ids.jsonl") +
                           " --input-format text --out " + folder_.path("text");
  ASSERT_EQ(RunTool(text).exit_code, 0);
  EXPECT_EQ(Inspect("text")["tokenizer_library"], "poniente-bytes 1");
  EXPECT_THAT(RunTool(text + " --tokenizer-library x"),
              FailsWith(2, HasSubstr("--tokenizer-library is only for")));
}

TEST_F(TokenizerLibraryTest, TwoVersionsInAMixtureAreAWarning) {
  Pack("a", "lib 1");
  Pack("b", "lib 2");
  WriteFile(folder_.path("t.toml"),
            "[data]\nsteps = 2\nbatch_size = 1\nseq_len = 2\n"
            "mixture.x = { weight = 1, path = 'a' }\n"
            "mixture.y = { weight = 1, path = 'b' }\n");
  const std::string config = "config " + folder_.path("t.toml") + " --json";
  const ToolRun run = RunTool(config);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json warnings = Json::parse(run.out)["warnings"];
  ASSERT_EQ(warnings.size(), 1u) << run.out;
  EXPECT_THAT(warnings[0].get<std::string>(),
              AllOf(HasSubstr("t.toml:6:"), WarnsOf("a", "b")));
  // It changes no token.
  const std::string show =
      "show " + folder_.path("t.toml") + " --step 1 --text --json";
  const std::string shown = RunTool(show).out;
  Pack("b", "lib 1");
  EXPECT_THAT(Json::parse(RunTool(config).out)["warnings"], IsEmpty());
  EXPECT_EQ(RunTool(show).out, shown);
  Pack("b", "");
  EXPECT_THAT(Json::parse(RunTool(config).out)["warnings"], IsEmpty());
}

// Stores that a catalogue lists are not opened for it.
TEST_F(TokenizerLibraryTest, TwoVersionsOfACataloguesStoresAreAWarning) {
  Pack("a", "lib 1");
  Pack("b", "lib 2");
  EXPECT_THAT(RunTool("catalog " + folder_.path()).err, WarnsOf("a", "b"));
  WriteFile(folder_.path("t.toml"),
            "[data]\nsteps = 2\nbatch_size = 1\nseq_len = 2\n"
            "mixture.x = { weight = 1, path = 'a' }\n"
            "mixture.y = { weight = 1, path = 'b' }\n"
            "[runtime]\ncatalogs = ['.']\n");
  const ToolRun run = RunTool("show --step 0 " + folder_.path("t.toml"));
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.err, AllOf(HasSubstr("t.toml:6:"), WarnsOf("a", "b")));
}

TEST_F(TokenizerLibraryTest, TwoVersionsInACatalogueAreAWarning) {
  Pack("parts/a", "lib 1");
  Pack("parts/b", "lib 2");
  const ToolRun run = RunTool("catalog --json " + folder_.path("parts"));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, WarnsOf("parts/a", "parts/b"));
  const Json listed = Json::parse(run.out)["stores"];
  EXPECT_EQ(listed[0]["tokenizer_library"], "lib 1");
  EXPECT_EQ(listed[1]["tokenizer_library"], "lib 2");
  const Json json = Inspect("parts");
  EXPECT_TRUE(json["tokenizer_library"].is_null());
  ASSERT_EQ(json["warnings"].size(), 1u);
  EXPECT_THAT(json["warnings"][0].get<std::string>(),
              WarnsOf("parts/a", "parts/b"));
}

TEST_F(TokenizerLibraryTest, TwoVersionsInAPackAreAWarning) {
  Pack("a", "lib 1");
  Pack("b", "lib 2");
  const auto pack = [&] {
    const ToolRun run =
        RunTool("pack " + folder_.path("a") + " " + folder_.path("b") +
                " --quiet --out " + folder_.path("both"));
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run.err;
  };
  EXPECT_THAT(pack(), WarnsOf("a", "b"));
  EXPECT_TRUE(Inspect("both")["tokenizer_library"].is_null());
  Pack("b", "lib 1");
  EXPECT_THAT(pack(), IsEmpty());
  EXPECT_EQ(Inspect("both")["tokenizer_library"], "lib 1");
}

}  // namespace
}  // namespace poniente::testing
