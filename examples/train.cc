// SPDX-License-Identifier: Apache-2.0
// A small language model, trained on what a Poniente loader serves: an ordinary
// asynchronous program, to copy and to change.
//
//   train --config run.toml --checkpoint run.ckpt --log run.log
//
// A checkpoint holds the loader's state and the model. If the file exists the
// run goes on from there. The log has one line per step, with a hash of the
// step's token ids and the loss, so that diff compares two runs; a run repeats
// to the last bit.
//
// The model is in small_model.h, what is done with a batch in trainer.h, the
// checkpoint in checkpoint.h. mpi_train.cc is the same program for any number
// of processes.

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "poniente/poniente.h"
#include "trainer.h"
#include "trainer_options.h"

namespace {

using Clock = std::chrono::steady_clock;

absl::Status TrainOn(example::Trainer* trainer, const poniente::Batch& batch) {
  absl::StatusOr<example::StepSums> sums = trainer->Sum(batch);
  if (!sums.ok()) return sums.status();
  return trainer->Step(batch.plan(), *std::move(sums));
}

// Awaits one batch after the other. While the trainer computes on this thread,
// the loader reads the next batches on its own.
poniente::Task<> Train(poniente::Loader* loader, example::Trainer* trainer,
                       uint64_t end) {
  const Clock::time_point start = Clock::now();
  std::chrono::duration<double> waited{0};
  while (end == 0 || loader->next_step() < end) {
    const Clock::time_point asked = Clock::now();
    absl::StatusOr<poniente::Batch> batch = co_await loader->Next();
    if (absl::IsOutOfRange(batch.status())) break;  // the end of the data
    if (!batch.ok()) co_return batch.status();
    waited += Clock::now() - asked;
    absl::Status status = TrainOn(trainer, *batch);
    if (!status.ok()) co_return status;
  }
  const std::chrono::duration<double> took = Clock::now() - start;
  absl::PrintF("trained for %.1f s, of which %.2f s waiting for data\n",
               took.count(), waited.count());
  co_return co_await loader->Close();
}

absl::Status Run(const example::TrainerOptions& options) {
  const auto config = poniente::Config::Load(options.config);
  if (!config.ok()) return config.status();
  const auto loader =
      config->OpenLoader(example::TrainerLoaderOptions(*config));
  if (!loader.ok()) return loader.status();
  const auto trainer =
      example::Trainer::Open(loader->get(), config->vocabulary().size, options);
  if (!trainer.ok()) return trainer.status();

  absl::Status result;
  boost::asio::io_context context;
  boost::asio::co_spawn(
      context, Train(loader->get(), trainer->get(), options.steps),
      [&result](std::exception_ptr error, absl::Status status) {
        if (error) std::rethrow_exception(error);
        result = std::move(status);
      });
  context.run();
  return result.ok() ? (*trainer)->Finish() : result;
}

}  // namespace

int main(int argc, char** argv) {
  const example::TrainerOptions options =
      example::ParseTrainerOptions(argc, argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // each line as soon as it is whole
  const absl::Status status = Run(options);
  if (status.ok()) return 0;
  absl::FPrintF(stderr, "train: %s\n", status.message());
  return 1;
}
