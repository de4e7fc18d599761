// SPDX-License-Identifier: Apache-2.0
#include "config/spec.h"

#include "absl/strings/str_cat.h"

namespace poniente::internal {

std::string ToString(const Place& place) {
  return absl::StrCat(place.file, ":", place.line, ":", place.column, ": ",
                      place.key);
}

}  // namespace poniente::internal
