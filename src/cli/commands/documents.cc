// SPDX-License-Identifier: Apache-2.0
// poniente documents: where each document begins, and how long it is.

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/arguments.h"
#include "cli/command_line.h"
#include "cli/commands/commands.h"
#include "cli/commands/source_options.h"
#include "cli/screen/console.h"
#include "cli/screen/json.h"
#include "cli/screen/terminal.h"
#include "formats/with_documents.h"
#include "poniente/token_store.h"
#include "store/catalog/joined_stores.h"
#include "store/read/token_store_access.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

// Documents looked up at a time.
constexpr uint64_t kDocumentsAtOnce = 65536;

std::string JsonText(const std::string& text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

// Whether the documents of a store, or of the stores of a catalogue, have
// names. Those of other formats tell where a document came from, which may take
// long to find: they are for --names.
bool HasStoredNames(const TokenSource& source) {
  const auto has_names = [](const TokenStore& store) {
    return internal::TokenStoreAccess::Manifest(store).name_bytes > 0;
  };
  if (const auto* store = dynamic_cast<const TokenStore*>(&source)) {
    return has_names(*store);
  }
  const auto* const joined =
      dynamic_cast<const internal::JoinedStores*>(&source);
  return joined != nullptr &&
         std::any_of(joined->stores().begin(), joined->stores().end(),
                     [&](const auto& store) { return has_names(*store); });
}

// The column behind `text`, whose tabs go to the next multiple of 8.
size_t ColumnBehind(std::string_view text) {
  size_t column = 0;
  for (const char c : text)
    column = c == '\t' ? column / 8 * 8 + 8 : column + 1;
  return column;
}

// As much of a text as `letters` have room for, with "..." for the rest.
std::string Shortened(const std::string& text, size_t letters) {
  size_t kept = 0;  // bytes of the first letters, less those of the dots
  size_t count = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) continue;
    if (count + 3 <= letters) kept = i;
    ++count;
  }
  return count <= letters ? text : text.substr(0, kept) + "...";
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
    std::string line =
        absl::StrCat(document, "\t", tokens.begin, "\t", tokens.size());
    if (names_) {
      line += '\t';
      const size_t column = ColumnBehind(line);
      const std::string shown = OneLine(name);
      line += letters_ == 0
                  ? shown
                  : Shortened(shown, std::max(letters_, column + 8) - column);
    }
    std::cout << line << '\n';
  }
  void End() {
    if (is_json_) std::cout << "\n]}\n";
  }

 private:
  const bool is_json_;
  const bool names_;
  // Room in a line of the terminal; 0 if the output is none.
  const size_t letters_ =
      IsTerminal(STDOUT_FILENO) ? LettersPerLine(STDOUT_FILENO) : 0;
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
      .brief = "list where documents begin, their lengths and names",
      .positionals = "PATH",
      .summary =
          "Lists the documents of the token store or the token files at PATH, "
          "in order: the\nnumber, the first token and the length of each, and "
          "the name if a store has it. On a\nterminal, names that are too long "
          "for the line are cut.",
      .options = WithSourceOptions(
          {{"names", "",
            "for token files of other projects: also print where each document "
            "came from"},
           {"json", "",
            "print JSON: {\"documents\": [{\"begin\", \"length\", \"name\"}, "
            "...]}"}}),
      .example = "poniente documents fortunes | head"};
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
      PrintDocuments(**source, arguments.Has("json"),
                     arguments.Has("names") || HasStoredNames(**source));
  if (!printed.ok()) return Fail(printed);
  return kExitOk;
}

}  // namespace poniente::cli
