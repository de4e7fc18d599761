// SPDX-License-Identifier: Apache-2.0
// The types behind the opaque handles of poniente_c.h.

#ifndef PONIENTE_C_API_HANDLES_H_
#define PONIENTE_C_API_HANDLES_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "poniente/batch.h"
#include "poniente/config.h"
#include "poniente/loader.h"
#include "poniente/poniente_c.h"
#include "poniente/schedule.h"
#include "util/mutex.h"

struct poniente_loader {
  poniente_loader(const poniente::Config& config,
                  const poniente::LoaderOptions& options,
                  std::unique_ptr<poniente::Loader> opened)
      : vocabulary(config.vocabulary()),
        rank(options.rank),
        ranks(options.ranks),
        loader(std::move(opened)) {}

  const poniente::Vocabulary vocabulary;
  const uint32_t rank;
  const uint32_t ranks;
  const std::unique_ptr<poniente::Loader> loader;

  // Returns a copy that lives as long as the loader. Equal texts are kept once.
  const char* Keep(const std::string& text) const {
    poniente::internal::MutexLock lock(&mu);
    return texts.insert(text).first->c_str();
  }

  mutable poniente::internal::Mutex mu;
  mutable std::set<std::string> texts ABSL_GUARDED_BY(mu);
};

struct poniente_batch {
  explicit poniente_batch(poniente::Batch taken) : batch(std::move(taken)) {}

  const poniente::Batch batch;
};

namespace poniente::internal {

// Copies a step; `stage_name` must outlive the result.
absl::Status GiveStep(const StepPlan& plan, const char* stage_name,
                      uint64_t num_samples, poniente_step* out);

}  // namespace poniente::internal

#endif  // PONIENTE_C_API_HANDLES_H_
