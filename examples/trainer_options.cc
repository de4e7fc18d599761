// SPDX-License-Identifier: Apache-2.0
#include "trainer_options.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_format.h"

ABSL_FLAG(std::string, config, "", "TOML file of the run");
ABSL_FLAG(std::string, checkpoint, "", "file to save to and to resume from");
ABSL_FLAG(uint32_t, checkpoint_every, 50, "steps between two checkpoints");
ABSL_FLAG(std::string, log, "", "file that gets one line per step");
ABSL_FLAG(uint32_t, report_every, 50, "steps between two lines on the screen");
ABSL_FLAG(uint64_t, steps, 0, "stop before this step; 0: at the run's end");
ABSL_FLAG(double, learning_rate, 0.01, "times the stage's lr_scale");

namespace example {

TrainerOptions ParseTrainerOptions(int argc, char** argv) {
  const std::string path = argv[0];
  const std::string name = path.substr(path.rfind('/') + 1);
  absl::SetProgramUsageMessage("trains a small language model");
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  TrainerOptions options;
  options.config = absl::GetFlag(FLAGS_config);
  options.checkpoint = absl::GetFlag(FLAGS_checkpoint);
  options.checkpoint_every = absl::GetFlag(FLAGS_checkpoint_every);
  options.log = absl::GetFlag(FLAGS_log);
  options.report_every = absl::GetFlag(FLAGS_report_every);
  options.steps = absl::GetFlag(FLAGS_steps);
  options.learning_rate = absl::GetFlag(FLAGS_learning_rate);
  if (rest.size() > 1 || options.config.empty() || options.report_every == 0 ||
      options.checkpoint_every == 0) {
    absl::FPrintF(stderr, "usage: %s --config FILE ...; see %s --help\n", name,
                  name);
    std::exit(2);
  }
  return options;
}

}  // namespace example
