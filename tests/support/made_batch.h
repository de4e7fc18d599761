// SPDX-License-Identifier: Apache-2.0
// A batch made by hand: sample i is of source sources[i]; its ids are anything.

#ifndef PONIENTE_TESTS_SUPPORT_MADE_BATCH_H_
#define PONIENTE_TESTS_SUPPORT_MADE_BATCH_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "poniente/batch.h"

namespace poniente::testing {

inline Batch MadeBatch(const std::vector<uint32_t>& sources,
                       uint32_t seq_len = 8, uint64_t step = 0) {
  StepPlan plan;
  plan.step = step;
  plan.batch_size = sources.size();
  plan.seq_len = seq_len;
  Batch batch(std::move(plan), sources.size(), TokenType::kU16);
  for (size_t i = 0; i < sources.size(); ++i) {
    batch.mutable_provenance()[i].source = sources[i];
  }
  return batch;
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_SUPPORT_MADE_BATCH_H_
