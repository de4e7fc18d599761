// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/small_run.h"

namespace poniente::testing {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class BenchTest : public SmallRun {
 protected:
  ToolRun Bench(const std::string& options) {
    return RunTool("bench " + config_ + " " + options);
  }
  Json BenchJson(const std::string& options) {
    const ToolRun run = Bench(options + " --json");
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.err, "");
    return Json::parse(run.out, nullptr, /*allow_exceptions=*/false);
  }
};

TEST_F(BenchTest, CountsWhatItTakes) {
  const Json found = BenchJson("--steps 7 --rank 1/2");
  EXPECT_EQ(found["steps"], 7);
  EXPECT_EQ(found["samples"], 7 * 4);
  EXPECT_EQ(found["tokens"], 7 * 4 * 64);
  EXPECT_EQ(found["has_ended"], false);
  EXPECT_GT(found["tokens_per_second"], 0);
  EXPECT_GT(found["seconds"], found["first_batch_seconds"]);
  uint64_t tokens = 0;
  for (const Json& source : found["sources"]) {
    tokens += source["tokens"].get<uint64_t>();
  }
  EXPECT_EQ(tokens, 7u * 4 * 64);
  // What was fetched ahead is counted as well.
  EXPECT_GE(found["bytes_asked"], 7 * 4 * 64 * 2);
  uint64_t asked = 0;
  for (const Json& backend : found["backends"]) {
    asked += backend["bytes_asked"].get<uint64_t>();
  }
  EXPECT_EQ(found["bytes_asked"], asked);
}

// What is read by pieces of documents is read as well.
TEST_F(BenchTest, BytesAreThoseOfAllSources) {
  PackParagraphs("c", 400);
  WriteFile(config_,
            "[data]\nsteps = 40\nbatch_size = 8\nseq_len = 64\n"
            "path = 'c'\ndocuments = { fraction = 0.5 }\n"
            "repeat = 20\n");
  const Json found = BenchJson("--steps 7");
  EXPECT_GE(found["bytes_asked"], 7 * 8 * 64 * 2);
  uint64_t asked = 0;
  uint64_t read = 0;
  for (const Json& backend : found["backends"]) {
    asked += backend["bytes_asked"].get<uint64_t>();
    read += backend["bytes_read"].get<uint64_t>();
  }
  EXPECT_EQ(found["bytes_asked"], asked);
  EXPECT_EQ(found["bytes_read"], read);
  EXPECT_DOUBLE_EQ(found["read_amplification"],
                   static_cast<double>(read) / static_cast<double>(asked));
}

// The part of docs/tool.md below a heading.
std::string DocsOf(const std::string& heading) {
  const std::string docs = ReadFile(PONIENTE_SOURCE_DIR "/docs/tool.md");
  const size_t begin = docs.find("\n## " + heading + "\n");
  if (begin == std::string::npos) return "";
  return docs.substr(begin, docs.find("\n## ", begin + 1) - begin);
}

// Keys of objects, also in arrays.
void ExpectKeysIn(const std::string& docs, const Json& value) {
  EXPECT_TRUE(value.is_structured()) << value;
  for (const auto& [key, below] : value.items()) {
    if (value.is_object()) {
      EXPECT_THAT(docs, HasSubstr("`" + key + "`"));
    }
    if (below.is_structured()) ExpectKeysIn(docs, below);
  }
}

TEST_F(BenchTest, DocsListTheKeys) {
  ExpectKeysIn(DocsOf("poniente bench"), BenchJson("--steps 3 --step-time 20"));
  EXPECT_EQ(BenchJson("--steps 3 --step-time 20")["step_time_seconds"], 0.02);
}

TEST_F(BenchTest, DocsListTheKeysOfConfigAndVerify) {
  const auto parsed = [](const std::string& arguments) {
    return Json::parse(RunTool(arguments + " --json").out, nullptr, false);
  };
  const std::string of_config = DocsOf("poniente config");
  ExpectKeysIn(of_config, parsed("config " + config_));
  ExpectKeysIn(of_config, parsed("config --explain seq_len"));
  const Json damaged = parsed("verify " + config_ + " " + folder_.path("no"));
  EXPECT_EQ(damaged["ok"], false);
  ExpectKeysIn(DocsOf("poniente verify"), damaged);
}

TEST_F(BenchTest, GoesToTheEnd) {
  const Json found = BenchJson("--from-step 30");
  EXPECT_EQ(found["steps"], 10);
  EXPECT_EQ(found["first_step"], 30);
  EXPECT_EQ(found["has_ended"], true);
}

TEST_F(BenchTest, HoldsBatchesAsATrainerWould) {
  const Json found = BenchJson("--steps 6 --step-time 20");
  EXPECT_GE(found["seconds"], 6 * 0.020);
  EXPECT_LT(found["batches_per_second"], 1 / 0.020);
  EXPECT_LT(found["stall_share"], 1);
  EXPECT_THAT(Bench("--steps 3 --step-time 1"),
              Prints(AllOf(HasSubstr("; stalled for "),
                           HasSubstr("% of the time, with steps of 1.00 ms"))));
}

TEST_F(BenchTest, StopsInTime) {
  const Json found = BenchJson("--seconds 0.05 --step-time 10");
  EXPECT_GE(found["steps"], 1);
  EXPECT_LT(found["steps"], 10);
  EXPECT_EQ(found["has_ended"], false);
}

TEST_F(BenchTest, SaysItInWords) {
  EXPECT_THAT(Bench("--steps 5"),
              Prints(AllOf(HasSubstr("5 steps from step 0, 2,560 tokens"),
                           HasSubstr("tokens/s"), HasSubstr("first batch"),
                           HasSubstr("bound by"), HasSubstr("read by"))));
  EXPECT_THAT(Bench("--steps 1"), Prints(HasSubstr("1 step from")));
}

TEST_F(BenchTest, DrawsABarOnATerminalAlone) {
  PONIENTE_NEEDS_TERMINALS();
  const std::string slow = "bench " + config_ + " --steps 10 --step-time 50";
  EXPECT_THAT(RunOnTerminal(slow, "TERM=xterm").out,
              AllOf(HasSubstr("\rbenchmarking [####"),
                    HasSubstr(" of 10 steps"), HasSubstr("\r\033[K")));
  EXPECT_EQ(RunTool(slow).err, "");
}

TEST_F(BenchTest, WhatIsWrongIsNamed) {
  EXPECT_THAT(Bench("--from-step 40"),
              FailsWith(1, HasSubstr("there is no step 40")));
  EXPECT_THAT(Bench("--seconds 0"), FailsWith(2, HasSubstr("from 0.001")));
  EXPECT_THAT(Bench("--rank 2/2"), FailsWith(2, HasSubstr("r/R")));
  EXPECT_THAT(RunTool("bench"), FailsWith(2, HasSubstr("one CONFIG")));
  EXPECT_THAT(RunTool("bench nowhere.toml"),
              FailsWith(1, HasSubstr("nowhere.toml")));
  WriteFile(config_, "[data]\nsteps = -1\nbatch_size = 'x'\n");
  const ToolRun run = Bench("");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, AllOf(HasSubstr("poniente: " + config_ + ":2"),
                             HasSubstr("\nponiente: " + config_ + ":3")));
}

}  // namespace
}  // namespace poniente::testing
