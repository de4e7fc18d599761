// SPDX-License-Identifier: Apache-2.0
#include "index/schedule/place_text.h"

#include "absl/strings/str_cat.h"

namespace poniente::internal {

std::string PlaceText(const RunPoint& place) {
  switch (place.unit) {
    case RunPoint::Unit::kSteps:
      return absl::StrCat("step ", place.count);
    case RunPoint::Unit::kSamples:
      return absl::StrCat("sample ", place.count);
    case RunPoint::Unit::kTokens:
      return absl::StrCat("token ", place.count);
    case RunPoint::Unit::kShareOfSteps:
    case RunPoint::Unit::kShareOfTokens:
      break;
  }
  return absl::StrCat("share ", AmountText(place));
}

std::string AmountText(const RunPoint& amount) {
  switch (amount.unit) {
    case RunPoint::Unit::kSteps:
      return absl::StrCat(amount.count, " steps");
    case RunPoint::Unit::kSamples:
      return absl::StrCat(amount.count, " samples");
    case RunPoint::Unit::kTokens:
      return absl::StrCat(amount.count, " tokens");
    case RunPoint::Unit::kShareOfSteps:
      return absl::StrCat(amount.share, " of the steps");
    case RunPoint::Unit::kShareOfTokens:
      break;
  }
  return absl::StrCat(amount.share, " of the tokens");
}

}  // namespace poniente::internal
