// SPDX-License-Identifier: Apache-2.0
#include "poniente/ranks.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "loader/loader_errors.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

struct Launcher {
  const char* name;
  const char* rank;
  const char* ranks;
};

// The launchers, from the innermost to the outermost. Another launcher may
// start one torchrun per node. mpirun may start its daemons through Slurm; its
// processes then inherit Slurm's variables from the daemons.
constexpr Launcher kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI", "PMI_RANK", "PMI_SIZE"},  // MPICH, Intel MPI, MVAPICH
    // The number of tasks of a step, which only srun sets. SLURM_NTASKS, that
    // of the allocation, is also set in the single process of a batch script or
    // of salloc's shell.
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
};
constexpr const char* kPmixRank = "PMIX_RANK";  // PMIx sets no number

std::string ToString(const char* name,
                     const std::optional<std::string>& value) {
  return value ? absl::StrCat(name, "='", *value, "'")
               : absl::StrCat(name, " not set");
}

absl::Status EnvironmentError(const Launcher& from,
                              const std::optional<std::string>& rank,
                              const std::optional<std::string>& ranks,
                              const char* what) {
  return absl::InvalidArgumentError(absl::StrCat(
      "environment of ", from.name, ": ", ToString(from.rank, rank), ", ",
      ToString(from.ranks, ranks), ": ", what,
      "; correct or unset them, or state rank and ranks in the options"));
}

// Returns whether the process is a batch script: it has a number within its
// allocation, but there is no step and no other process.
bool IsBatchScript(const Launcher& from, const std::optional<std::string>& rank,
                   const std::optional<std::string>& ranks) {
  return from.rank == std::string_view("SLURM_PROCID") && rank == "0" && !ranks;
}

// Returns nullopt if the launcher has set none of its variables.
absl::StatusOr<std::optional<Ranks>> RanksFrom(
    const Launcher& from, const EnvironmentLookup& lookup) {
  const std::optional<std::string> rank = lookup(from.rank);
  const std::optional<std::string> ranks = lookup(from.ranks);
  if ((!rank && !ranks) || IsBatchScript(from, rank, ranks)) {
    return std::nullopt;
  }
  if (!rank || !ranks) {
    return EnvironmentError(from, rank, ranks, "one without the other");
  }
  Ranks result;
  result.launcher = from.name;
  if (!absl::SimpleAtoi(*rank, &result.rank) ||
      !absl::SimpleAtoi(*ranks, &result.ranks)) {
    return EnvironmentError(from, rank, ranks, "not two numbers below 2^32");
  }
  if (result.rank >= result.ranks) {
    return EnvironmentError(from, rank, ranks,
                            "the rank is not below the number of ranks");
  }
  return result;
}

// Returns InvalidArgument if PMIx has set the rank and no variable gives the
// number of ranks, which PMIx only returns from a call. Slurm's variables give
// it if they describe the same processes.
absl::Status CheckPmix(const EnvironmentLookup& lookup, const Ranks& found) {
  const std::optional<std::string> pmix = lookup(kPmixRank);
  if (!pmix || (found.launcher != "Slurm" && !found.launcher.empty())) {
    return absl::OkStatus();
  }
  if (found.launcher == "Slurm" && *pmix == absl::StrCat(found.rank)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "environment of PMIx: ", ToString(kPmixRank, pmix),
      found.launcher.empty()
          ? ", and no variable tells of how many"
          : absl::StrCat(", but SLURM_PROCID is ", found.rank,
                         ": Slurm's processes are others"),
      "; ask MPI_Comm_rank and MPI_Comm_size, and state rank and ranks in the "
      "options"));
}

}  // namespace

absl::StatusOr<Ranks> RanksFromEnvironment(const EnvironmentLookup& lookup) {
  Ranks found;
  for (const Launcher& launcher : kLaunchers) {
    PONIENTE_ASSIGN_OR_RETURN(std::optional<Ranks> ranks,
                              RanksFrom(launcher, lookup));
    if (!ranks) continue;
    found = *std::move(ranks);
    break;
  }
  PONIENTE_RETURN_IF_ERROR(CheckPmix(lookup, found));
  return found;
}

absl::StatusOr<Ranks> RanksFromEnvironment() {
  return RanksFromEnvironment([](const char* name) {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
  });
}

absl::StatusOr<Ranks> DataParallelRanks(const Ranks& world,
                                        uint32_t model_parallel_size) {
  PONIENTE_RETURN_IF_ERROR(internal::CheckRank(world.rank, world.ranks));
  if (model_parallel_size == 0 || world.ranks % model_parallel_size != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model_parallel_size must divide the number of ranks, got ",
        model_parallel_size, " for ", world.ranks,
        "; it is the product of the tensor and pipeline parallel sizes"));
  }
  Ranks result = world;
  result.rank /= model_parallel_size;
  result.ranks /= model_parallel_size;
  return result;
}

}  // namespace poniente
