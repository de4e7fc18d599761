// SPDX-License-Identifier: Apache-2.0
// Item i is first + i: the leaf of most dataset tests.

#ifndef PONIENTE_TESTS_SUPPORT_COUNTING_DATASET_H_
#define PONIENTE_TESTS_SUPPORT_COUNTING_DATASET_H_

#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "poniente/in_memory_dataset.h"

namespace poniente::testing {

inline DatasetPtr<uint64_t> Counting(uint64_t length, uint64_t first = 0,
                                     std::string name = "counting") {
  std::vector<uint64_t> items(length);
  std::iota(items.begin(), items.end(), first);
  InMemoryOptions options;
  options.name = std::move(name);
  return InMemoryDataset<uint64_t>::Create(std::move(items), options);
}

// Windows of `length` tokens; token t of item i is (first + i * length + t)
// modulo the vocabulary of 251 ids.
inline DatasetPtr<TokenWindow> CountingWindows(uint64_t items, uint32_t length,
                                               uint64_t first = 0,
                                               std::string name = "windows") {
  std::vector<TokenWindow> windows;
  for (uint64_t i = 0; i < items; ++i) {
    std::vector<uint32_t> tokens(length);
    for (uint32_t t = 0; t < length; ++t) {
      tokens[t] = static_cast<uint32_t>((first + i * length + t) % 251);
    }
    windows.emplace_back(std::move(tokens));
  }
  InMemoryOptions options;
  options.name = std::move(name);
  options.vocabulary = Vocabulary{"modulo", 251};
  return InMemoryDataset<TokenWindow>::Create(std::move(windows), options);
}

inline std::vector<uint64_t> Indices(uint64_t begin, uint64_t end) {
  std::vector<uint64_t> indices(end - begin);
  std::iota(indices.begin(), indices.end(), begin);
  return indices;
}

// Items [0, length) of one epoch.
template <class T>
std::vector<T> Epoch(const DatasetPtr<T>& dataset, uint64_t epoch,
                     uint64_t length) {
  std::vector<Position> positions(length);
  for (uint64_t i = 0; i < length; ++i) {
    positions[i].index = i;
    positions[i].epoch = epoch;
  }
  auto items = RunBlocking(dataset->GetAt(positions));
  EXPECT_TRUE(items.ok()) << items.status();
  return items.ok() ? *std::move(items) : std::vector<T>();
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_SUPPORT_COUNTING_DATASET_H_
