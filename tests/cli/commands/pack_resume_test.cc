// SPDX-License-Identifier: Apache-2.0
// A pack that was killed and started again makes the same files as one that was
// not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tests/cli/packed_store.h"
#include "tests/cli/run_tool.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class PackResumeTest : public ::testing::Test {
 protected:
  // Short lines and blank ones, so that there are many documents, and a long
  // document that spans units.
  PackResumeTest() : random_(TestSeed(85)) {
    std::filesystem::create_directories(folder_.path("in"));
    for (const char* name : {"a", "b", "c"}) {
      std::string text;
      for (int line = 0; line < 300000; ++line) {
        text.append(random_() % 30, static_cast<char>('a' + random_() % 26));
        text += '\n';
      }
      text += "x\n" + std::string(1500000, 'y');
      WriteFile(folder_.path("in/" + std::string(name)), text);
    }
  }

  std::string Arguments(const std::string& out) const {
    return "pack " + folder_.path("in") + " --out " + out +
           " --split paragraphs --checkpoint-bytes 4096 --threads 3";
  }
  std::string out() const { return folder_.path("out"); }

  pid_t Start() {
    // One way may go on where the other left off.
    return StartTool(Arguments(out()) + options_ + " --direct " +
                     (random_() % 2 == 0 ? "on" : "off") + " >" +
                     folder_.path("said") + " 2>&1");
  }
  // True if the pack was still at work. What it said is Said().
  static bool Kill(pid_t child, int signal) {
    ::kill(child, signal);
    int status = 0;
    ::waitpid(child, &status, 0);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  }
  bool KillAfter(useconds_t microseconds) {
    const pid_t child = Start();
    ::usleep(microseconds);
    return Kill(child, SIGKILL);
  }
  std::string Said() const { return ReadFile(folder_.path("said")); }

  // Ends packs by `signal` until one leaves a checkpoint, but no store.
  void KillBehindACheckpoint(int signal = SIGKILL) {
    const std::string checkpoint = out() + "/scratch-checkpoint";
    for (int attempt = 0; attempt < 50; ++attempt) {
      std::filesystem::remove_all(out());
      const pid_t child = Start();
      for (int i = 0; i < 20000 && !std::filesystem::exists(checkpoint) &&
                      !std::filesystem::exists(out() + "/manifest.json");
           ++i) {
        ::usleep(100);
      }
      Kill(child, signal);
      if (std::filesystem::exists(checkpoint) &&
          !std::filesystem::exists(out() + "/manifest.json")) {
        return;
      }
    }
    FAIL() << "never ended between a checkpoint and the store";
  }

  std::string options_;  // beside Arguments()
  std::mt19937_64 random_;
  const TempDir folder_;
};

TEST_F(PackResumeTest, KilledAtAnyMomentItGoesOnToTheSameBytes) {
  const int rounds = TestRounds(20);
  const std::string whole = folder_.path("whole");
  const double seconds = ShortestPack(whole, [&] {
                           ASSERT_EQ(RunTool(Arguments(whole)).exit_code, 0);
                         }).count();
  const auto expected = FilesIn(whole);
  int kills = 0;
  int resumed = 0;
  for (int round = 0; round < rounds; ++round) {
    std::filesystem::remove_all(out());
    // Each attempt gets further; one that is left alone ends it.
    for (bool killed = true; killed;) {
      const auto wait = static_cast<useconds_t>(
          1e6 * seconds * 1.2 * static_cast<double>(random_() % 1000) / 1000);
      killed = KillAfter(wait);
      kills += killed;
      resumed += Said().find("resuming after") != std::string::npos;
      // The commit is the end, whatever is still to be removed.
      if (std::filesystem::exists(out() + "/manifest.json")) break;
    }
    auto made = FilesIn(out());
    std::erase_if(made, [](const auto& file) {
      return file.first.starts_with("scratch-") || file.first == "writer.lock";
    });
    ASSERT_TRUE(made == expected) << "round " << round;
  }
  std::printf("%d rounds of %.2f s, %d kills, %d went on\n", rounds, seconds,
              kills, resumed);
  EXPECT_GT(kills, rounds / 4);
  EXPECT_GT(resumed, rounds / 10);
}

TEST_F(PackResumeTest, NothingIsVisibleBeforeTheEndAndNothingIsLeftBehindIt) {
  KillBehindACheckpoint();
  EXPECT_THAT(TokenStore::Open(out()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(out())));
  const ToolRun run = RunTool(Arguments(out()) + " --json");
  EXPECT_THAT(run.err, HasSubstr("resuming after"));
  EXPECT_THAT(run, Prints(Not(HasSubstr("\"resumed_bytes\": 0,"))));
  EXPECT_EQ(FilesIn(out()).size(), 4u);
}

TEST_F(PackResumeTest, ADamagedByteOfWhatWasLeftStartsItAfresh) {
  const std::string whole = folder_.path("whole");
  ASSERT_EQ(RunTool(Arguments(whole)).exit_code, 0);
  KillBehindACheckpoint();
  const std::string left = folder_.path("left");
  std::filesystem::copy(out(), left);
  for (const char* name : {"ends", "name-ends", "names"}) {
    std::filesystem::remove_all(out());
    std::filesystem::copy(left, out());
    const std::string scratch = out() + "/scratch-" + name;
    ASSERT_GT(std::filesystem::file_size(scratch), 0u) << name;
    FlipBit(scratch, 0);
    const ToolRun run = RunTool(Arguments(out()));
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_THAT(run.err, HasSubstr("starting again from the beginning"))
        << name;
    // Files of another generation have other names, and the same bytes.
    EXPECT_EQ(PackedDocuments(out()), PackedDocuments(whole)) << name;
  }
}

TEST_F(PackResumeTest, KilledRightBehindTheCommitItPacksAllAgain) {
  KillBehindACheckpoint();
  const std::string checkpoint = out() + "/scratch-checkpoint";
  const std::string saved = ReadFile(checkpoint);
  ASSERT_EQ(RunTool(Arguments(out())).exit_code, 0);
  WriteFile(checkpoint, saved);  // what was to be removed next
  const ToolRun run = RunTool(Arguments(out()) + " --json");
  EXPECT_THAT(run, Prints(HasSubstr("\"resumed_bytes\": 0,")));
  EXPECT_THAT(run.err, Not(HasSubstr("resuming")));
  const auto packed = TokenStore::Open(out());
  ASSERT_THAT(packed, IsOk());
  ASSERT_EQ(RunTool(Arguments(folder_.path("whole"))).exit_code, 0);
  const auto whole = TokenStore::Open(folder_.path("whole"));
  ASSERT_THAT(whole, IsOk());
  EXPECT_EQ((*packed)->fingerprint(), (*whole)->fingerprint());
}

TEST_F(PackResumeTest, AnotherNumberOfThreadsGoesOnToo) {
  ASSERT_EQ(RunTool(Arguments(folder_.path("whole"))).exit_code, 0);
  KillBehindACheckpoint();
  std::string arguments = Arguments(out());
  arguments.back() = '1';
  EXPECT_THAT(RunTool(arguments).err, HasSubstr("resuming after"));
  EXPECT_TRUE(FilesIn(out()) == FilesIn(folder_.path("whole")));
}

TEST_F(PackResumeTest, ChangedInputsStartItAfresh) {
  KillBehindACheckpoint();
  WriteFile(folder_.path("in/b"), "changed");
  EXPECT_THAT(
      RunTool(Arguments(out())).err,
      HasSubstr("starting again from the beginning: the inputs have changed"));
  ASSERT_EQ(RunTool(Arguments(folder_.path("whole"))).exit_code, 0);
  EXPECT_TRUE(FilesIn(out()) == FilesIn(folder_.path("whole")));
}

TEST_F(PackResumeTest, ChangedOptionsStartItAfresh) {
  KillBehindACheckpoint();
  const ToolRun run = RunTool(Arguments(out()) + " --eod none");
  EXPECT_THAT(run.err,
              HasSubstr("starting again from the beginning: the options"));
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(FilesIn(out()).size(), 4u);
}

TEST_F(PackResumeTest, RestartDoesNotGoOn) {
  KillBehindACheckpoint();
  const ToolRun run = RunTool(Arguments(out()) + " --restart --json");
  EXPECT_THAT(run, Prints(HasSubstr("\"resumed_bytes\": 0,")));
  EXPECT_THAT(run.err, Not(HasSubstr("resuming")));
}

TEST_F(PackResumeTest, ADamagedCheckpointStartsItAfresh) {
  KillBehindACheckpoint();
  FlipBit(out() + "/scratch-checkpoint", 20);
  EXPECT_THAT(RunTool(Arguments(out()) + " --json"),
              Prints(HasSubstr("\"resumed_bytes\": 0,")));
}

TEST_F(PackResumeTest, FilesShorterThanTheCheckpointSaysStartItAfresh) {
  ASSERT_EQ(RunTool(Arguments(folder_.path("whole"))).exit_code, 0);
  for (const char* name : {"tokens-1.bin", "checksums-1.bin", "scratch-ends",
                           "scratch-name-ends", "scratch-names"}) {
    KillBehindACheckpoint();
    std::filesystem::resize_file(out() + "/" + name, 3);
    const ToolRun run = RunTool(Arguments(out()));
    EXPECT_THAT(run.err, AllOf(HasSubstr("starting again from the beginning"),
                               HasSubstr(name)));
    EXPECT_TRUE(FilesIn(out()) == FilesIn(folder_.path("whole"))) << name;
  }
}

TEST_F(PackResumeTest, InterruptedItKeepsWhatItHasAndSaysSo) {
  ASSERT_EQ(RunTool(Arguments(folder_.path("whole"))).exit_code, 0);
  KillBehindACheckpoint(SIGTERM);
  EXPECT_THAT(Said(), AllOf(HasSubstr("interrupted"),
                            HasSubstr("run the same command to resume")));
  EXPECT_THAT(TokenStore::Open(out()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(out())));
  EXPECT_THAT(RunTool(Arguments(out())).err, HasSubstr("resuming after"));
  EXPECT_TRUE(FilesIn(out()) == FilesIn(folder_.path("whole")));
}

TEST_F(PackResumeTest, TheStoreThatWasThereStaysUntilTheNewOneIsComplete) {
  WriteFile(folder_.path("old"), "old");
  ASSERT_EQ(
      RunTool("pack " + folder_.path("old") + " --out " + out()).exit_code, 0);
  const auto before = PackedDocuments(out());
  for (int attempt = 0; attempt < 10; ++attempt) {
    KillAfter(static_cast<useconds_t>(random_() % 60000));
    if (PackedDocuments(out()) != before) break;
  }
  ASSERT_EQ(RunTool(Arguments(out())).exit_code, 0);
  ASSERT_EQ(RunTool(Arguments(folder_.path("whole"))).exit_code, 0);
  EXPECT_TRUE(PackedDocuments(out()) == PackedDocuments(folder_.path("whole")));
  EXPECT_EQ(FilesIn(out()).size(), 4u);
}

TEST_F(PackResumeTest, AnotherBlockSizeStartsAfreshAndSaysSo) {
  KillBehindACheckpoint();
  const ToolRun run = RunTool(Arguments(out()) + " --block-bytes 64KiB");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("the options or this tool have changed"));
  EXPECT_THAT(ReadFile(out() + "/manifest.json"),
              HasSubstr("\"block_bytes\": 65536"));
  EXPECT_EQ(RunTool("verify " + out()).exit_code, 0);
}

TEST_F(PackResumeTest, LargeBlocksAreGoneOnWithToo) {
  const std::string large = " --block-bytes 64KiB";
  const std::string whole = folder_.path("whole");
  ASSERT_EQ(RunTool(Arguments(whole) + large).exit_code, 0);
  options_ = large;
  KillBehindACheckpoint();
  const ToolRun run = RunTool(Arguments(out()) + large);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("resuming after"));
  EXPECT_TRUE(FilesIn(out()) == FilesIn(whole));
}

}  // namespace
}  // namespace poniente::testing
