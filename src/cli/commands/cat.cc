// SPDX-License-Identifier: Apache-2.0
// poniente cat: the ids of tokens, documents or windows.

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/arguments.h"
#include "cli/command_line.h"
#include "cli/commands/commands.h"
#include "cli/commands/source_options.h"
#include "cli/screen/console.h"
#include "formats/with_documents.h"
#include "util/byte_order.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

// Read and printed at a time.
constexpr uint64_t kTokensAtOnce = uint64_t{1} << 18;

absl::Status CatUsageError(std::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat(
      "cat: ", internal::Absl(message), "; see `poniente cat --help`"));
}

// "a..b", or "n" for the one.
absl::StatusOr<TokenRange> ParseSpan(const std::string& name,
                                     const std::string& text) {
  const size_t dots = text.find("..");
  TokenRange span;
  if (dots == std::string::npos) {
    if (absl::SimpleAtoi(text, &span.begin) && span.begin < UINT64_MAX) {
      span.end = span.begin + 1;
      return span;
    }
  } else if (absl::SimpleAtoi(text.substr(0, dots), &span.begin) &&
             absl::SimpleAtoi(text.substr(dots + 2), &span.end) &&
             span.begin <= span.end) {
    return span;
  }
  return CatUsageError(absl::StrCat("--", name,
                                    " must be a number, or a range a..b (a "
                                    "included, b not) with a <= b; got '",
                                    text, "'"));
}

enum class Unit { kTokens, kDocuments, kWindows };

enum class Form { kText, kJson, kRaw };

struct CatRequest {
  std::string path;
  TokenSourceOptions options;
  Unit unit = Unit::kTokens;
  TokenRange span;
  uint64_t length = 0;
  std::optional<uint32_t> overlap;
  std::optional<bool> across_shards;
  bool keep_tail = false;
  Form form = Form::kText;
};

absl::Status ReadWindowRule(const Arguments& arguments, CatRequest* question) {
  constexpr const char* kOfWindows[] = {"length", "overlap", "shards",
                                        "keep-tail"};
  if (question->unit != Unit::kWindows) {
    for (const char* name : kOfWindows) {
      if (!arguments.Has(name)) continue;
      return CatUsageError(
          absl::StrCat("--", name, " can only be used with --window"));
    }
    return absl::OkStatus();
  }
  if (!arguments.Has("length"))
    return CatUsageError("--window needs --length L");
  PONIENTE_ASSIGN_OR_RETURN(question->length,
                            arguments.Number("length", 0, 1, UINT32_MAX - 2));
  if (arguments.Has("overlap")) {
    PONIENTE_ASSIGN_OR_RETURN(const uint64_t overlap,
                              arguments.Number("overlap", 0, 0, 1));
    question->overlap = static_cast<uint32_t>(overlap);
  }
  if (arguments.Has("shards")) {
    PONIENTE_ASSIGN_OR_RETURN(const std::string shards,
                              arguments.Choice("shards", {"across", "within"}));
    question->across_shards = shards == "across";
  }
  question->keep_tail = arguments.Has("keep-tail");
  return absl::OkStatus();
}

absl::StatusOr<CatRequest> ReadCatRequest(const Arguments& arguments) {
  CatRequest question;
  if (arguments.positionals().size() != 1) {
    return CatUsageError(absl::StrCat("expected one PATH, got ",
                                      arguments.positionals().size()));
  }
  question.path = arguments.positionals()[0];
  PONIENTE_ASSIGN_OR_RETURN(question.options,
                            ReadSourceOptions("cat", arguments));
  const std::pair<const char*, Unit> units[] = {{"tokens", Unit::kTokens},
                                                {"document", Unit::kDocuments},
                                                {"window", Unit::kWindows}};
  size_t given = 0;
  for (const auto& [name, unit] : units) {
    if (!arguments.Has(name)) continue;
    ++given;
    question.unit = unit;
    PONIENTE_ASSIGN_OR_RETURN(question.span,
                              ParseSpan(name, *arguments.Text(name)));
  }
  if (given != 1) {
    return CatUsageError("give one of --tokens, --document and --window");
  }
  PONIENTE_RETURN_IF_ERROR(ReadWindowRule(arguments, &question));
  if (arguments.Has("raw") && arguments.Has("json")) {
    return CatUsageError("--raw and --json cannot be combined");
  }
  if (arguments.Has("raw")) question.form = Form::kRaw;
  if (arguments.Has("json")) question.form = Form::kJson;
  return question;
}

// A line for each of what was asked for. Nothing is printed before its first.
class Printer {
 public:
  explicit Printer(Form form) : form_(form) {}

  void BeginLine() {
    if (form_ == Form::kJson) {
      std::cout << (lines_ == 0 ? "{\"ids\": [\n  [" : ",\n  [");
    }
    ++lines_;
    is_first_ = true;
  }
  void Ids(const std::vector<uint32_t>& ids) {
    text_.clear();
    for (const uint32_t id : ids) {
      if (form_ == Form::kRaw) {
        char bytes[sizeof(id)];
        internal::StoreLittle(id, bytes);
        text_.append(bytes, sizeof(bytes));
      } else {
        const char* const between = form_ == Form::kJson ? ", " : " ";
        absl::StrAppend(&text_, is_first_ ? "" : between, id);
        is_first_ = false;
      }
    }
    std::cout.write(text_.data(), static_cast<std::streamsize>(text_.size()));
  }
  void EndLine() {
    if (form_ == Form::kText) std::cout << '\n';
    if (form_ == Form::kJson) std::cout << ']';
  }
  void End() {
    if (form_ != Form::kJson) return;
    std::cout << (lines_ == 0 ? "{\"ids\": []}\n" : "\n]}\n");
  }

 private:
  const Form form_;
  uint64_t lines_ = 0;
  bool is_first_ = true;
  std::string text_;
};

// One line.
absl::Status PrintTokens(const TokenSource& source, TokenRange tokens,
                         Printer* printer) {
  printer->BeginLine();
  while (tokens.begin < tokens.end) {
    const uint64_t some = std::min(tokens.size(), kTokensAtOnce);
    PONIENTE_ASSIGN_OR_RETURN(
        const std::vector<uint32_t> ids,
        RunBlocking(source.ReadTokens(tokens.begin, some)));
    printer->Ids(ids);
    tokens.begin += some;
  }
  printer->EndLine();
  return absl::OkStatus();
}

absl::Status PastTheEnd(const TokenSource& source, std::string_view what,
                        TokenRange span, uint64_t there) {
  return absl::OutOfRangeError(absl::StrCat(
      "'", source.path(), "' has ", there, " ", internal::Absl(what),
      "; the range ", span.begin, "..", span.end, " goes past the end"));
}

absl::Status PrintWindows(const TokenSource& source, const CatRequest& question,
                          Printer* printer) {
  WindowRule rule = source.window_rule();
  rule.overlap = question.overlap.value_or(rule.overlap);
  rule.across_shards = question.across_shards.value_or(rule.across_shards);
  rule.keep_tail = rule.keep_tail || question.keep_tail;
  PONIENTE_ASSIGN_OR_RETURN(const auto windows,
                            source.Windows(question.length, rule));
  const uint64_t there = windows->length_now().readable;
  if (question.span.end > there) {
    return PastTheEnd(source,
                      absl::StrCat("windows of ", question.length, " tokens"),
                      question.span, there);
  }
  for (uint64_t i = question.span.begin; i < question.span.end; ++i) {
    PONIENTE_ASSIGN_OR_RETURN(const TokenWindow window,
                              windows->GetBlocking(i));
    printer->BeginLine();
    printer->Ids(window.tokens);
    printer->EndLine();
  }
  return absl::OkStatus();
}

absl::Status PrintDocuments(const TokenSource& source, TokenRange documents,
                            Printer* printer) {
  if (documents.end > source.num_documents()) {
    return PastTheEnd(source, "documents", documents, source.num_documents());
  }
  for (uint64_t d = documents.begin; d < documents.end; ++d) {
    PONIENTE_ASSIGN_OR_RETURN(const TokenRange tokens, source.DocumentRange(d));
    PONIENTE_RETURN_IF_ERROR(PrintTokens(source, tokens, printer));
  }
  return absl::OkStatus();
}

absl::Status Cat(const CatRequest& question, Printer* printer) {
  if (question.unit == Unit::kDocuments) {
    PONIENTE_ASSIGN_OR_RETURN(
        const auto source,
        internal::OpenWithDocuments(question.path, question.options));
    return PrintDocuments(*source, question.span, printer);
  }
  PONIENTE_ASSIGN_OR_RETURN(const auto source,
                            OpenTokenSource(question.path, question.options));
  if (question.unit == Unit::kWindows) {
    return PrintWindows(*source, question, printer);
  }
  if (question.span.end > source->num_tokens()) {
    return PastTheEnd(*source, "tokens", question.span, source->num_tokens());
  }
  return PrintTokens(*source, question.span, printer);
}

}  // namespace

CommandSpec CatSpec() {
  return {
      .name = "cat",
      .brief = "print the ids of tokens, documents or windows",
      .positionals =
          "PATH --tokens a..b | --document N | --window I --length L",
      .summary =
          "Prints ids of the token store or the token files at PATH: all "
          "tokens on one\nline, or one line per document or window. --tokens, "
          "--document and --window take\na number, or a range a..b that "
          "includes a but not b. Windows are cut as the\nformat's own project "
          "cuts them, unless the options below say otherwise.",
      .options = WithSourceOptions(
          {{"tokens", "a..b", "these tokens, numbered across all shards"},
           {"document", "N", "this document"},
           {"window", "I", "this window"},
           {"length", "L", "tokens in a window"},
           {"overlap", "0|1", "tokens that a window shares with the next"},
           {"shards", "across|within",
            "whether windows may cross the ends of shards"},
           {"keep-tail", "",
            "keep what is left at an end, as a shorter window"},
           {"json", "", "print JSON: {\"ids\": [[...], ...]}"},
           {"raw", "",
            "print little-endian u32 instead of text, without line ends"}}),
      .example = "poniente cat fortunes --document 0"};
}

int RunCat(const std::vector<std::string>& args) {
  const auto read = ReadCommandLine(CatSpec(), args);
  if (const int* code = std::get_if<int>(&read)) return *code;
  const auto question = ReadCatRequest(std::get<Arguments>(read));
  if (!question.ok()) {
    return FailUsage(std::string(question.status().message()));
  }
  Printer printer(question->form);
  const absl::Status printed = Cat(*question, &printer);
  if (!printed.ok()) return Fail(printed);
  printer.End();
  return kExitOk;
}

}  // namespace poniente::cli
