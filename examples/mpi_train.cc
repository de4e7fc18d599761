// SPDX-License-Identifier: Apache-2.0
// train.cc on any number of processes that train one model, data-parallel:
//
//   mpirun -n 4 mpi_train --config run.toml --checkpoint run.ckpt --log run.log
//
// Each rank reads its share of every step, and adds up loss and gradient over
// it; MPI_Allreduce adds up over the ranks; then all of them take the same step
// of the optimizer. It does not matter that shares differ in size, or that a
// rank has none. The first rank shows what goes on, and writes the log and the
// checkpoint; all resume from it, on as many ranks as there are now. The tokens
// of each step, and so the losses, are those of train.cc.
//
// With --changes FILE, the run may be changed while it goes on: write a change
// into FILE, for example `weights "code" 0.4 why "see the losses"`
// (docs/journal.md), in one go (mv). Between two steps the first rank takes it,
// and all ranks make it together.

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <span>
#include <string>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "poniente/poniente.h"
#include "trainer.h"
#include "trainer_options.h"

ABSL_FLAG(std::string, changes, "", "file to take changes of the run from");

namespace {

// In place. (MPI ends all processes if it fails.)
void Allreduce(std::span<uint64_t> values, MPI_Op op) {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()),
                MPI_UINT64_T, op, MPI_COMM_WORLD);
}

absl::Status TrainOn(example::Trainer* trainer, const poniente::Batch& batch) {
  absl::StatusOr<example::StepSums> sums = trainer->Sum(batch);
  if (!sums.ok()) return sums.status();
  Allreduce(sums->all(), MPI_SUM);
  return trainer->Step(batch.plan(), *std::move(sums));
}

// Returns the line of the first rank on all of them; empty if it has none.
std::string Broadcast(std::string line) {
  uint64_t size = line.size();
  MPI_Bcast(&size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  line.resize(size);
  MPI_Bcast(line.data(), static_cast<int>(size), MPI_CHAR, 0, MPI_COMM_WORLD);
  return line;
}

// Takes the change in the file, if there is one, and returns its line of the
// journal. A change that cannot be made is left in FILE.refused.
std::string TakeChange(const poniente::Loader& loader,
                       const std::string& path) {
  std::ifstream file(path);
  std::string text;
  if (!std::getline(file, text)) return "";
  const auto change = poniente::ParseChange(text);
  auto line = change.ok() ? loader.Propose(*change) : change.status();
  if (!line.ok()) absl::FPrintF(stderr, "%s\n", line.status().message());
  std::rename(path.c_str(),
              (path + (line.ok() ? ".done" : ".refused")).c_str());
  return line.value_or("");
}

absl::Status ChangeIfAsked(poniente::Loader* loader, bool is_main,
                           const std::string& path) {
  const std::string line = Broadcast(is_main ? TakeChange(*loader, path) : "");
  if (line.empty()) return absl::OkStatus();
  // An error here, as of a full disk, ends the run: ranks must not differ.
  const auto step = loader->Steer(line);
  if (step.ok() && is_main) absl::PrintF("changes with step %d\n", *step);
  return step.status();
}

// While this thread computes and talks to the other ranks, the loader reads on
// one of its own.
poniente::Task<> Train(poniente::Loader* loader, example::Trainer* trainer,
                       example::TrainerOptions options) {
  const std::string changes = absl::GetFlag(FLAGS_changes);
  while (options.steps == 0 || loader->next_step() < options.steps) {
    if (!changes.empty()) {
      absl::Status changed = ChangeIfAsked(loader, options.is_main, changes);
      if (!changed.ok()) co_return changed;
    }
    absl::StatusOr<poniente::Batch> batch = co_await loader->Next();
    if (absl::IsOutOfRange(batch.status())) break;  // on all ranks at once
    if (!batch.ok()) co_return batch.status();
    absl::Status status = TrainOn(trainer, *batch);
    if (!status.ok()) co_return status;
  }
  co_return co_await loader->Close();
}

// Ranks that read different files would train different models.
absl::Status CheckAgreement(uint64_t step, uint64_t fingerprint) {
  uint64_t least[] = {step, fingerprint}, greatest[] = {step, fingerprint};
  Allreduce(least, MPI_MIN);
  Allreduce(greatest, MPI_MAX);
  if (std::ranges::equal(least, greatest)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "ranks disagree: they would begin with steps from %d to %d, on data of "
      "fingerprints from %016x to %016x; give all of them the same checkpoint, "
      "configuration and stores",
      least[0], greatest[0], least[1], greatest[1]));
}

// The launcher's variables count the processes that sum their gradients.
absl::Status CheckCommunicator(const poniente::Ranks& ranks) {
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (ranks.rank == static_cast<uint32_t>(rank) &&
      ranks.ranks == static_cast<uint32_t>(size)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrFormat(
      "rank %d of %d by the environment (%s), %d of %d by MPI; start it with "
      "the mpirun of the MPI that it was built with",
      ranks.rank, ranks.ranks,
      ranks.launcher.empty() ? "no launcher" : ranks.launcher, rank, size));
}

absl::Status Run(example::TrainerOptions options,
                 const absl::StatusOr<poniente::Ranks>& ranks) {
  if (!ranks.ok()) return ranks.status();
  if (absl::Status s = CheckCommunicator(*ranks); !s.ok()) return s;
  options.is_main = ranks->rank == 0;
  const auto config = poniente::Config::Load(options.config);
  if (!config.ok()) return config.status();
  poniente::LoaderOptions loader_options =
      example::TrainerLoaderOptions(*config);
  loader_options.rank = ranks->rank;
  loader_options.ranks = ranks->ranks;
  const auto loader = config->OpenLoader(loader_options);
  if (!loader.ok()) return loader.status();
  const auto trainer =
      example::Trainer::Open(loader->get(), config->vocabulary().size, options);
  if (!trainer.ok()) return trainer.status();
  absl::Status agreed =
      CheckAgreement((*trainer)->next_step(), (*loader)->fingerprint());
  if (!agreed.ok()) return agreed;

  const absl::Status result =
      poniente::RunBlocking(Train(loader->get(), trainer->get(), options));
  return result.ok() ? (*trainer)->Finish() : result;
}

}  // namespace

int main(int argc, char** argv) {
  const example::TrainerOptions options =
      example::ParseTrainerOptions(argc, argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // each line as soon as it is whole
  // Before MPI_Init(), which sets variables of its own.
  const absl::StatusOr<poniente::Ranks> ranks =
      poniente::RanksFromEnvironment();
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  const absl::Status status = Run(options, ranks);
  if (!status.ok()) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    absl::FPrintF(stderr, "mpi_train: rank %d: %s\n", rank, status.message());
    MPI_Abort(MPI_COMM_WORLD, 1);  // the others may be waiting for this one
  }
  MPI_Finalize();
  return 0;
}
