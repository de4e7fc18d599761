// SPDX-License-Identifier: Apache-2.0
// Opens a path by one row of the table of formats.

#ifndef PONIENTE_TESTS_FORMATS_OPEN_WITH_H_
#define PONIENTE_TESTS_FORMATS_OPEN_WITH_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "formats/core/layout_source.h"
#include "formats/core/token_format.h"

namespace poniente::testing {

inline absl::StatusOr<std::shared_ptr<const TokenSource>> OpenWith(
    const internal::TokenFormat& format, const std::string& path,
    const TokenSourceOptions& options = {}) {
  absl::StatusOr<internal::FoundPath> found = internal::FindPath(path);
  if (!found.ok()) return found.status();
  absl::StatusOr<internal::TokenLayout> layout = format.open(*found, options);
  if (!layout.ok()) return layout.status();
  layout->format = std::string(format.name);
  absl::StatusOr<std::shared_ptr<const internal::LayoutSource>> source =
      internal::LayoutSource::Open(path, *std::move(layout), options);
  if (!source.ok()) return source.status();
  return *std::move(source);
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_FORMATS_OPEN_WITH_H_
