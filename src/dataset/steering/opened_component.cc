// SPDX-License-Identifier: Apache-2.0
#include "dataset/steering/opened_component.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "dataset/node_answers.h"
#include "util/status_macros.h"

namespace poniente::internal {

absl::StatusOr<OpenedComponent> OpenAdded(const std::string& mixture,
                                          const ComponentText& text,
                                          const ComponentOpener& open) {
  if (!open) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", text.name,
        "' cannot be opened: set LoaderOptions::component_opener, or describe "
        "the run by a configuration"));
  }
  PONIENTE_ASSIGN_OR_RETURN(OpenedComponent opened, open(mixture, text));
  const MixtureComponent<TokenWindow>& component = opened.part.component;
  if (component.dataset == nullptr || component.name != text.name) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text.name, "' is to be added, but component_opener returned ",
        component.dataset == nullptr ? "no dataset"
                                     : absl::StrCat("'", component.name, "'")));
  }
  PONIENTE_RETURN_IF_ERROR(
      PrependName(CheckAnswers(*component.dataset), text.name));
  if (!component.dataset->length_now().is_final) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text.name,
        "' is still being written, so the journal cannot say what its data is: "
        "add it when it is complete, or begin the run with it, at weight 0"));
  }
  const uint64_t print = component.dataset->fingerprint();
  if (text.fingerprint == 0 || text.fingerprint == print) return opened;
  return absl::FailedPreconditionError(absl::StrCat(
      "'", text.name,
      "' is other data now than when it was added: its fingerprint is ",
      absl::Hex(print, absl::kZeroPad16), ", that of the change is ",
      absl::Hex(text.fingerprint, absl::kZeroPad16),
      "; put back the files that it had, or open it with the same settings"));
}

}  // namespace poniente::internal
