// SPDX-License-Identifier: Apache-2.0
// poniente find: which steps of a run read an item or a document.

#include <algorithm>
#include <cctype>
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
#include "cli/commands/load_config.h"
#include "cli/commands/steps_option.h"
#include "cli/screen/console.h"
#include "cli/screen/json.h"
#include "cli/screen/table.h"
#include "dataset/steering/change_places.h"
#include "index/journal/number_ranges.h"
#include "poniente/config.h"
#include "poniente/trace.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

absl::Status FindUsageError(const std::string& message) {
  return absl::InvalidArgumentError(
      absl::StrCat("find: ", message, "; see `poniente find --help`"));
}

// What the command line asks for.
struct FindRequest {
  std::string source;
  std::optional<uint64_t> item;
  std::string document;
  std::optional<StepRange> steps;
  bool is_of_eval = false;
};

absl::StatusOr<FindRequest> ReadFindRequest(const Arguments& arguments) {
  FindRequest question;
  if (!arguments.Has("source")) return FindUsageError("give a --source");
  question.source = *arguments.Text("source");
  question.is_of_eval = arguments.Has("eval");
  if (arguments.Has("item") == arguments.Has("document")) {
    return FindUsageError("give either an --item or a --document");
  }
  if (arguments.Has("item")) {
    PONIENTE_ASSIGN_OR_RETURN(question.item,
                              arguments.Number("item", 0, 0, UINT64_MAX));
  } else {
    question.document = *arguments.Text("document");
    if (question.document.empty()) {
      return FindUsageError("--document must be a number or a name, got ''");
    }
  }
  if (const auto steps = arguments.Text("steps")) {
    const auto range = ParseSteps(*steps);
    if (!range.ok())
      return FindUsageError(std::string(range.status().message()));
    question.steps = *range;
  }
  return question;
}

bool IsNumber(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

absl::StatusOr<std::vector<uint64_t>> DocumentsMeant(const TracedRun& run,
                                                     const std::string& path,
                                                     const std::string& text) {
  if (!IsNumber(text)) return run.DocumentsNamed(path, text);
  uint64_t number = 0;
  if (absl::SimpleAtoi(text, &number)) return std::vector<uint64_t>{number};
  return absl::OutOfRangeError(
      absl::StrCat("there is no document ", text, " of '", path, "'"));
}

absl::StatusOr<std::vector<TracedReading>> Answer(const TracedRun& run,
                                                  const std::string& path,
                                                  const FindRequest& question) {
  if (!question.steps && !run.steps()) {
    return absl::FailedPreconditionError(
        "the run has no end: state which steps to search with --steps a..b");
  }
  if (question.item) return run.FindItem(path, *question.item, question.steps);
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint64_t> documents,
                            DocumentsMeant(run, path, question.document));
  std::vector<TracedReading> all;
  for (const uint64_t document : documents) {
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<TracedReading> found,
                              run.FindDocument(path, document, question.steps));
    all.insert(all.end(), found.begin(), found.end());
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const TracedReading& a, const TracedReading& b) {
                     return a.reading.sample < b.reading.sample;
                   });
  return all;
}

// A document or item that is held out.
struct HeldOutNumber {
  uint64_t number = 0;
  std::vector<std::string> evals;
};

absl::StatusOr<std::vector<uint64_t>> NumbersMeant(
    const TracedRun& run, const std::string& path,
    const FindRequest& question) {
  if (question.item) return std::vector<uint64_t>{*question.item};
  return DocumentsMeant(run, path, question.document);
}

// Those of the question that are held out of training.
absl::StatusOr<std::vector<HeldOutNumber>> HeldOutOf(
    const Config& config, const TracedRun& run, const std::string& path,
    const FindRequest& question) {
  std::vector<HeldOutNumber> all;
  if (question.is_of_eval) return all;  // which reads what is held out
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint64_t> numbers,
                            NumbersMeant(run, path, question));
  for (const uint64_t number : numbers) {
    PONIENTE_ASSIGN_OR_RETURN(
        HeldOutBy held, question.item ? HeldOutItem(config, path, number)
                                      : HeldOutDocument(config, path, number));
    if (held.is_held_out) all.push_back({number, std::move(held.evals)});
  }
  return all;
}

// A document or item that a change of the journal drops or masks.
struct DroppedNumber {
  uint64_t number = 0;
  uint64_t change = 0;
  uint64_t step = 0;  // from which on
  bool is_masked = false;
};

// Those of the question.
absl::StatusOr<std::vector<DroppedNumber>> DroppedOf(
    const Config& config, const TracedRun& run, const std::string& path,
    const FindRequest& question) {
  std::vector<DroppedNumber> all;
  const std::vector<JournalEntry> entries =
      config.journal().EntriesOf(RunChange::Kind::kDrop);
  if (entries.empty()) return all;
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint64_t> numbers,
                            NumbersMeant(run, path, question));
  for (const JournalEntry& entry : entries) {
    const RunChange& change = entry.change;
    if (change.path != path ||
        change.drops_items != question.item.has_value()) {
      continue;
    }
    PONIENTE_ASSIGN_OR_RETURN(
        const uint64_t step,
        internal::HoldsFromStep(*config.dataset(), config.schedule(), entry));
    for (const uint64_t number : numbers) {
      if (!internal::HasNumber(change.dropped, number)) continue;
      all.push_back({number, entry.number, step, change.masks});
    }
  }
  return all;
}

// "held out for evaluation 'a', 'b'"
std::string HeldOutWords(const HeldOutNumber& held) {
  if (held.evals.empty()) return "held out; no evaluation reads it";
  std::string names;
  for (const std::string& eval : held.evals) {
    absl::StrAppend(&names, names.empty() ? "'" : ", '", OneLine(eval), "'");
  }
  return absl::StrCat("held out for evaluation ", names);
}

void PrintFoundAsJson(const std::vector<TracedReading>& readings,
                      const std::vector<HeldOutNumber>& held,
                      const std::vector<DroppedNumber>& dropped,
                      std::optional<uint64_t> steps_there) {
  Json json;
  if (steps_there) json["steps_there"] = *steps_there;
  json["reads"] = Json::array();
  for (const TracedReading& found : readings) {
    Json row;
    row["step"] = found.reading.step;
    row["position"] = found.reading.position;
    row["epoch"] = found.reading.epoch;
    row["item"] = found.item;
    row["token_begin"] = found.reading.token_begin;
    row["token_end"] = found.reading.token_end;
    if (found.view > 0) row["view"] = found.view;
    if (found.document) row["document"] = *found.document;
    if (found.document_tokens) {
      row["document_begin"] = found.document_tokens->begin;
      row["document_end"] = found.document_tokens->end;
    }
    json["reads"].push_back(std::move(row));
  }
  json["held_out"] = Json::array();
  for (const HeldOutNumber& one : held) {
    json["held_out"].push_back({{"number", one.number}, {"evals", one.evals}});
  }
  json["dropped"] = Json::array();
  for (const DroppedNumber& one : dropped) {
    json["dropped"].push_back({{"number", one.number},
                               {"change", one.change},
                               {"from_step", one.step},
                               {"masked", one.is_masked}});
  }
  PrintJson(json);
}

// Of a run over a store that grows.
void PrintNotThere(uint64_t steps_there) {
  std::cout << "what steps from " << steps_there
            << " on read is not known yet: a source is still growing\n";
}

void PrintFoundAsText(const std::string& path, const FindRequest& question,
                      const std::vector<TracedReading>& readings,
                      const std::vector<HeldOutNumber>& held,
                      const std::vector<DroppedNumber>& dropped) {
  std::cout << (question.item ? absl::StrCat("item ", *question.item)
                              : absl::StrCat("document '",
                                             OneLine(question.document), "'"))
            << " of '" << OneLine(path) << "': ";
  if (readings.empty() && held.size() == 1) {
    std::cout << HeldOutWords(held.front()) << '\n';
    return;
  }
  if (readings.empty()) std::cout << "no sample reads it\n";
  for (const HeldOutNumber& one : held) {
    std::cout << (question.item ? "item " : "document ") << one.number << ": "
              << HeldOutWords(one) << '\n';
  }
  if (!readings.empty()) {
    std::cout << Plural(readings.size(), "sample") << " of "
              << (question.steps ? absl::StrCat("steps ", question.steps->begin,
                                                "..", question.steps->end - 1)
                                 : "the run")
              << (readings.size() == 1 ? " reads it\n" : " read it\n");
  }
  for (const DroppedNumber& one : dropped) {
    std::cout << (question.item ? "item " : "document ") << one.number << ": "
              << (one.is_masked ? "masked" : "dropped") << " by change "
              << one.change << ", from step " << one.step << " on\n";
  }
  if (readings.empty()) return;
  std::cout << '\n';
  std::vector<std::vector<std::string>> rows = {
      {"step", "position", "epoch", "item", "tokens"}};
  const bool has_documents = std::any_of(
      readings.begin(), readings.end(),
      [](const auto& found) { return found.document_tokens.has_value(); });
  if (has_documents) rows[0].push_back("of the document");
  for (const TracedReading& found : readings) {
    rows.push_back(
        {absl::StrCat(found.reading.step), absl::StrCat(found.reading.position),
         absl::StrCat(found.reading.epoch),
         absl::StrCat(found.item, found.view > 0
                                      ? absl::StrCat(" (view ", found.view, ")")
                                      : std::string()),
         absl::StrCat(found.reading.token_begin, "..",
                      found.reading.token_end)});
    if (!has_documents) continue;
    const TokenRange tokens = found.document_tokens.value_or(TokenRange());
    rows.back().push_back(found.document_tokens.has_value()
                              ? absl::StrCat(tokens.begin, "..", tokens.end)
                              : "-");
  }
  PrintTable(rows);
}

}  // namespace

CommandSpec FindSpec() {
  return {
      .name = "find",
      .brief = "say which steps read an item or a document",
      .positionals = "CONFIG --source NAME --item N | --document ID",
      .summary =
          "Says which samples of the run in the TOML file CONFIG read an item "
          "or a document\nof a source.",
      .options = {{"source", "NAME",
                   "the path of the source, or a name or path ending that only "
                   "this source has"},
                  {"item", "N", "the item's number in the source"},
                  {"document", "ID", "the document's number, or its name"},
                  {"eval", "NAME", "search this evaluation instead of the run"},
                  {"steps", "a..b",
                   "search only steps a to b - 1; default: all"},
                  JournalOption(),
                  {"json", "", "print JSON"}},
      .example = "poniente find train.toml --source fortunes --item 17"};
}

int RunFind(const std::vector<std::string>& args) {
  const auto read = ReadCommandLine(FindSpec(), args);
  if (const int* code = std::get_if<int>(&read)) return *code;
  const Arguments& parsed = std::get<Arguments>(read);
  if (parsed.positionals().size() != 1) {
    return FailUsage("find: give one CONFIG; see `poniente find --help`");
  }
  const auto question = ReadFindRequest(parsed);
  if (!question.ok()) {
    return FailUsage(std::string(question.status().message()));
  }
  const auto loaded = LoadConfig(parsed.positionals()[0], parsed);
  if (!loaded.ok()) return FailConfig(loaded.status());
  const auto config = EvalOrSelf(*loaded, parsed.Text("eval"));
  if (!config.ok()) return Fail(config.status());
  const TracedRun run(*config);
  const auto path = run.FindSource(question->source);
  if (!path.ok()) return Fail(path.status());
  const std::optional<uint64_t> there = run.trace().steps_there();
  const auto found = Answer(run, *path, *question);
  if (!found.ok()) return Fail(found.status());
  const auto held = HeldOutOf(*config, run, *path, *question);
  if (!held.ok()) return Fail(held.status());
  const auto dropped = DroppedOf(*config, run, *path, *question);
  if (!dropped.ok()) return Fail(dropped.status());
  if (parsed.Has("json")) {
    PrintFoundAsJson(*found, *held, *dropped, there);
  } else {
    PrintFoundAsText(*path, *question, *found, *held, *dropped);
    if (there) PrintNotThere(*there);
  }
  return kExitOk;
}

}  // namespace poniente::cli
