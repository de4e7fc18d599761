// SPDX-License-Identifier: Apache-2.0
#include "pack/pack_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

using cli::InputsOfPart;
using cli::TextInput;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<TextInput> Inputs(const std::vector<uint64_t>& sizes) {
  std::vector<TextInput> inputs;
  for (const uint64_t bytes : sizes) {
    TextInput input;
    input.name = std::to_string(inputs.size());
    input.bytes = bytes;
    input.is_regular = true;
    inputs.push_back(input);
  }
  return inputs;
}

// Bytes of each part; fails unless the parts hold all inputs in order.
std::vector<uint64_t> BytesOfParts(const std::vector<TextInput>& inputs,
                                   uint32_t parts) {
  std::vector<uint64_t> bytes;
  size_t next = 0;
  for (uint32_t part = 0; part < parts; ++part) {
    const auto chosen = InputsOfPart(inputs, {part, parts});
    EXPECT_THAT(chosen, IsOk());
    bytes.push_back(0);
    for (const TextInput& input : *chosen) {
      EXPECT_LT(next, inputs.size());
      EXPECT_EQ(input.name, inputs[next++].name);
      bytes.back() += input.bytes;
    }
  }
  EXPECT_EQ(next, inputs.size());
  return bytes;
}

TEST(InputsOfPartTest, EqualInputsAreDividedEvenly) {
  EXPECT_THAT(BytesOfParts(Inputs({5, 5, 5, 5, 5, 5}), 3),
              ::testing::ElementsAre(10, 10, 10));
  EXPECT_THAT(BytesOfParts(Inputs({1, 1, 8, 1, 1}), 2),
              ::testing::ElementsAre(2, 10));
  EXPECT_THAT(BytesOfParts(Inputs({7}), 3), ::testing::ElementsAre(0, 7, 0));
}

TEST(InputsOfPartTest, NoPartHasMoreThanItsShareAndHalfAnInputAtEachEnd) {
  std::mt19937_64 random(TestSeed(86));
  for (int i = 0; i < 200; ++i) {
    std::vector<uint64_t> sizes(random() % 40);
    uint64_t total = 0;
    for (uint64_t& size : sizes) total += size = random() % 1000;
    const uint32_t parts = 1 + static_cast<uint32_t>(random() % 9);
    for (const uint64_t bytes : BytesOfParts(Inputs(sizes), parts)) {
      EXPECT_LE(bytes, total / parts + 1 + 1000);
    }
  }
}

TEST(InputsOfPartTest, HugeAndEmptyInputsBelongToAPart) {
  const uint64_t huge = uint64_t{1} << 61;
  BytesOfParts(Inputs({huge, 0, huge, huge, 0}), 5);
  BytesOfParts(Inputs({0, 0, 0}), 2);
}

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
  EXPECT_THAT(run.err, HasSubstr("packs part 1 of 2, as Open MPI says"));
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
              FailsWith(1, AllOf(HasSubstr("part-00000-of-00002' is no part of "
                                           "3"),
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
