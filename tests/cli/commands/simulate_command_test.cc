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

class SimulateTest : public SmallRun {
 protected:
  ToolRun Simulate(const std::string& options) {
    return RunTool("simulate " + config_ + " " + options);
  }
};

TEST_F(SimulateTest, ComparesOrdersChunksAndCaches) {
  const ToolRun run = Simulate(
      "--io --steps 10 --chunk-bytes 128,4KiB --cache-bytes 1kB,1MiB --json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json found = Json::parse(run.out);
  EXPECT_EQ(found["steps"], 10);
  EXPECT_EQ(found["samples"], 80);
  EXPECT_EQ(found["used_bytes"], 80 * 128);
  EXPECT_EQ(found["files"], 2);
  EXPECT_TRUE(found["token_bytes_assumed"].empty());
  ASSERT_EQ(found["orders"].size(), 3u);
  EXPECT_EQ(found["orders"][0]["order"], "configured");
  EXPECT_EQ(found["orders"][1]["order"], "full_shuffle");
  EXPECT_EQ(found["orders"][2]["order"], "block_shuffle");
  for (const Json& order : found["orders"]) {
    ASSERT_EQ(order["chunks"].size(), 2u);
    // A chunk of a sample's size is that sample; few are in a batch twice.
    const Json& exact = order["chunks"][0];
    EXPECT_EQ(exact["chunk_bytes"], 128);
    EXPECT_LE(exact["chunks_per_batch"], 8);
    EXPECT_GT(exact["chunks_per_batch"], 7);
    EXPECT_LE(exact["amplification_without_cache"], 1);
    EXPECT_LE(exact["used_share"], 1);
    // Everything fits the greater cache.
    const Json& pages = order["chunks"][1];
    EXPECT_GT(pages["amplification_without_cache"], 4);
    EXPECT_EQ(pages["amplification"][1]["cache_bytes"], 1 << 20);
    EXPECT_EQ(pages["amplification"][1]["amplification"],
              pages["amplification_if_all_kept"]);
  }
}

// Their windows do not say how long they are.
TEST_F(SimulateTest, DocumentsThatAreChosenHaveABlockShuffleToo) {
  PackParagraphs("c", 400);
  WriteFile(config_,
            "[data]\nsteps = 10\nbatch_size = 4\nseq_len = 64\n"
            "mixture.a = { weight = 1, path = 'a' }\n"
            "mixture.c = { weight = 1, path = 'c', "
            "documents = { fraction = 0.5 } }\n");
  const ToolRun run = Simulate("--io --block-tokens 64 --json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json found = Json::parse(run.out);
  EXPECT_EQ(found["used_bytes"], 10 * 4 * 64 * 2);
  ASSERT_EQ(found["orders"].size(), 3u);
  EXPECT_TRUE(found["left_out"].empty());
  EXPECT_EQ(found["orders"][2]["order"], "block_shuffle");
  EXPECT_GT(found["orders"][2]["chunks"][0]["chunks_per_batch"], 0);
  EXPECT_THAT(Simulate("--io"), Prints(HasSubstr("block shuffle")));
}

TEST_F(SimulateTest, SaysItInWords) {
  EXPECT_THAT(
      Simulate(""),
      Prints(AllOf(HasSubstr("the first 40 steps read 320 samples, 41.0 kB"),
                   HasSubstr("in chunks of 16 MiB:"),
                   HasSubstr("as configured"), HasSubstr("block shuffle"))));
  EXPECT_THAT(Simulate("--rank 1/4"),
              Prints(HasSubstr("of rank 1 of 4 read 80 samples")));
  PONIENTE_NEEDS_TERMINALS();
  EXPECT_THAT(RunOnTerminal("simulate " + config_, "TERM=xterm"),
              Prints(HasSubstr("\033[1m  order")));
}

TEST_F(SimulateTest, WhatIsWrongIsNamed) {
  EXPECT_THAT(
      Simulate("--chunk-bytes 64KiB,many"),
      FailsWith(2, AllOf(HasSubstr("--chunk-bytes"), HasSubstr("got 'many'"))));
  EXPECT_THAT(Simulate("--cache-bytes 0"), FailsWith(2, HasSubstr("got '0'")));
  EXPECT_THAT(Simulate("--window-chunks 0"), FailsWith(2, HasSubstr("'0'")));
  EXPECT_THAT(Simulate("--steps x"), FailsWith(2, HasSubstr("'x'")));
  EXPECT_THAT(RunTool("simulate"), FailsWith(2, HasSubstr("one CONFIG")));
  EXPECT_THAT(RunTool("simulate nowhere.toml"),
              FailsWith(1, HasSubstr("nowhere.toml")));
}

}  // namespace
}  // namespace poniente::testing
