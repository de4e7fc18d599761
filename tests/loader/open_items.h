// SPDX-License-Identifier: Apache-2.0
// Item loaders of numbers.

#ifndef PONIENTE_TESTS_LOADER_OPEN_ITEMS_H_
#define PONIENTE_TESTS_LOADER_OPEN_ITEMS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "poniente/item_loader.h"
#include "tests/support/status_matchers.h"

namespace poniente::testing {

using Items = std::vector<uint64_t>;
using NumberLoader = ItemLoader<uint64_t>;
using NumberOptions = ItemLoaderOptions<uint64_t>;

inline std::unique_ptr<NumberLoader> OpenItems(DatasetPtr<uint64_t> root,
                                               NumberOptions options) {
  auto loader = NumberLoader::Create(std::move(root), std::move(options));
  EXPECT_THAT(loader, IsOk());
  return *std::move(loader);
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_LOADER_OPEN_ITEMS_H_
