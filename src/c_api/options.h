// SPDX-License-Identifier: Apache-2.0
// poniente_options as the loader's own.

#ifndef PONIENTE_C_API_OPTIONS_H_
#define PONIENTE_C_API_OPTIONS_H_

#include "absl/status/status.h"
#include "poniente/loader.h"
#include "poniente/poniente_c.h"

namespace poniente::internal {

// Puts what `options` says, which may be null, in place of what the
// configuration said. InvalidArgument names the field and its value.
absl::Status ApplyOptions(const poniente_options* options,
                          LoaderOptions* loader_options);

}  // namespace poniente::internal

#endif  // PONIENTE_C_API_OPTIONS_H_
