// SPDX-License-Identifier: Apache-2.0
#include "config/write/eval_writer.h"

#include "absl/strings/str_cat.h"

namespace poniente::internal {

Keys EvalKeys(const RunEval& eval, const Run* run) {
  Keys keys;
  if (eval.held_out.has_value()) {
    std::string paths;
    for (const std::string& path : *eval.held_out) {
      absl::StrAppend(&paths, paths.empty() ? "" : ", ", Quoted(path));
    }
    keys.Add("held_out",
             paths.empty() ? Boolean(true) : absl::StrCat("[", paths, "]"));
  }
  const auto add = [&](const char* key, uint64_t value) {
    if (value != 0) keys.Add(key, value);
  };
  const bool is_batch_stated = run == nullptr || eval.batch_size > 0;
  const bool is_length_stated = run == nullptr || eval.seq_len > 0;
  add("batch_size", is_batch_stated ? eval.batch_size : run->batch_size);
  add("seq_len", is_length_stated ? eval.seq_len : run->seq_len);
  add("max_samples", eval.max_samples);
  add("max_tokens", eval.max_tokens);
  add("every_steps", eval.every_steps);
  add("seed", eval.seed);
  return keys;
}

}  // namespace poniente::internal
