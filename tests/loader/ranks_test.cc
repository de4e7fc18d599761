// SPDX-License-Identifier: Apache-2.0
#include "poniente/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::StatusIs;

using Environment = std::map<std::string, std::string>;

using testing::kInvalid;

absl::StatusOr<Ranks> In(const Environment& environment) {
  return RanksFromEnvironment(
      [&environment](const char* name) -> std::optional<std::string> {
        const auto found = environment.find(name);
        if (found == environment.end()) return std::nullopt;
        return found->second;
      });
}

// As sbatch leaves them in the script and salloc in the shell: of 8 tasks, none
// of which has been started.
const Environment kSlurmAllocation = {
    {"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "8"}, {"SLURM_NPROCS", "8"}};

Environment Also(Environment all, const Environment& more) {
  all.insert(more.begin(), more.end());
  return all;
}

TEST(LauncherTest, WithoutALauncherThereIsOneProcess) {
  EXPECT_THAT(In({}), IsOkAndHolds(Ranks{0, 1, ""}));
}

TEST(LauncherTest, TakesTheVariablesOfEachLauncher) {
  EXPECT_THAT(In({{"RANK", "3"}, {"WORLD_SIZE", "8"}}),
              IsOkAndHolds(Ranks{3, 8, "torchrun"}));
  EXPECT_THAT(In({{"OMPI_COMM_WORLD_RANK", "0"},
                  {"OMPI_COMM_WORLD_SIZE", "4"},
                  {"PMIX_RANK", "0"}}),
              IsOkAndHolds(Ranks{0, 4, "Open MPI"}));
  EXPECT_THAT(In({{"PMI_RANK", "11"}, {"PMI_SIZE", "12"}}),
              IsOkAndHolds(Ranks{11, 12, "PMI"}));
  EXPECT_THAT(In({{"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "6"}}),
              IsOkAndHolds(Ranks{5, 6, "Slurm"}));
}

TEST(LauncherTest, TheInnerLauncherWins) {
  // Four nodes, on each a torchrun that srun started.
  const Environment srun = Also(
      kSlurmAllocation, {{"SLURM_PROCID", "2"}, {"SLURM_STEP_NUM_TASKS", "4"}});
  EXPECT_THAT(In(Also(srun, {{"RANK", "17"}, {"WORLD_SIZE", "32"}})),
              IsOkAndHolds(Ranks{17, 32, "torchrun"}));
  // An mpirun whose daemons srun started, and one that started a torchrun.
  const Environment mpirun = Also(
      srun, {{"OMPI_COMM_WORLD_RANK", "6"}, {"OMPI_COMM_WORLD_SIZE", "8"}});
  EXPECT_THAT(In(mpirun), IsOkAndHolds(Ranks{6, 8, "Open MPI"}));
  EXPECT_THAT(In(Also(mpirun, {{"RANK", "17"}, {"WORLD_SIZE", "32"}})),
              IsOkAndHolds(Ranks{17, 32, "torchrun"}));
  EXPECT_THAT(In(Also(srun, {{"PMI_RANK", "7"}, {"PMI_SIZE", "8"}})),
              IsOkAndHolds(Ranks{7, 8, "PMI"}));
}

TEST(LauncherTest, AnAllocationWithoutAStepIsOneProcess) {
  EXPECT_THAT(In(kSlurmAllocation), IsOkAndHolds(Ranks{0, 1, ""}));
  EXPECT_THAT(In(Also(kSlurmAllocation, {{"SLURM_PROCID", "0"}})),
              IsOkAndHolds(Ranks{0, 1, ""}));
}

TEST(LauncherTest, AStepOfFewerTasksThanTheAllocationCountsItsOwn) {
  EXPECT_THAT(In(Also(kSlurmAllocation,
                      {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}})),
              IsOkAndHolds(Ranks{1, 2, "Slurm"}));
}

TEST(LauncherTest, SlurmSaysOfHowManyWherePmixDoesNot) {
  const Environment srun = {
      {"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"PMIX_RANK", "3"}};
  EXPECT_THAT(In(srun), IsOkAndHolds(Ranks{3, 4, "Slurm"}));
}

TEST(LauncherTest, PmixAloneDoesNotSayOfHowMany) {
  EXPECT_THAT(In({{"PMIX_RANK", "3"}}),
              StatusIs(kInvalid, AllOf(HasSubstr("PMIX_RANK='3'"),
                                       HasSubstr("of how many"),
                                       HasSubstr("MPI_Comm_size"))));
  EXPECT_THAT(In(Also(kSlurmAllocation, {{"PMIX_RANK", "3"}})),
              StatusIs(kInvalid, HasSubstr("of how many")));
  // Daemons started by srun, which start processes of their own.
  EXPECT_THAT(In({{"SLURM_PROCID", "1"},
                  {"SLURM_STEP_NUM_TASKS", "2"},
                  {"PMIX_RANK", "9"}}),
              StatusIs(kInvalid, AllOf(HasSubstr("PMIX_RANK='9'"),
                                       HasSubstr("SLURM_PROCID is 1"))));
}

TEST(LauncherTest, OneNumberOfTheTwoIsAnError) {
  EXPECT_THAT(In({{"RANK", "3"}}),
              StatusIs(kInvalid, AllOf(HasSubstr("torchrun: RANK='3'"),
                                       HasSubstr("WORLD_SIZE not set"),
                                       HasSubstr("unset"))));
  EXPECT_THAT(In({{"PMI_SIZE", "3"}}),
              StatusIs(kInvalid, AllOf(HasSubstr("PMI_RANK not set"),
                                       HasSubstr("PMI_SIZE='3'"))));
  EXPECT_THAT(In({{"SLURM_STEP_NUM_TASKS", "3"}}),
              StatusIs(kInvalid, HasSubstr("SLURM_PROCID not set")));
  // Not of a batch script, which is process 0.
  EXPECT_THAT(In(Also(kSlurmAllocation, {{"SLURM_PROCID", "2"}})),
              StatusIs(kInvalid, HasSubstr("SLURM_STEP_NUM_TASKS not set")));
  // An outer launcher does not complete an inner one.
  EXPECT_THAT(In({{"WORLD_SIZE", "8"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "8"}}),
              StatusIs(kInvalid, HasSubstr("RANK not set")));
}

class LauncherValueTest
    : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(LauncherValueTest, IsAnErrorThatNamesBothValues) {
  const auto [rank, ranks] = GetParam();
  EXPECT_THAT(
      In({{"RANK", rank}, {"WORLD_SIZE", ranks}}),
      StatusIs(kInvalid,
               AllOf(HasSubstr("RANK='" + std::string(rank) + "'"),
                     HasSubstr("WORLD_SIZE='" + std::string(ranks) + "'"))));
}

INSTANTIATE_TEST_SUITE_P(
    Wrong, LauncherValueTest,
    ::testing::Values(std::pair("4", "4"), std::pair("0", "0"),
                      std::pair("-1", "4"), std::pair("", "4"),
                      std::pair("1", ""), std::pair("1.0", "4"),
                      std::pair("1", "four"), std::pair("1", "0x4"),
                      std::pair("1", "4294967296")));

TEST(LauncherTest, ReadsTheProcessEnvironment) {
  ASSERT_EQ(setenv("RANK", "1", 1), 0);
  ASSERT_EQ(setenv("WORLD_SIZE", "3", 1), 0);
  const absl::StatusOr<Ranks> ranks = RanksFromEnvironment();
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
  EXPECT_THAT(ranks, IsOkAndHolds(Ranks{1, 3, "torchrun"}));
}

TEST(LauncherTest, ConsecutiveRanksOfOneModelShareADataParallelRank) {
  std::vector<uint32_t> shares;
  for (uint32_t rank = 0; rank < 12; ++rank) {
    ASSERT_OK_AND_ASSIGN(const Ranks ranks,
                         DataParallelRanks({rank, 12, "torchrun"}, 4));
    EXPECT_EQ(ranks.ranks, 3u);
    EXPECT_EQ(ranks.launcher, "torchrun");
    shares.push_back(ranks.rank);
  }
  EXPECT_THAT(shares,
              ::testing::ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2));
  EXPECT_THAT(DataParallelRanks({5, 6, ""}, 1), IsOkAndHolds(Ranks{5, 6, ""}));
  EXPECT_THAT(DataParallelRanks({5, 6, ""}, 6), IsOkAndHolds(Ranks{0, 1, ""}));
}

TEST(LauncherTest, AModelParallelSizeMustDivideTheRanks) {
  EXPECT_THAT(DataParallelRanks({0, 6, ""}, 4),
              StatusIs(kInvalid, HasSubstr("got 4 for 6")));
  EXPECT_THAT(DataParallelRanks({0, 6, ""}, 12),
              StatusIs(kInvalid, HasSubstr("got 12 for 6")));
  EXPECT_THAT(DataParallelRanks({0, 6, ""}, 0),
              StatusIs(kInvalid, HasSubstr("got 0 for 6")));
  EXPECT_THAT(DataParallelRanks({6, 6, ""}, 1),
              StatusIs(kInvalid, HasSubstr("rank 6 of 6")));
}

}  // namespace
}  // namespace poniente
