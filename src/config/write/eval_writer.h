// SPDX-License-Identifier: Apache-2.0
// Writes evaluations.

#ifndef PONIENTE_CONFIG_WRITE_EVAL_WRITER_H_
#define PONIENTE_CONFIG_WRITE_EVAL_WRITER_H_

#include "config/write/toml_text.h"
#include "poniente/run.h"

namespace poniente::internal {

// Returns the keys of an evaluation without those of its node. `run`: the run
// whose batch size and length it has where it states none; null to leave them
// out.
Keys EvalKeys(const RunEval& eval, const Run* run);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_WRITE_EVAL_WRITER_H_
