// SPDX-License-Identifier: Apache-2.0
// The command line of the example trainers.

#ifndef PONIENTE_EXAMPLES_TRAINER_OPTIONS_H_
#define PONIENTE_EXAMPLES_TRAINER_OPTIONS_H_

#include <cstdint>
#include <string>

namespace example {

struct TrainerOptions {
  std::string config;
  std::string checkpoint;  // empty: none
  uint32_t checkpoint_every = 0;
  std::string log;  // empty: none
  uint32_t report_every = 0;
  uint64_t steps = 0;  // 0: to the run's end
  double learning_rate = 0;
  // Of several processes that train one model, one shows what goes on, and
  // writes the log and the checkpoint.
  bool is_main = true;
};

// Says what is wrong and ends the process with 2 if the flags make no sense.
TrainerOptions ParseTrainerOptions(int argc, char** argv);

}  // namespace example

#endif  // PONIENTE_EXAMPLES_TRAINER_OPTIONS_H_
