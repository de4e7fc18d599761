// SPDX-License-Identifier: Apache-2.0
// Applies poniente_options to a loader's options.

#ifndef PONIENTE_C_API_OPTIONS_H_
#define PONIENTE_C_API_OPTIONS_H_

#include "absl/status/status.h"
#include "poniente/loader.h"
#include "poniente/poniente_c.h"

namespace poniente::internal {

// Overwrites `loader_options` with the fields that `options` states; null
// states none. InvalidArgument names the field and its value.
absl::Status ApplyOptions(const poniente_options* options,
                          LoaderOptions* loader_options);

}  // namespace poniente::internal

#endif  // PONIENTE_C_API_OPTIONS_H_
