// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/packed_store.h"
#include "tests/cli/run_tool.h"
#include "tests/support/temp_dir.h"

namespace poniente::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class PackPartsTest : public ::testing::Test {
 protected:
  PackPartsTest() {
    std::filesystem::create_directories(folder_.path("in/x"));
    for (int i = 0; i < 10; ++i) {
      const std::string text(static_cast<size_t>(100 * i + 1),
                             static_cast<char>('a' + i));
      WriteFile(folder_.path("in/" + std::to_string(i)), text);
    }
    WriteFile(folder_.path("in/x/3"), "in a folder");
  }
  ToolRun Pack(const std::string& more, const std::string& before = "") const {
    return RunTool("pack " + folder_.path("in") + " " + folder_.path("in/3") +
                       " --out " + folder_.path("out") + " " + more,
                   before);
  }

  const TempDir folder_;
};

TEST_F(PackPartsTest, TogetherTheyHoldWhatOneStoreWould) {
  ASSERT_EQ(RunTool("pack " + folder_.path("in") + " " + folder_.path("in/3") +
                    " --out " + folder_.path("whole"))
                .exit_code,
            0);
  std::vector<NamedIds> all;
  for (const char* part : {"0", "1", "2"}) {
    EXPECT_EQ(Pack(std::string("--part ") + part + "/3").exit_code, 0);
    const auto documents = PackedDocuments(
        folder_.path(std::string("out/part-0000") + part + "-of-00003"));
    EXPECT_FALSE(documents.empty());
    all.insert(all.end(), documents.begin(), documents.end());
  }
  EXPECT_TRUE(all == PackedDocuments(folder_.path("whole")));
}

TEST_F(PackPartsTest, ALauncherSaysWhichPart) {
  const ToolRun run =
      Pack("", "env OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2");
  EXPECT_THAT(run, Prints(HasSubstr("part-00001-of-00002")));
  EXPECT_THAT(run.err, HasSubstr("packing part 1 of 2, as set by Open MPI"));
  EXPECT_THAT(Pack("--part 0/2", "env SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2"),
              Prints(HasSubstr("part-00000-of-00002")));
  EXPECT_THAT(Pack("", "env SLURM_PROCID=7"),
              FailsWith(2, HasSubstr("SLURM_PROCID='7'")));
}

TEST_F(PackPartsTest, APartWithoutInputsIsAnEmptyStore) {
  EXPECT_THAT(Pack("--part 1/50"), Prints(HasSubstr("0 documents, 0 tokens")));
  EXPECT_TRUE(PackedDocuments(folder_.path("out/part-00001-of-00050")).empty());
}

TEST_F(PackPartsTest, PartsOfTwoDivisionsDoNotMix) {
  ASSERT_EQ(Pack("--part 0/2").exit_code, 0);
  EXPECT_THAT(Pack("--part 0/3"),
              FailsWith(1, AllOf(HasSubstr("part-00000-of-00002' does not "
                                           "belong to a division into 3 parts"),
                                 HasSubstr("another --out"))));
  ASSERT_EQ(
      RunTool("pack " + folder_.path("in") + " --out " + folder_.path("store"))
          .exit_code,
      0);
  EXPECT_THAT(RunTool("pack " + folder_.path("in") + " --part 0/2 --out " +
                      folder_.path("store")),
              FailsWith(1, HasSubstr("is a token store itself")));
}

TEST_F(PackPartsTest, AStreamIsNotDivided) {
  EXPECT_THAT(
      RunTool("pack - --part 0/2 --out " + folder_.path("out"), "echo |"),
      FailsWith(1, HasSubstr("'-' is a stream")));
  EXPECT_THAT(
      RunTool("pack - --part 0/1 --out " + folder_.path("out"), "echo |"),
      Prints(HasSubstr("1 document,")));
}

}  // namespace
}  // namespace poniente::testing
