// SPDX-License-Identifier: Apache-2.0
// poniente show: what a step of a run sees, sample by sample.

#include <algorithm>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/trace/change_words.h"
#include "cli/arguments.h"
#include "cli/command_line.h"
#include "cli/commands/commands.h"
#include "cli/commands/load_config.h"
#include "cli/commands/token_text.h"
#include "cli/screen/console.h"
#include "cli/screen/json.h"
#include "cli/screen/table.h"
#include "index/max_samples.h"
#include "poniente/config.h"
#include "poniente/trace.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

// Documents of one sample that a line has room for.
constexpr size_t kMaxDocumentsShown = 4;

// What --text adds to a sample.
struct SampleText {
  std::optional<std::string> text;  // unset if the tokenizer is not at hand
  std::vector<uint32_t> tokens;
  // Tokens of the sample that have no loss, in order; unset if the source has
  // no loss mask, or where its documents lie is not known.
  std::optional<std::vector<TokenRange>> without_loss;
};

// The documents of a sample are texts of their own.
std::string TextOfSample(const TokenText& text, const TracedSample& sample,
                         std::span<const uint32_t> tokens) {
  std::string result;
  for (const TracedDocument& document : sample.documents) {
    const size_t count =
        static_cast<size_t>(std::min<uint64_t>(document.tokens, tokens.size()));
    if (!document.is_padding()) {
      result += text.Of(tokens.first(count), document.has_beginning);
    }
    tokens = tokens.subspan(count);
  }
  return result + text.Of(tokens, /*begins_document=*/false);
}

// Returns which tokens of a sample have no loss.
absl::StatusOr<std::vector<TokenRange>> WithoutLoss(
    const TokenSource& source, const TracedSample& sample) {
  std::vector<TokenRange> ranges;
  uint64_t at = 0;
  for (const TracedDocument& document : sample.documents) {
    if (document.is_padding()) {
      at += document.tokens;
      continue;
    }
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint8_t> has_loss,
                              RunBlocking(source.ReadLossMask(
                                  document.first_token, document.tokens)));
    for (const uint8_t one : has_loss) {
      const bool continues = !ranges.empty() && ranges.back().end == at;
      if (one == 0 && continues) {
        ++ranges.back().end;
      } else if (one == 0) {
        ranges.push_back({at, at + 1});
      }
      ++at;
    }
  }
  return ranges;
}

absl::StatusOr<std::vector<SampleText>> ReadTexts(
    const TracedRun& run, const Config& config, TokenTexts found,
    const std::vector<TracedSample>& samples) {
  auto windows = run.Tokens(samples);
  if (!windows.ok()) return windows.status();
  std::vector<SampleText> texts;
  for (size_t i = 0; i < samples.size(); ++i) {
    const TracedSample& sample = samples[i];
    const TokenSource* const source =
        config.sources()[sample.origin.leaf].data.get();
    const Vocabulary* known =
        source == nullptr ? nullptr : source->known_vocabulary();
    if (known == nullptr) known = &config.vocabulary();
    const auto text = found.For(source, known);
    if (!text.ok()) return text.status();
    SampleText& shown = texts.emplace_back();
    shown.tokens = std::move((*windows)[i].tokens);
    if (source != nullptr && source->has_loss_mask() &&
        !sample.documents.empty()) {
      PONIENTE_ASSIGN_OR_RETURN(shown.without_loss,
                                WithoutLoss(*source, sample));
    }
    if (*text != nullptr) {
      shown.text = TextOfSample(**text, sample, shown.tokens);
    }
  }
  for (const std::string& warning : found.warnings()) Warn(warning);
  return texts;
}

// What the sample's tokens are, in order, padding included.
Json PiecesJson(const std::vector<TracedDocument>& documents) {
  Json rows = Json::array();
  uint64_t begin = 0;
  for (const TracedDocument& document : documents) {
    Json& row = rows.emplace_back();
    row["document"] = document.is_padding() ? Json() : Json(document.number);
    row["name"] = document.name.empty() ? Json() : Json(document.name);
    row["token_begin"] = begin;
    row["token_end"] = begin + document.tokens;
    const std::optional<TokenRange> own = document.InDocument();
    const bool is_known = own.has_value();
    row["document_begin"] = is_known ? Json(own->begin) : Json();
    row["document_end"] = is_known ? Json(own->end) : Json();
    row["document_tokens"] =
        is_known ? Json(document.document->size()) : Json();
    row["whole"] = Json();
    if (is_known) row["whole"] = document.is_whole;
    begin += document.tokens;
  }
  return rows;
}

// How documents are filled in the middle; null if none is.
Json InfilledJson(const std::vector<TracedDocument>& documents) {
  Json rows;
  uint64_t begin = 0;
  for (const TracedDocument& document : documents) {
    if (document.infilled.has_value()) {
      const InfilledPiece::Shape& shape = document.infilled->shape();
      rows.push_back({{"document", document.number},
                      {"token_begin", begin},
                      {"token_end", begin + document.tokens},
                      {"order", std::string(InfillingOrderName(shape.order))},
                      {"prefix_tokens", shape.prefix_tokens},
                      {"middle_tokens", shape.middle_tokens},
                      {"suffix_tokens", shape.suffix_tokens()}});
    }
    begin += document.tokens;
  }
  return rows;
}

void PrintStepAsJson(const TracedStep& step,
                     const std::vector<PlannedRunChange>& decided,
                     const std::vector<SampleText>& texts) {
  Json json;
  json["step"] = step.plan.step;
  json["batch_size"] = step.plan.batch_size;
  json["seq_len"] = step.plan.seq_len;
  json["lr_scale"] = step.plan.lr_scale;
  json["stage"] = step.stage_name;
  json["changes"] = Json::array();
  for (const StepChange& change : step.plan.changes) {
    Json& row = json["changes"].emplace_back();
    row["kind"] = std::string(StepChangeName(change.kind));
    row["mixture"] = change.mixture;
    row["stage"] = change.stage;
  }
  json["journal"] = Json::array();
  for (const PlannedRunChange& change : decided) {
    json["journal"].push_back(
        {{"number", change.number}, {"change", change.change}});
  }
  json["samples"] = Json::array();
  for (size_t i = 0; i < step.samples.size(); ++i) {
    const TracedSample& sample = step.samples[i];
    Json row;
    row["position"] = sample.origin.position;
    row["source"] = sample.source;
    row["path"] = sample.origin.path;
    row["item"] = sample.origin.item;
    row["epoch"] = sample.origin.epoch;
    std::vector<uint64_t> documents;
    uint64_t padding = 0;
    for (const TracedDocument& document : sample.documents) {
      if (document.is_padding()) {
        padding += document.tokens;
      } else {
        documents.push_back(document.number);
      }
    }
    row["document"] = documents.empty() ? Json() : Json(documents.front());
    row["token_begin"] = sample.origin.token_begin;
    row["token_end"] = sample.origin.token_end;
    if (sample.view > 0) row["view"] = sample.view;
    row["documents"] = documents;
    row["pieces"] = PiecesJson(sample.documents);
    row["padding_tokens"] = padding;
    if (Json infilled = InfilledJson(sample.documents); !infilled.is_null()) {
      row["filled_in_the_middle"] = std::move(infilled);
    }
    if (!texts.empty() && texts[i].text) row["text"] = *texts[i].text;
    if (!texts.empty() && !texts[i].text) row["tokens"] = texts[i].tokens;
    if (!texts.empty() && texts[i].without_loss) {
      row["without_loss"] = Json::array();
      for (const TokenRange& range : *texts[i].without_loss) {
        row["without_loss"].push_back({range.begin, range.end});
      }
    }
    json["samples"].push_back(std::move(row));
  }
  PrintJson(json);
}

std::string DocumentWord(const TracedDocument& document) {
  std::string word = absl::StrCat(document.number);
  if (!document.name.empty()) {
    absl::StrAppend(&word, " '", OneLine(document.name), "'");
  }
  const std::optional<TokenRange> own = document.InDocument();
  if (!document.is_whole && own.has_value()) {
    absl::StrAppend(&word, " (", own->begin, "..", own->end, " of ",
                    document.document->size(), ")");
  }
  if (document.infilled.has_value()) {
    const InfilledPiece::Shape& shape = document.infilled->shape();
    absl::StrAppend(&word, " (",
                    internal::Absl(InfillingOrderName(shape.order)), " ",
                    shape.prefix_tokens, "+", shape.middle_tokens, "+",
                    shape.suffix_tokens(), ")");
  }
  return word;
}

// The first documents, how many there are besides, and all padding.
std::string DocumentWords(const std::vector<TracedDocument>& documents) {
  if (documents.empty()) return "-";
  std::vector<std::string> words;
  size_t more = 0;
  uint64_t padding = 0;
  for (const TracedDocument& document : documents) {
    if (document.is_padding()) {
      padding += document.tokens;
    } else if (words.size() < kMaxDocumentsShown) {
      words.push_back(DocumentWord(document));
    } else {
      ++more;
    }
  }
  std::string line = absl::StrJoin(words, ", ");
  if (more > 0) absl::StrAppend(&line, " and ", more, " more");
  if (padding > 0) {
    absl::StrAppend(&line, line.empty() ? "" : ", ", Plural(padding, "token"),
                    " of padding");
  }
  return line;
}

// "none", or "0..17, 40..64".
std::string RangeWords(const std::vector<TokenRange>& ranges) {
  if (ranges.empty()) return "none";
  return absl::StrJoin(ranges, ", ",
                       [](std::string* to, const TokenRange& range) {
                         absl::StrAppend(to, range.begin, "..", range.end);
                       });
}

void PrintStepAsText(const TracedStep& step,
                     const std::vector<PlannedRunChange>& decided,
                     const std::vector<SampleText>& texts) {
  std::cout << "step " << step.plan.step << ": batch_size "
            << step.plan.batch_size << ", seq_len " << step.plan.seq_len
            << ", lr_scale " << absl::StrCat(step.plan.lr_scale) << ", stage '"
            << OneLine(step.stage_name) << "'\n";
  if (step.plan.is_boundary) {
    std::cout << "changes: "
              << OneLine(absl::StrJoin(
                     step.plan.changes, "; ",
                     [](std::string* to, const StepChange& change) {
                       absl::StrAppend(to, ToString(change));
                     }))
              << '\n';
  }
  for (const PlannedRunChange& change : decided) {
    std::cout << "change " << change.number
              << " of the journal holds from here on: "
              << OneLine(change.change) << '\n';
  }
  std::cout << '\n';
  std::vector<std::vector<std::string>> rows = {
      {"path", "position", "leaf", "item", "epoch", "tokens", "document"}};
  for (const TracedSample& sample : step.samples) {
    const SampleOrigin& origin = sample.origin;
    rows.push_back(
        {OneLine(origin.path) + (sample.view > 0
                                     ? absl::StrCat(" (view ", sample.view, ")")
                                     : std::string()),
         absl::StrCat(origin.position), absl::StrCat(origin.leaf),
         absl::StrCat(origin.item), absl::StrCat(origin.epoch),
         absl::StrCat(origin.token_begin, "..", origin.token_end),
         DocumentWords(sample.documents)});
  }
  PrintTable(rows);
  for (size_t i = 0; i < texts.size(); ++i) {
    std::cout << "\nposition " << step.samples[i].origin.position << ": "
              << (texts[i].text ? OneLine(*texts[i].text)
                                : absl::StrJoin(texts[i].tokens, " "))
              << '\n';
    if (texts[i].without_loss) {
      std::cout << "without loss: " << RangeWords(*texts[i].without_loss)
                << '\n';
    }
  }
}

}  // namespace

CommandSpec ShowSpec() {
  return {.name = "show",
          .brief = "say what a step of a run reads",
          .positionals = "CONFIG --step S",
          .summary =
              "Says what a step of the run in the TOML file CONFIG reads: "
              "where each of its\nsamples comes from.",
          .options = {{"step", "S", "the step, from 0 on"},
                      {"rank", "r/R", "only what rank r of R ranks sees"},
                      {"eval", "NAME",
                       "a batch of this evaluation instead of a step"},
                      {"text", "",
                       "also print the tokens: as text if they are bytes or "
                       "their model is at hand, else as ids"},
                      TokenTexts::TokenizerOption(),
                      JournalOption(),
                      {"json", "", "print JSON"}},
          .example = "poniente show train.toml --step 1200 --rank 0/8 --text"};
}

int RunShow(const std::vector<std::string>& args) {
  const auto read = ReadCommandLine(ShowSpec(), args);
  if (const int* code = std::get_if<int>(&read)) return *code;
  const Arguments& parsed = std::get<Arguments>(read);
  if (parsed.positionals().size() != 1) {
    return FailUsage("show: give one CONFIG; see `poniente show --help`");
  }
  if (!parsed.Has("step")) {
    return FailUsage("show: give a --step; see `poniente show --help`");
  }
  const auto step = parsed.Number("step", 0, 0, internal::kMaxSamples);
  if (!step.ok()) return FailUsage(std::string(step.status().message()));
  const auto rank = parsed.RankOf("rank");
  if (!rank.ok()) return FailUsage(std::string(rank.status().message()));

  if (parsed.Has("tokenizer") && !parsed.Has("text")) {
    return FailUsage("show: --tokenizer is for showing text: add --text");
  }
  auto found = TokenTexts::Create(parsed);
  if (!found.ok()) return Fail(found.status());

  const auto loaded = LoadConfig(parsed.positionals()[0], parsed);
  if (!loaded.ok()) return FailConfig(loaded.status());
  const auto config = EvalOrSelf(*loaded, parsed.Text("eval"));
  if (!config.ok()) return Fail(config.status());
  const TracedRun run(*config);
  const auto shown = run.Show(*step, rank->rank, rank->ranks);
  if (!shown.ok()) return Fail(shown.status());
  auto decided = internal::ChangesOf(*config);
  if (!decided.ok()) return Fail(decided.status());
  std::erase_if(*decided, [&step](const PlannedRunChange& change) {
    return change.step != *step;
  });
  std::vector<SampleText> texts;
  if (parsed.Has("text")) {
    auto read_texts =
        ReadTexts(run, *config, *std::move(found), shown->samples);
    if (!read_texts.ok()) return Fail(read_texts.status());
    texts = *std::move(read_texts);
  }
  if (parsed.Has("json")) {
    PrintStepAsJson(*shown, *decided, texts);
  } else {
    PrintStepAsText(*shown, *decided, texts);
  }
  return kExitOk;
}

}  // namespace poniente::cli
