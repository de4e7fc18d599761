// SPDX-License-Identifier: Apache-2.0
// Reads the rank of this process and the number of ranks from the environment
// that its launcher sets: torchrun, mpirun, srun. docs/ranks.md lists the
// variables.
//
//   const auto ranks = poniente::RanksFromEnvironment();
//   if (!ranks.ok()) return ranks.status();
//   options.rank = ranks->rank;    // of LoaderOptions
//   options.ranks = ranks->ranks;

#ifndef PONIENTE_RANKS_H_
#define PONIENTE_RANKS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace poniente {

// The number of a process, and how many processes there are.
struct Ranks {
  uint32_t rank = 0;  // below ranks
  uint32_t ranks = 1;
  // The launcher whose variables state the two numbers: "torchrun", "Open MPI",
  // "PMI" or "Slurm". Empty if there is no launcher; the process is then alone.
  std::string launcher = {};

  friend bool operator==(const Ranks&, const Ranks&) = default;
};

// Returns the value of an environment variable, if it is set.
using EnvironmentLookup =
    std::function<std::optional<std::string>(const char* name)>;

// Returns the ranks that the launcher states; rank 0 of 1 without a launcher.
// If one launcher has started another, the innermost one decides.
//
// InvalidArgument, with the variables and their values, if only one of the two
// numbers is set, a value is not a number, the rank is not below the number of
// ranks, or no variable states the number of ranks (PMIX_RANK alone). Nothing
// is guessed, because a wrong guess would read another rank's share.
//
// No other thread may call setenv() meanwhile, because this reads the
// environment. Call it before MPI_Init(), which sets PMIX_RANK even in a
// process without a launcher.
absl::StatusOr<Ranks> RanksFromEnvironment();
absl::StatusOr<Ranks> RanksFromEnvironment(const EnvironmentLookup& lookup);

// Returns the ranks for data loading when groups of `model_parallel_size`
// consecutive ranks hold one model together (tensor or pipeline parallel) and
// must read the same share: the returned rank and ranks are those of `world`,
// each divided by the size and rounded down. If groups do not consist of
// consecutive ranks, set rank and ranks by hand. InvalidArgument if the
// size does not divide the number of ranks, or if world.rank is not below
// world.ranks.
absl::StatusOr<Ranks> DataParallelRanks(const Ranks& world,
                                        uint32_t model_parallel_size);

}  // namespace poniente

#endif  // PONIENTE_RANKS_H_
