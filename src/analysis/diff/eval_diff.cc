// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "analysis/diff/run_diff.h"
#include "config/write/run_writer.h"

namespace poniente::internal {

void AppendEvalDifferences(const std::vector<RunEval>& a,
                           const std::vector<RunEval>& b,
                           std::vector<RunDifference>* differences) {
  std::map<std::string, DiffValue> texts_of_a;
  std::map<std::string, DiffValue> texts_of_b;
  for (const RunEval& eval : a) texts_of_a[eval.name] = EvalText(eval);
  for (const RunEval& eval : b) texts_of_b[eval.name] = EvalText(eval);
  const DiffValue none;
  const auto add = [&](const std::string& name, const DiffValue& in_a,
                       const DiffValue& in_b) {
    if (in_a == in_b) return;
    RunDifference& difference = differences->emplace_back();
    difference.what = absl::StrCat("evaluation '", name, "'");
    difference.a = in_a;
    difference.b = in_b;
    difference.from_step = 0;
  };
  for (const auto& [name, text] : texts_of_a) {
    const auto found = texts_of_b.find(name);
    add(name, text, found == texts_of_b.end() ? none : found->second);
  }
  for (const auto& [name, text] : texts_of_b) {
    if (!texts_of_a.contains(name)) add(name, none, text);
  }
}

}  // namespace poniente::internal
