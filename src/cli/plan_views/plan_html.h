// SPDX-License-Identifier: Apache-2.0
// A plan as one page for a browser: no network, no files beside it.

#ifndef PONIENTE_CLI_PLAN_VIEWS_PLAN_HTML_H_
#define PONIENTE_CLI_PLAN_VIEWS_PLAN_HTML_H_

#include <string>
#include <string_view>

#include "analysis/plan/planned_run.h"

namespace poniente::cli {

// `title` is any text, as names in the plan are: none of them becomes markup.
std::string PlanPage(const internal::PlannedRun& plan,
                     const std::string& title);

// Safe between <script> tags and in HTML: '<', '>', '&' and the line ends of
// JavaScript that JSON does not know become escapes. `json` in UTF-8.
std::string ScriptSafe(std::string_view json);
std::string HtmlText(std::string_view text);

// The page without its data: {{title}} and {{plan}} stand for them.
extern const char* const kPlanPage;
extern const char* const kPlanStyle;   // {{style}}
extern const char* const kPlanScript;  // {{script}}

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_PLAN_VIEWS_PLAN_HTML_H_
