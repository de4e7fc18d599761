// SPDX-License-Identifier: Apache-2.0
#include "store/packing/open_length_order.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "poniente/token_store.h"
#include "store/packing/document_ends.h"
#include "store/packing/length_order_file.h"
#include "store/packing/length_sort.h"
#include "store/packing/replaced_file.h"
#include "util/status_macros.h"

namespace poniente::internal {

absl::Status CheckPackable(const TokenSource& source,
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

std::string PackingFile(const TokenSource& source, const Selection* selection,
                        const std::string& named, std::string_view usual) {
  if (!named.empty() || selection != nullptr ||
      dynamic_cast<const TokenStore*>(&source) == nullptr) {
    return named;
  }
  return absl::StrCat(source.path(), "/", Absl(usual));
}

namespace {

absl::StatusOr<LengthSort> Sort(const TokenSource& source,
                                const Selection* selection,
                                uint32_t end_tokens) {
  if (end_tokens > 0) {
    PONIENTE_RETURN_IF_ERROR(CheckEnds(source, selection));
  }
  return LengthSort::Count(source, selection, end_tokens);
}

absl::StatusOr<LengthOrder> InFile(const std::string& path,
                                   const TokenSource& source,
                                   const Selection* selection,
                                   uint32_t end_tokens) {
  const uint64_t key = LengthOrderKey(source, selection, end_tokens);
  absl::StatusOr<std::optional<LengthOrder>> order = OpenOrMake(
      path,
      [&] { return OpenLengthOrderFile(path, key, source.num_documents()); },
      [&](ReplacedFile& file) -> absl::Status {
        PONIENTE_ASSIGN_OR_RETURN(const LengthSort sort,
                                  Sort(source, selection, end_tokens));
        return file.Write([&](int fd, const std::string& temporary) {
          return WriteLengthOrder(fd, temporary, key, sort);
        });
      });
  if (!order.ok()) return order.status();
  return **std::move(order);
}

}  // namespace

absl::StatusOr<LengthOrder> OpenLengthOrder(const TokenSource& source,
                                            const Selection* selection,
                                            const std::string& file,
                                            uint32_t end_tokens) {
  PONIENTE_RETURN_IF_ERROR(CheckPackable(source, selection));
  const std::string path =
      PackingFile(source, selection, file,
                  end_tokens == 0 ? "documents-by-length.bin"
                                  : "documents-by-length-without-ends.bin");
  if (!path.empty()) {
    absl::StatusOr<LengthOrder> kept =
        InFile(path, source, selection, end_tokens);
    if (kept.ok() || !file.empty()) return kept;
  }
  PONIENTE_ASSIGN_OR_RETURN(const LengthSort sort,
                            Sort(source, selection, end_tokens));
  return sort.InMemory();
}

}  // namespace poniente::internal
