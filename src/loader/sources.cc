// SPDX-License-Identifier: Apache-2.0
#include "loader/sources.h"

#include "absl/strings/str_cat.h"
#include "io/range_source.h"

namespace poniente::internal {

std::vector<Source> SourcesOf(const DatasetTree& tree) {
  std::vector<Source> sources;
  for (const TreeLeaf& leaf : tree.leaves()) {
    Source& source = sources.emplace_back();
    source.path = leaf.path;
    source.dataset = leaf.node->name();
    source.backend = "memory";
    if (const RangeSource* ranges = leaf.node->ranges()) {
      source.backend = IoBackendName(ranges->reader().backend());
      source.fallback_reason = ranges->reader().fallback_reason();
    }
  }
  return sources;
}

void WarnOfFallbacks(const DatasetTree& tree, const LineSink& sink) {
  for (const Source& source : SourcesOf(tree)) {
    if (source.fallback_reason.empty()) continue;
    EmitLine(sink, "warning: ",
             absl::StrCat("reading '", source.path, "' by ", source.backend,
                          ": ", source.fallback_reason));
  }
}

}  // namespace poniente::internal
