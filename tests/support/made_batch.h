// SPDX-License-Identifier: Apache-2.0
// Batches made by hand, in the host's memory; their ids are anything.

#ifndef PONIENTE_TESTS_SUPPORT_MADE_BATCH_H_
#define PONIENTE_TESTS_SUPPORT_MADE_BATCH_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "loader/batch_access.h"
#include "poniente/batch.h"
#include "poniente/task.h"
#include "staging/slot_ring.h"

namespace poniente::testing {

inline Batch MadeBatch(const StepPlan& plan, size_t num_samples,
                       TokenType type) {
  const auto ring = std::make_shared<internal::SlotRing>(
      Device(), nullptr, 1, [](std::string_view) {});
  const internal::BatchLayout layout(type);
  const size_t bytes = layout.Bytes(num_samples, plan.seq_len);
  return internal::BatchAccess::Make(plan, num_samples, plan.seq_len, layout,
                                     *RunBlocking(ring->Take(bytes)));
}

// Sample i is of source sources[i].
inline Batch MadeBatch(const std::vector<uint32_t>& sources,
                       uint32_t seq_len = 8, uint64_t step = 0) {
  StepPlan plan;
  plan.step = step;
  plan.batch_size = sources.size();
  plan.seq_len = seq_len;
  Batch batch = MadeBatch(std::move(plan), sources.size(), TokenType::kU16);
  for (size_t i = 0; i < sources.size(); ++i) {
    internal::BatchAccess::Provenance(&batch)[i].source = sources[i];
  }
  return batch;
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_SUPPORT_MADE_BATCH_H_
