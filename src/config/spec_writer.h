// SPDX-License-Identifier: Apache-2.0
// A checked run as TOML, with everything stated that it may leave open.

#ifndef PONIENTE_CONFIG_SPEC_WRITER_H_
#define PONIENTE_CONFIG_SPEC_WRITER_H_

#include <string>

#include "config/spec.h"
#include "poniente/schedule.h"

namespace poniente::internal {

// Defaults are stated, KempnerForge's form is the usual one, paths are
// absolute, and whatever is placed by a share, by tokens or from the end stands
// at the step or sample that it came out at. A reader makes the same run of it.
// `folder`: what relative paths are relative to, absolute.
std::string ToToml(const RunSpec& run, const Schedule& schedule,
                   const std::string& folder);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_SPEC_WRITER_H_
