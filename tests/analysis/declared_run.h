// SPDX-License-Identifier: Apache-2.0
// Runs over sources that are only numbers of tokens.

#ifndef PONIENTE_TESTS_ANALYSIS_DECLARED_RUN_H_
#define PONIENTE_TESTS_ANALYSIS_DECLARED_RUN_H_

#include <cstdint>
#include <vector>

#include "poniente/config.h"
#include "poniente/dataset_tree.h"
#include "poniente/schedule.h"
#include "poniente/token_source.h"

namespace poniente::testing {

struct DeclaredRun {
  DatasetPtr<TokenWindow> root;
  Schedule schedule;
  std::vector<ConfigSource> sources;
};

// Ids of two bytes.
inline DatasetPtr<TokenWindow> Declared(uint64_t items, uint32_t length) {
  return *DeclaredWindows("declared", items * length, length,
                          Vocabulary{"proof", 1 << 16});
}

// All leaves of `root` must be Declared().
inline DeclaredRun MakeRun(DatasetPtr<TokenWindow> root,
                           const ScheduleOptions& options) {
  DeclaredRun run = {root, *Schedule::Create(options), {}};
  const DatasetTree tree(*root);
  for (const TreeLeaf& leaf : tree.leaves()) {
    run.sources.push_back(
        {leaf.path, "",
         leaf.node->length_now().readable * leaf.node->item_tokens(), nullptr});
  }
  return run;
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_ANALYSIS_DECLARED_RUN_H_
