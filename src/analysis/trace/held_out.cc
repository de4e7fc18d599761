// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "config/tree/hold_outs.h"
#include "poniente/trace.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

absl::StatusOr<const ConfigSource*> SourceAt(const Config& config,
                                             std::string_view path) {
  const std::vector<ConfigSource>& sources = config.sources();
  const auto found =
      std::find_if(sources.begin(), sources.end(),
                   [&](const auto& source) { return source.path == path; });
  if (found != sources.end()) return &*found;
  return absl::NotFoundError(
      absl::StrCat("there is no source '", internal::Absl(path), "'"));
}

// Evaluations that choose from the same source something of which
// `reads(source)` is true.
template <class Reads>
absl::StatusOr<std::vector<std::string>> EvalsOver(const Config& config,
                                                   const ConfigSource& trained,
                                                   const Reads& reads) {
  std::vector<std::string> names;
  for (const RunEval& eval : config.run().evals) {
    PONIENTE_ASSIGN_OR_RETURN(const Config opened, config.Eval(eval.name));
    const bool is_read = std::any_of(
        opened.sources().begin(), opened.sources().end(),
        [&](const ConfigSource& source) {
          const bool is_same =
              trained.data == nullptr
                  ? source.data == nullptr && source.path == trained.path
                  : source.data != nullptr && source.data->fingerprint() ==
                                                  trained.data->fingerprint();
          return is_same && reads(source);
        });
    if (is_read) names.push_back(eval.name);
  }
  return names;
}

absl::Status NoSuch(std::string_view what, uint64_t number,
                    std::string_view path) {
  return absl::OutOfRangeError(
      absl::StrCat("there is no ", internal::Absl(what), " ", number, " of '",
                   internal::Absl(path), "'"));
}

}  // namespace

absl::StatusOr<HeldOutBy> HeldOutDocument(const Config& config,
                                          std::string_view path,
                                          uint64_t document) {
  PONIENTE_ASSIGN_OR_RETURN(const ConfigSource* const trained,
                            SourceAt(config, path));
  HeldOutBy held;
  if (!trained->hold_out.has_value() || trained->data == nullptr ||
      trained->hold_out->documents == 0) {
    return held;
  }
  if (document >= trained->data->num_documents()) {
    return NoSuch("document", document, path);
  }
  // Documents that were never chosen are not held out.
  NodeHoldOut others = *trained->hold_out;
  others.invert = !others.invert;
  PONIENTE_ASSIGN_OR_RETURN(
      const Selection out,
      internal::SelectDocuments(*trained->data, others, nullptr));
  held.is_held_out = out.Contains(document);
  if (!held.is_held_out) return held;
  PONIENTE_ASSIGN_OR_RETURN(
      held.evals, EvalsOver(config, *trained, [&](const ConfigSource& source) {
        return source.documents == nullptr ||
               source.documents->Contains(document);
      }));
  return held;
}

absl::StatusOr<HeldOutBy> HeldOutItem(const Config& config,
                                      std::string_view path, Index item) {
  PONIENTE_ASSIGN_OR_RETURN(const ConfigSource* const trained,
                            SourceAt(config, path));
  HeldOutBy held;
  if (trained->windows == nullptr) return held;
  if (item >= trained->windows->size()) return NoSuch("item", item, path);
  held.is_held_out = !trained->windows->Contains(item);
  if (!held.is_held_out) return held;
  PONIENTE_ASSIGN_OR_RETURN(
      held.evals, EvalsOver(config, *trained, [&](const ConfigSource& source) {
        return source.windows != nullptr && source.windows->Contains(item);
      }));
  return held;
}

}  // namespace poniente
