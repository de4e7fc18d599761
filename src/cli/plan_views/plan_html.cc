// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_views/plan_html.h"

#include "cli/plan_views/plan_json.h"

namespace poniente::cli {
namespace {

// `page` with `mark` replaced by `text`, once.
std::string Filled(std::string page, std::string_view mark,
                   const std::string& text) {
  const size_t at = page.find(mark);
  return page.replace(at, mark.size(), text);
}

}  // namespace

std::string ScriptSafe(std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '<') {
      safe += "\\u003c";
    } else if (c == '>') {
      safe += "\\u003e";
    } else if (c == '&') {
      safe += "\\u0026";
    } else if (json.substr(i, 2) == "\xE2\x80" && i + 2 < json.size() &&
               (json[i + 2] == '\xA8' || json[i + 2] == '\xA9')) {
      safe += json[i + 2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string HtmlText(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string PlanPage(const PlannedRun& plan, const std::string& title) {
  nlohmann::ordered_json json = PlanJson(plan, true);
  json["title"] = title;
  const std::string data = json.dump(
      -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  // The data last: what is in them is no mark.
  std::string page = Filled(kPlanPage, "{{style}}", kPlanStyle);
  page = Filled(std::move(page), "{{script}}", kPlanScript);
  const size_t at = page.find("{{plan}}");
  const std::string head =
      Filled(page.substr(0, at), "{{title}}", HtmlText(title));
  return head + ScriptSafe(data) + page.substr(at + 8);
}

}  // namespace poniente::cli
