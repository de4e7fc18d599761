// SPDX-License-Identifier: Apache-2.0
// No sequence of packs, kills, repacks and reads turns a damaged byte of a
// store into other tokens that pass for right ones.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/cli/run_tool.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente::testing {
namespace {

constexpr char kQuestions[][40] = {"documents", "cat --tokens 0..20000 --raw",
                                   "cat --document 700..900 --raw",
                                   "cat --window 20..40 --length 128 --raw"};

// Stores made of the same text, by each other or from the text itself.
class DamageSequencesTest : public ::testing::Test {
 protected:
  DamageSequencesTest() : random_(TestSeed(119)) {
    std::filesystem::create_directories(folder_.path("in"));
    for (const char* name : {"a", "b"}) {
      std::string text;
      for (int line = 0; line < 1500; ++line) {
        text.append(random_() % 30, static_cast<char>('a' + random_() % 26));
        text += "\n\n";
      }
      WriteFile(folder_.path("in/" + std::string(name)), text);
    }
    const std::string whole = folder_.path("whole");
    const std::chrono::duration<double, std::micro> took =
        ShortestPack(whole, [this] {
          EXPECT_EQ(RunTool(PackCommand("in", "whole")).exit_code, 0);
        });
    microseconds_ = static_cast<uint64_t>(took.count() * 1.2);
    for (const std::string question : kQuestions) {
      const ToolRun run = RunTool(question + " " + whole);
      EXPECT_EQ(run.exit_code, 0) << run.err;
      answers_[question] = run.out;
    }
    std::filesystem::remove_all(whole);
  }

  std::string PackCommand(const std::string& from, const std::string& to) {
    return "pack " + folder_.path(from) + " --out " + folder_.path(to) +
           (from == "in" ? " --split paragraphs" : "") +
           " --checkpoint-bytes 4096 --quiet";
  }

  // Runs it, or ends it on the way. A pack may fail: of a damaged store it
  // must.
  void Pack(const std::string& command) {
    const std::string threads = std::to_string(1 + random_() % 3);
    said_ += "  " + command + " --threads " + threads;
    const bool ends_it = random_() % 2 == 0;
    const uint64_t after = random_() % microseconds_;
    const pid_t child =
        StartTool(command + " --threads " + threads + " >/dev/null 2>&1");
    if (ends_it) {
      ::usleep(static_cast<useconds_t>(after));
      ::kill(child, SIGKILL);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    kills_ += killed;
    said_ += killed ? ": killed\n"
                    : ": exit " + std::to_string(WEXITSTATUS(status)) + "\n";
    EXPECT_TRUE(killed || (WIFEXITED(status) && WEXITSTATUS(status) <= 1))
        << status;
  }
  void PackAnother() {
    const std::string name = "s" + std::to_string(commands_.size());
    std::string from = "in";
    if (!commands_.empty() && random_() % 2 == 0) {
      from = "s" + std::to_string(random_() % commands_.size());
    }
    commands_.push_back(PackCommand(from, name));
    Pack(commands_.back());
  }
  void PackAgain() { Pack(commands_[random_() % commands_.size()]); }

  // One byte of one file of one store, finished or not.
  bool Damage() {
    std::vector<std::string> files;
    for (size_t store = 0; store < commands_.size(); ++store) {
      const std::string folder = folder_.path("s" + std::to_string(store));
      if (!std::filesystem::exists(folder)) continue;
      for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.file_size() > 0) files.push_back(entry.path());
      }
    }
    if (files.empty()) return false;
    const std::string& file = files[random_() % files.size()];
    const uint64_t at = random_() % std::filesystem::file_size(file);
    std::string bytes = ReadFile(file);
    bytes[at] = static_cast<char>(bytes[at] ^ (1 + random_() % 255));
    WriteFile(file, bytes);
    said_ += "  byte " + std::to_string(at) + " of " + file + "\n";
    return true;
  }

  // What a store says with exit 0 is right.
  void Ask(size_t store, const std::string& question) {
    const ToolRun run =
        RunTool(question + " " + folder_.path("s" + std::to_string(store)));
    EXPECT_TRUE(run.exit_code == 0 || run.exit_code == 1) << run.exit_code;
    said_ += "  " + question + " of s" + std::to_string(store) + ": exit " +
             std::to_string(run.exit_code) + "\n";
    if (run.exit_code != 0) return;
    ++answered_;
    EXPECT_TRUE(run.out == answers_[question]) << said_;
  }
  void AskAll(size_t store) {
    for (const std::string question : kQuestions) Ask(store, question);
    // One that verifies has all to give.
    const std::string path = folder_.path("s" + std::to_string(store));
    if (RunTool("verify " + path).exit_code != 0) return;
    ++verified_;
    for (const std::string question : kQuestions) {
      EXPECT_EQ(RunTool(question + " " + path).exit_code, 0) << said_;
    }
  }

  void RunSequence() {
    said_.clear();
    const uint64_t length = 2 + random_() % 5;
    const uint64_t damaged_at = 1 + random_() % length;
    bool is_damaged = false;
    for (uint64_t i = 0; i <= length; ++i) {
      if (!is_damaged && i >= damaged_at) is_damaged = Damage();
      const uint64_t what = random_() % 6;
      if (commands_.empty() || (what < 2 && commands_.size() < 4)) {
        PackAnother();
      } else if (what < 4) {
        PackAgain();
      } else {
        Ask(random_() % commands_.size(),
            kQuestions[random_() % std::size(kQuestions)]);
      }
    }
    damaged_ += is_damaged;
    for (size_t store = 0; store < commands_.size(); ++store) {
      AskAll(store);
      std::filesystem::remove_all(folder_.path("s" + std::to_string(store)));
    }
    commands_.clear();
  }

  std::mt19937_64 random_;
  const TempDir folder_;
  uint64_t microseconds_ = 0;  // that a pack may take
  std::map<std::string, std::string> answers_;
  std::vector<std::string> commands_;  // that made stores s0, s1, ...
  std::string said_;
  int kills_ = 0;
  int damaged_ = 0;
  int answered_ = 0;
  int verified_ = 0;
};

TEST_F(DamageSequencesTest, NoneEndsWithOtherTokensAndNoError) {
  const int rounds = TestRounds(40);
  for (int round = 0; round < rounds && !HasFailure(); ++round) RunSequence();
  std::printf(
      "%d sequences, %d damaged, %d kills; %d right answers, %d stores "
      "verified\n",
      rounds, damaged_, kills_, answered_, verified_);
  EXPECT_GT(damaged_, rounds / 2);
  // How many come in time is up to the machine; none would test nothing.
  EXPECT_GT(kills_, rounds / 16);
  EXPECT_GT(answered_, rounds / 4);
  EXPECT_GT(verified_, rounds / 8);
}

}  // namespace
}  // namespace poniente::testing
