// SPDX-License-Identifier: Apache-2.0
#include "store/packing/document_ends.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/task.h"
#include "util/in_parallel.h"
#include "util/rounding.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Documents whose last tokens are read together.
constexpr uint64_t kEndsTogether = 4096;

absl::Status CheckSomeEnds(const TokenSource& source,
                           const Selection* selection, uint64_t first,
                           uint64_t count, uint32_t id) {
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint64_t> bounds,
                            source.DocumentBounds(first, count));
  std::vector<uint64_t> documents;
  std::vector<TokenRange> ends;
  for (uint64_t i = 0; i < count; ++i) {
    if (bounds[i + 1] == bounds[i]) continue;
    if (selection != nullptr && !selection->Contains(first + i)) continue;
    documents.push_back(first + i);
    ends.push_back({bounds[i + 1] - 1, bounds[i + 1]});
  }
  if (ends.empty()) return absl::OkStatus();
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<TokenWindow> last,
                            RunBlocking(source.ReadRanges(std::move(ends))));
  for (size_t i = 0; i < last.size(); ++i) {
    if (last[i].tokens[0] == id) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "document ", documents[i], " of '", source.path(), "' ends with ",
        last[i].tokens[0], ", not with the end-of-document id ", id,
        ", so ends cannot be left out; keep them, or pack the documents "
        "again so that all end with the id"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckEnds(const TokenSource& source, const Selection* selection) {
  const std::optional<uint32_t> id = source.end_of_document();
  if (!id.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", source.path(),
        "' states no end-of-document id, so ends of documents cannot be left "
        "out; keep them (end_of_document = 'keep')"));
  }
  const uint64_t documents = source.num_documents();
  std::vector<absl::Status> checked(CeilDivide(documents, kEndsTogether));
  InParallel(checked.size(), [&](size_t i) {
    const uint64_t first = i * kEndsTogether;
    checked[i] = CheckSomeEnds(source, selection, first,
                               std::min(kEndsTogether, documents - first), *id);
  });
  for (const absl::Status& each : checked) {
    PONIENTE_RETURN_IF_ERROR(each);
  }
  return absl::OkStatus();
}

}  // namespace poniente::internal
