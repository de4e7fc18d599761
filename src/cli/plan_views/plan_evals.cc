// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_views/plan_evals.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/plan_views/plan_notes.h"
#include "cli/screen/console.h"
#include "cli/screen/table.h"

namespace poniente::cli {
namespace {

using Json = nlohmann::ordered_json;

// Tokens of all evaluations of the run as a share of those of training.
std::string Cost(const PlannedRun& plan, const PlannedEval& eval) {
  if (eval.every_steps == 0) return "-";
  const double tokens =
      static_cast<double>(eval.tokens) * static_cast<double>(eval.times);
  return absl::StrFormat(
      "%.2f%%",
      100 * tokens / static_cast<double>(std::max<uint64_t>(1, plan.tokens)));
}

std::string DocumentsWords(const PlannedEvalSource& source) {
  if (!source.documents.has_value()) return "-";
  return absl::StrCat(Count(*source.documents), " of ",
                      Count(*source.of_documents));
}

}  // namespace

std::string TrainedWords(const PlannedEvalSource& source) {
  const char* const unit = source.is_windows ? "window" : "document";
  if (source.trained > 0) {
    return absl::StrCat("YES: training may read ",
                        Plural(source.trained, unit));
  }
  if (source.compared_sources > 0) {
    return absl::StrCat("no: compared with ",
                        Plural(source.compared_sources, "training source"),
                        source.is_windows
                            ? "; documents that reach beyond are trained on in "
                              "part"
                            : "");
  }
  if (!source.undrawn_sources.empty()) {
    return absl::StrCat("no: '", OneLine(source.undrawn_sources.front()),
                        "' is never drawn");
  }
  return "no: no training source reads this store";
}

void PrintEvals(const PlannedRun& plan, std::ostream& out) {
  if (plan.evals.empty()) return;
  std::vector<std::vector<std::string>> rows = {
      {"evaluation", "samples", "tokens", "batches", "seq_len", "every",
       "times", "of the run's tokens"}};
  for (const PlannedEval& eval : plan.evals) {
    rows.push_back(
        {OneLine(eval.name), Count(eval.samples),
         ShortCount(static_cast<double>(eval.tokens)), Count(eval.batches),
         absl::StrCat(eval.seq_len),
         eval.every_steps == 0 ? "-" : Plural(eval.every_steps, "step"),
         eval.every_steps == 0 ? "-" : Count(eval.times), Cost(plan, eval)});
  }
  out << '\n';
  PrintTable(rows, out);
  for (const PlannedEval& eval : plan.evals) {
    rows = {{absl::StrCat(OneLine(eval.name), " reads"), "windows", "documents",
             "trained on"}};
    for (const PlannedEvalSource& source : eval.sources) {
      rows.push_back({absl::StrCat(OneLine(source.path),
                                   source.is_held_out ? ", held out" : ""),
                      Count(source.windows), DocumentsWords(source),
                      TrainedWords(source)});
    }
    out << '\n';
    PrintTable(rows, out);
  }
}

Json EvalsJson(const PlannedRun& plan) {
  Json evals = Json::array();
  for (const PlannedEval& eval : plan.evals) {
    Json json;
    json["name"] = eval.name;
    json["samples"] = eval.samples;
    json["batches"] = eval.batches;
    json["tokens"] = eval.tokens;
    json["batch_size"] = eval.batch_size;
    json["seq_len"] = eval.seq_len;
    json["every_steps"] = eval.every_steps;
    json["times"] = eval.times;
    json["sources"] = Json::array();
    for (const PlannedEvalSource& source : eval.sources) {
      Json one;
      one["path"] = source.path;
      one["location"] = source.location;
      one["held_out"] = source.is_held_out;
      one["windows"] = source.windows;
      one["documents"] = source.documents ? Json(*source.documents) : Json();
      one["of_documents"] =
          source.of_documents ? Json(*source.of_documents) : Json();
      one["trained"] = source.trained;
      one["unit"] = source.is_windows ? "windows" : "documents";
      one["compared_sources"] = source.compared_sources;
      one["undrawn_sources"] = source.undrawn_sources;
      json["sources"].push_back(std::move(one));
    }
    evals.push_back(std::move(json));
  }
  return evals;
}

}  // namespace poniente::cli
