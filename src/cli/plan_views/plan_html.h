// SPDX-License-Identifier: Apache-2.0
// Writes a plan as one page for a browser that needs no network and no other
// files.

#ifndef PONIENTE_CLI_PLAN_VIEWS_PLAN_HTML_H_
#define PONIENTE_CLI_PLAN_VIEWS_PLAN_HTML_H_

#include <string>
#include <string_view>

#include "poniente/plan.h"

namespace poniente::cli {

// Returns the page. `title` and the names in the plan may be any text: none of
// it becomes markup.
std::string PlanPage(const PlannedRun& plan, const std::string& title);

// Makes JSON safe between <script> tags and in HTML. Escapes '<', '>', '&' and
// the characters that end a line in JavaScript but not in JSON. `json` is
// UTF-8.
std::string ScriptSafe(std::string_view json);
std::string HtmlText(std::string_view text);

// The page without its data; it contains {{title}} and {{plan}} in their place.
extern const char* const kPlanPage;
extern const char* const kPlanStyle;   // {{style}}
extern const char* const kPlanScript;  // {{script}}

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_PLAN_VIEWS_PLAN_HTML_H_
