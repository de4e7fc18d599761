// SPDX-License-Identifier: Apache-2.0
#ifndef PONIENTE_CLI_PLAN_VIEWS_PAGE_FILE_H_
#define PONIENTE_CLI_PLAN_VIEWS_PAGE_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace poniente::cli {

// Writes the page to a file beside `path`, and renames it. After an error or a
// kill, an existing page is as it was. A link is followed; what is no regular
// file, such as a pipe, is written in place.
absl::Status WritePage(const std::string& path, std::string_view page);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_PLAN_VIEWS_PAGE_FILE_H_
