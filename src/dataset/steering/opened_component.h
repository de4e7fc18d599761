// SPDX-License-Identifier: Apache-2.0
// Components that changes add, as they are opened.

#ifndef PONIENTE_DATASET_STEERING_OPENED_COMPONENT_H_
#define PONIENTE_DATASET_STEERING_OPENED_COMPONENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/extend/opened_component.h"
#include "poniente/journal.h"
#include "poniente/token_window.h"

namespace poniente::internal {

// Opens a component that a change adds to a mixture, and compares its data with
// the fingerprint that the text states. `open`: null if nothing can be opened.
absl::StatusOr<OpenedComponent> OpenAdded(const std::string& mixture,
                                          const ComponentText& text,
                                          const ComponentOpener& open);

}  // namespace poniente::internal

#endif  // PONIENTE_DATASET_STEERING_OPENED_COMPONENT_H_
