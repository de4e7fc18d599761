// SPDX-License-Identifier: Apache-2.0
// poniente documents: where each document begins, and how long it is.

#include <algorithm>
#include <iostream>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/arguments.h"
#include "cli/command_line.h"
#include "cli/commands/commands.h"
#include "cli/commands/source_options.h"
#include "cli/screen/console.h"
#include "cli/screen/json.h"
#include "formats/with_documents.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

// Documents looked up at a time.
constexpr uint64_t kDocumentsAtOnce = 65536;

std::string JsonText(const std::string& text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

// Documents may be many: nothing but the current line is kept.
class Lines {
 public:
  Lines(bool is_json, bool names) : is_json_(is_json), names_(names) {
    if (is_json_) std::cout << "{\"documents\": [";
  }
  void Add(uint64_t document, TokenRange tokens, const std::string& name) {
    if (is_json_) {
      std::cout << (document == 0 ? "\n" : ",\n")
                << absl::StrCat("  {\"begin\": ", tokens.begin,
                                ", \"length\": ", tokens.size());
      if (names_) std::cout << ", \"name\": " << JsonText(name);
      std::cout << "}";
      return;
    }
    std::cout << absl::StrCat(document, "\t", tokens.begin, "\t",
                              tokens.size());
    if (names_) std::cout << '\t' << OneLine(name);
    std::cout << '\n';
  }
  void End() {
    if (is_json_) std::cout << "\n]}\n";
  }

 private:
  const bool is_json_;
  const bool names_;
};

absl::Status PrintDocuments(const TokenSource& source, bool is_json,
                            bool names) {
  Lines lines(is_json, names);
  for (uint64_t first = 0; first < source.num_documents();
       first += kDocumentsAtOnce) {
    const uint64_t count =
        std::min(kDocumentsAtOnce, source.num_documents() - first);
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint64_t> bounds,
                              source.DocumentBounds(first, count));
    for (uint64_t i = 0; i < count; ++i) {
      std::string name;
      if (names) {
        PONIENTE_ASSIGN_OR_RETURN(name, source.DocumentName(first + i));
      }
      lines.Add(first + i, {bounds[i], bounds[i + 1]}, name);
    }
  }
  lines.End();
  return absl::OkStatus();
}

}  // namespace

CommandSpec DocumentsSpec() {
  return {
      .name = "documents",
      .brief = "list where documents begin, and their lengths",
      .positionals = "PATH",
      .summary =
          "Lists the documents of the token store or the token files at PATH, "
          "in order: the\nnumber, the first token and the length of each.",
      .options = WithSourceOptions(
          {{"names", "", "also print the name of each, or where it came from"},
           {"json", "",
            "print JSON: {\"documents\": [{\"begin\", \"length\"}, ...]}"}}),
      .example = "poniente documents fortunes --names | head"};
}

int RunDocuments(const std::vector<std::string>& args) {
  const auto read = ReadCommandLine(DocumentsSpec(), args);
  if (const int* code = std::get_if<int>(&read)) return *code;
  const Arguments& arguments = std::get<Arguments>(read);
  if (arguments.positionals().size() != 1) {
    return FailUsage(absl::StrCat("documents: expected one PATH, got ",
                                  arguments.positionals().size(),
                                  "; see `poniente documents --help`"));
  }
  const auto options = ReadSourceOptions("documents", arguments);
  if (!options.ok()) return FailUsage(std::string(options.status().message()));
  const auto source =
      internal::OpenWithDocuments(arguments.positionals()[0], *options);
  if (!source.ok()) return Fail(source.status());
  const absl::Status printed =
      PrintDocuments(**source, arguments.Has("json"), arguments.Has("names"));
  if (!printed.ok()) return Fail(printed);
  return kExitOk;
}

}  // namespace poniente::cli
