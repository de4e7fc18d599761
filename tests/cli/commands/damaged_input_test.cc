// SPDX-License-Identifier: Apache-2.0
// What is damaged is not handed on, and what is no file holds nothing up.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <utility>

#include "tests/cli/packed_store.h"
#include "tests/cli/run_tool.h"
#include "tests/support/temp_dir.h"

namespace poniente::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class DamagedInputTest : public ::testing::Test {
 protected:
  DamagedInputTest() {
    std::string text;
    for (int i = 0; i < 20000; ++i)
      text += "line " + std::to_string(i) + "\n\n";
    WriteFile(path("text"), text);
  }
  std::string path(const std::string& name) const { return folder_.path(name); }
  std::string Store() const {
    EXPECT_EQ(RunTool("pack " + path("text") + " --split paragraphs --out " +
                      path("store"))
                  .exit_code,
              0);
    return path("store");
  }
  void MakePipe(const std::string& name) const {
    ASSERT_EQ(::mkfifo(path(name).c_str(), 0600), 0);
  }

  const TempDir folder_;
};

TEST_F(DamagedInputTest, ADamagedTokenIsNeitherPackedNorPrinted) {
  const std::string store = Store();
  FlipBit(store + "/tokens-1.bin", 1234);
  const auto told =
      FailsWith(1, AllOf(HasSubstr("tokens-1.bin"), HasSubstr("checksum")));
  EXPECT_THAT(RunTool("pack " + store + " --out " + path("copy")), told);
  EXPECT_FALSE(std::filesystem::exists(path("copy/manifest.json")));
  EXPECT_THAT(RunTool("cat --tokens 600..640 " + store), told);
  EXPECT_THAT(RunTool("cat --document 100 " + store), told);
  EXPECT_THAT(RunTool("verify " + store), told);
}

TEST_F(DamagedInputTest, AStoreWithoutAManifestIsNoText) {
  const std::string store = Store();
  std::filesystem::remove(store + "/manifest.json");
  const auto told = FailsWith(
      1, AllOf(HasSubstr(store), HasSubstr("files of a token store")));
  EXPECT_THAT(RunTool("pack " + store + " --out " + path("copy")), told);
  EXPECT_THAT(RunTool("pack " + folder_.path() + " --out " + path("copy")),
              told);
  EXPECT_FALSE(std::filesystem::exists(path("copy/manifest.json")));
}

// As a pack that was killed leaves it.
TEST_F(DamagedInputTest, AStoreThatIsBegunIsNoText) {
  const auto told = FailsWith(
      1, AllOf(HasSubstr("begun"), HasSubstr("files of a token store")));
  for (const char* name : {"tokens-1.bin", "scratch-names"}) {
    std::filesystem::create_directories(path("begun"));
    WriteFile(path("begun/writer.lock"), "");
    WriteFile(path("begun/" + std::string(name)), "words");
    EXPECT_THAT(RunTool("pack " + path("begun") + " --out " + path("copy")),
                told);
    std::filesystem::remove_all(path("begun"));
  }
  // One that was killed before it had any other file.
  std::filesystem::create_directories(path("begun"));
  WriteFile(path("begun/writer.lock"), "poniente writer\n");
  EXPECT_THAT(RunTool("pack " + path("begun") + " --out " + path("copy")),
              told);
}

// Whichever of them the parent process has closed, no file is opened in its
// place for others to print into.
TEST_F(DamagedInputTest, ClosedStandardDescriptorsAreNoFilesOfAStore) {
  const std::string whole = Store();
  // What cannot be said is an error, when all is done.
  const std::pair<const char*, int> cases[] = {{"<&-", 0},
                                               {"2>&-", 0},
                                               {"<&- 2>&-", 0},
                                               {">&-", 1},
                                               {"<&- >&- 2>&-", 1}};
  for (const auto& [closed, exit_code] : cases) {
    const std::string out = path("out");
    std::filesystem::remove_all(out);
    EXPECT_EQ(RunTool("pack " + path("text") + " --split paragraphs --out " +
                      out + " --threads 1 --checkpoint-bytes 4096 " + closed)
                  .exit_code,
              exit_code)
        << closed;
    EXPECT_TRUE(FilesIn(out) == FilesIn(whole)) << closed;
    EXPECT_EQ(RunTool("verify " + out).exit_code, 0) << closed;
  }
}

TEST_F(DamagedInputTest, PipesAndDevicesAreRefusedAtOnce) {
  MakePipe("pipe.toml");
  const auto run = [](const std::string& arguments) {
    return RunTool(arguments, "timeout 20");
  };
  const auto no_file = FailsWith(1, HasSubstr("not a regular file"));
  for (const char* const command : {"config ", "plan "}) {
    EXPECT_THAT(run(command + path("pipe.toml")), no_file) << command;
  }
  EXPECT_THAT(run("verify " + path("pipe.toml")),
              FailsWith(1, HasSubstr("neither a file nor a folder")));
  EXPECT_THAT(run("config /dev/zero"), no_file);
  EXPECT_THAT(run("config " + folder_.path()), no_file);

  std::filesystem::create_directory(path("store"));
  MakePipe("store/manifest.json");
  const auto is_pipe = FailsWith(1, HasSubstr("is a pipe"));
  EXPECT_THAT(run("inspect " + path("store")), is_pipe);
  // Whatever stands there is replaced when all is done.
  EXPECT_EQ(run("pack " + path("text") + " --out " + path("store")).exit_code,
            0);
  EXPECT_EQ(run("inspect " + path("store")).exit_code, 0);
  std::filesystem::remove(path("store/tokens-1.bin"));
  MakePipe("store/tokens-1.bin");
  EXPECT_THAT(run("inspect " + path("store")), is_pipe);
  EXPECT_THAT(run("verify " + path("store")), is_pipe);
  std::filesystem::create_directory(path("stores"));
  MakePipe("stores/poniente-catalog.tsv");
  EXPECT_NE(run("verify " + path("stores")).exit_code, 124);
}

// A limit of memory that leaves no room for the stacks of all threads, or for
// what they hold: an error, or done with what there is; never an abort.
TEST_F(DamagedInputTest, TooLittleMemoryForThreadsIsAnError) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need more address space than any limit leaves";
#endif
  for (int kilobytes = 40000; kilobytes <= 140000; kilobytes += 10000) {
    std::filesystem::remove_all(path("out"));
    const ToolRun run =
        RunTool("pack " + path("text") + " --threads 8 --out " + path("out"),
                "ulimit -v " + std::to_string(kilobytes) + ";");
    if (run.exit_code == 0) continue;
    // 127: the loader of shared libraries had no room.
    EXPECT_TRUE(run.exit_code == 1 || run.exit_code == 127)
        << kilobytes << ": " << run.exit_code << run.err;
    EXPECT_THAT(run.err, ::testing::Not(HasSubstr("terminate")));
  }
}

// Read as text that is none, whatever the kernel says to a read.
TEST_F(DamagedInputTest, AFileThatCannotBeReadIsAnError) {
  EXPECT_THAT(RunTool("config /proc/self/mem"),
              FailsWith(1, HasSubstr("/proc/self/mem")));
}

TEST_F(DamagedInputTest, AConfigurationHasASizeThatIsRead) {
  WriteFile(path("big.toml"), "");
  std::filesystem::resize_file(path("big.toml"), (64u << 20) + 1);
  EXPECT_THAT(RunTool("config " + path("big.toml")),
              FailsWith(1, AllOf(HasSubstr("67108865 bytes"),
                                 HasSubstr("at most 67108864"))));
}

}  // namespace
}  // namespace poniente::testing
