// SPDX-License-Identifier: Apache-2.0
#include "store/packing/open_length_order.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "poniente/token_store.h"
#include "store/packing/length_order_file.h"
#include "store/packing/length_sort.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Name of the file in the folder of a token store.
constexpr char kFileName[] = "documents-by-length.bin";

absl::Status CheckSelection(const TokenSource& source,
                            const Selection* selection) {
  if (!source.knows_documents()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", source.path(),
        "' does not say where documents end, so they cannot be packed; state "
        "its end-of-document id, or pack it into a token store"));
  }
  if (selection != nullptr && selection->size() != source.num_documents()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the selection is of ", selection->size(), " items, '", source.path(),
        "' has ", source.num_documents(),
        " documents; make the selection anew from scores of these documents"));
  }
  return absl::OkStatus();
}

// A damaged file counts as none: it is made again.
absl::StatusOr<std::optional<LengthOrder>> OpenKept(const std::string& path,
                                                    uint64_t key,
                                                    uint64_t documents) {
  absl::StatusOr<std::optional<LengthOrder>> kept =
      OpenLengthOrderFile(path, key, documents);
  if (absl::IsDataLoss(kept.status())) return std::nullopt;
  return kept;
}

absl::StatusOr<LengthOrder> OpenOrMake(const std::string& path, uint64_t key,
                                       const TokenSource& source,
                                       const Selection* selection) {
  const uint64_t documents = source.num_documents();
  PONIENTE_ASSIGN_OR_RETURN(std::optional<LengthOrder> kept,
                            OpenKept(path, key, documents));
  if (kept.has_value()) return *std::move(kept);
  PONIENTE_ASSIGN_OR_RETURN(LengthOrderWriter writer,
                            LengthOrderWriter::Lock(path));
  // Another process may have made it meanwhile.
  PONIENTE_ASSIGN_OR_RETURN(kept, OpenKept(path, key, documents));
  if (kept.has_value()) return *std::move(kept);
  PONIENTE_ASSIGN_OR_RETURN(const LengthSort sort,
                            LengthSort::Count(source, selection));
  PONIENTE_RETURN_IF_ERROR(writer.Write(key, sort));
  PONIENTE_ASSIGN_OR_RETURN(kept, OpenLengthOrderFile(path, key, documents));
  if (kept.has_value()) return *std::move(kept);
  return absl::AbortedError(absl::StrCat(
      "'", path,
      "' was replaced by the order of other documents while it was "
      "made; name a file of its own for each source and selection"));
}

}  // namespace

absl::StatusOr<LengthOrder> OpenLengthOrder(const TokenSource& source,
                                            const Selection* selection,
                                            const std::string& file) {
  PONIENTE_RETURN_IF_ERROR(CheckSelection(source, selection));
  std::string path = file;
  if (path.empty() && selection == nullptr &&
      dynamic_cast<const TokenStore*>(&source) != nullptr) {
    path = absl::StrCat(source.path(), "/", kFileName);
  }
  const uint64_t key = LengthOrderKey(source, selection);
  if (!path.empty()) {
    absl::StatusOr<LengthOrder> kept = OpenOrMake(path, key, source, selection);
    if (kept.ok() || !file.empty()) return kept;
  }
  PONIENTE_ASSIGN_OR_RETURN(const LengthSort sort,
                            LengthSort::Count(source, selection));
  return sort.InMemory();
}

}  // namespace poniente::internal
