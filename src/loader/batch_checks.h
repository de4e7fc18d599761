// SPDX-License-Identifier: Apache-2.0
// Checks that the batches of a run can be made, before the first one is.

#ifndef PONIENTE_LOADER_BATCH_CHECKS_H_
#define PONIENTE_LOADER_BATCH_CHECKS_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "poniente/async_dataset.h"
#include "poniente/dataset_tree.h"
#include "poniente/loader.h"
#include "poniente/schedule.h"
#include "poniente/token_window.h"

namespace poniente::internal {

// `tree`: of `dataset`. Errors: as Loader::Create().
absl::Status CheckBatches(const DatasetTree& tree,
                          const AsyncDataset<TokenWindow>& dataset,
                          const Schedule& schedule,
                          const LoaderOptions& options);

// Checks that no step draws from windows of packed documents of another length:
// they are not cut. InvalidArgument, naming the source and the step, if one
// does. Lengths that are not known yet pass.
absl::Status CheckPackedWindows(const DatasetTree& tree,
                                const AsyncDataset<TokenWindow>& dataset,
                                const Schedule& schedule);

// Returns the error that windows have `has` tokens instead of `wants`.
absl::Status WindowLengthError(std::string_view source, uint64_t has,
                               uint32_t wants);
// Returns the tokens of an item of the leaf, taken whole; 0 if only reading it
// can say.
uint64_t WholeTokens(const TreeLeaf& leaf);
// Returns the tokens that are asked for of an item of a leaf.
uint64_t TokensOf(const LeafPosition& item, uint64_t whole_tokens);
// Returns an error unless `tokens`, of an item of the leaf, are `seq_len` or
// not known (0).
absl::Status CheckLength(const TreeLeaf& leaf, uint64_t tokens,
                         uint32_t seq_len);

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_BATCH_CHECKS_H_
