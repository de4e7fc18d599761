// SPDX-License-Identifier: Apache-2.0
// Runs that read a store while `pack --growing` writes it, is killed, and is
// started again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "poniente/config.h"
#include "poniente/loader.h"
#include "tests/cli/run_tool.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class PackGrowingTest : public ::testing::Test {
 protected:
  PackGrowingTest() : random_(TestSeed(29)) {
    std::filesystem::create_directories(folder_.path("in"));
    for (const char* name : {"a", "b", "c"}) {
      std::string text;
      for (int line = 0; line < 400000; ++line) {
        text.append(random_() % 30, static_cast<char>('a' + random_() % 26));
        text += '\n';
      }
      WriteFile(folder_.path("in/" + std::string(name)), text);
    }
  }

  std::string Pack(const std::string& out) const {
    return absl::StrCat("pack ", folder_.path("in"), " --out ",
                        folder_.path(out),
                        " --split paragraphs --checkpoint-bytes 4096 "
                        "--threads 2 --quiet");
  }

  std::unique_ptr<Loader> Open(const std::string& store, uint64_t step) const {
    auto config = Config::Parse(
        absl::StrCat("[data]\nseed = 1\nbatch_size = 64\nseq_len = 64\n"
                     "path = \"",
                     store, "\"\ngrowing = true\nera_shuffle = 100\n"),
        "run.toml", folder_.path());
    EXPECT_THAT(config, IsOk());
    LoaderOptions options = config->loader_options();
    options.start_step = step;
    auto loader = config->OpenLoader(options);
    EXPECT_THAT(loader, IsOk());
    return *std::move(loader);
  }

  TempDir folder_;
  std::mt19937_64 random_;
};

TEST_F(PackGrowingTest, APackThatIsKilledTakesNothingBack) {
  ASSERT_EQ(RunTool(Pack("whole")).exit_code, 0);
  const std::string out = folder_.path("out");
  std::atomic<bool> is_packed = false;
  std::atomic<int> kills = 0;
  std::thread packs([&, seed = random_()] {
    std::mt19937_64 random(seed);
    while (true) {
      const pid_t child =
          StartTool(Pack("out") + " --growing --direct " +
                    (random() % 2 == 0 ? "on" : "off") + " 2>&1");
      if (kills < 25) {
        ::usleep(static_cast<useconds_t>(5000 + random() % 40000));
        ::kill(child, SIGKILL);
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
      ++kills;
    }
    is_packed = true;
  });
  while (!std::filesystem::exists(out + "/scratch-growth.json") && !is_packed) {
    ::usleep(1000);
  }
  const auto want = Open("whole", 0);
  auto loader = Open("out", 0);
  uint64_t step = 0;
  while (true) {
    if (step % 97 == 96) loader = Open("out", step);  // killed, too
    const auto expected = want->NextBlocking();
    const auto batch = loader->NextBlocking();
    ASSERT_EQ(batch.status().code(), expected.status().code())
        << batch.status();
    if (!batch.ok()) break;
    const auto got = batch->tokens<uint32_t>();
    const auto tokens = expected->tokens<uint32_t>();
    ASSERT_TRUE(
        std::equal(got.begin(), got.end(), tokens.begin(), tokens.end()))
        << "step " << step;
    ++step;
  }
  packs.join();
  EXPECT_GT(step, 1000u);
  std::printf("%d kills\n", kills.load());
  EXPECT_GT(kills, 0);
  EXPECT_EQ(RunTool("verify " + out).exit_code, 0);
  EXPECT_EQ(ReadFile(out + "/manifest.json"),
            ReadFile(folder_.path("whole/manifest.json")));
}

TEST_F(PackGrowingTest, StandardInputGrows) {
  const std::string out = folder_.path("out");
  const ToolRun run =
      RunTool("pack - --growing --out " + out, "printf 'some text' |");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(RunTool("verify " + out).exit_code, 0);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(out),
                          std::filesystem::directory_iterator()),
            4);
}

TEST_F(PackGrowingTest, WhatIsPublishedStaysIfThePackFails) {
  std::string lines;
  for (int i = 0; i < 40000; ++i) {
    lines += "{\"text\": \"" + std::string(40, 'a') + "\"}\n";
  }
  WriteFile(folder_.path("bad.jsonl"), lines + "{no\n");
  const std::string out = folder_.path("out");
  // Slowly, so that something is published before the end.
  const ToolRun failed = RunTool(
      "pack - --input-format jsonl --growing --checkpoint-bytes 4096 --out " +
          out,
      "(head -n 39000 " + folder_.path("bad.jsonl") +
          "; sleep 0.5; tail -n 1001 " + folder_.path("bad.jsonl") + ") |");
  EXPECT_NE(failed.exit_code, 0);
  EXPECT_THAT(failed.err, HasSubstr("40001"));
  EXPECT_THAT(Open("out", 0)->NextBlocking(), IsOk());
  WriteFile(folder_.path("run.toml"),
            "[data]\nsteps = 10\nbatch_size = 2\nseq_len = 64\n"
            "path = \"out\"\ngrowing = true\nera_shuffle = 10\n");
  EXPECT_THAT(RunTool("verify " + folder_.path("run.toml")),
              Prints(HasSubstr("ok so far, still being written, ")));
  const ToolRun plan = RunTool("pack " + folder_.path("in") + " --out " + out);
  EXPECT_NE(plan.exit_code, 0);
  EXPECT_THAT(plan.err, HasSubstr("--restart"));
  EXPECT_THAT(Open("out", 0)->NextBlocking(), IsOk());
  EXPECT_EQ(RunTool("pack " + folder_.path("in") + " --restart --out " + out)
                .exit_code,
            0);
}

TEST_F(PackGrowingTest, AnEmptyStoreCanBePlanned) {
  const std::string out = folder_.path("out");
  const pid_t child = StartTool("pack - --growing --quiet --out " + out +
                                " < /dev/zero > /dev/null 2>&1");
  while (!std::filesystem::exists(out + "/scratch-growth.json")) ::usleep(100);
  ::kill(child, SIGSTOP);
  for (const std::string more : {"", "take = 10\n", "repeat = 2\n"}) {
    WriteFile(folder_.path("run.toml"),
              "[data]\nsteps = 10\nbatch_size = 2\nseq_len = 64\n"
              "path = \"out\"\ngrowing = true\nera_shuffle = 10\n" +
                  more);
    const ToolRun plan = RunTool("plan " + folder_.path("run.toml"));
    EXPECT_TRUE(plan.exit_code == 0 || plan.exit_code == 1) << plan.err;
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_F(PackGrowingTest, WhatReadersCouldNotReadIsRefused) {
  const std::string out = folder_.path("out");
  ASSERT_EQ(RunTool("pack - --out " + out, "printf 'some text' |").exit_code,
            0);
  const ToolRun again =
      RunTool("pack - --growing --out " + out, "printf 'more text' |");
  EXPECT_NE(again.exit_code, 0);
  EXPECT_THAT(again.err, AllOf(HasSubstr("holds a store already"),
                               HasSubstr("--growing")));
  const ToolRun chats = RunTool(
      "pack - --input-format messages --growing "
      "--out " +
      folder_.path("chats"));
  EXPECT_NE(chats.exit_code, 0);
  EXPECT_THAT(chats.err, HasSubstr("--loss-mask drop"));
}

}  // namespace
}  // namespace poniente::testing
