// SPDX-License-Identifier: Apache-2.0
// Which process of how many this one is, as the program that launched it says:
// torchrun, mpirun, srun. docs/ranks.md lists the variables.
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

struct Ranks {
  uint32_t rank = 0;  // below ranks
  uint32_t ranks = 1;
  // "torchrun", "Open MPI", "PMI" or "Slurm": whose variables say so. Empty:
  // nobody's, a process by itself.
  std::string launcher;

  friend bool operator==(const Ranks&, const Ranks&) = default;
};

// The value of an environment variable, if it is set.
using EnvironmentLookup =
    std::function<std::optional<std::string>(const char* name)>;

// Takes the variables of the innermost launcher, where one was started by
// another; without any, rank 0 of 1. One number of the two, no number, a rank
// that is not below the number of ranks, or a rank whose number of ranks no
// variable tells (PMIX_RANK alone) is InvalidArgument with the variables and
// their values: a process that guessed would read another's share.
//
// Reads the environment: not while another thread calls setenv(). Ask before
// MPI_Init(), which in a process without a launcher sets PMIX_RANK.
absl::StatusOr<Ranks> RanksFromEnvironment();
absl::StatusOr<Ranks> RanksFromEnvironment(const EnvironmentLookup& lookup);

// Of `model_parallel_size` consecutive ranks that hold one model between them
// (tensor or pipeline parallel) each reads the same share: rank / size of
// ranks / size. Where groups are not of consecutive ranks, state rank and ranks
// by hand. InvalidArgument unless the size divides the number of ranks.
absl::StatusOr<Ranks> DataParallelRanks(const Ranks& world,
                                        uint32_t model_parallel_size);

}  // namespace poniente

#endif  // PONIENTE_RANKS_H_
