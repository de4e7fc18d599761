// SPDX-License-Identifier: Apache-2.0
// Trees of token stores for the loader to read.

#ifndef PONIENTE_BENCH_RUNS_BENCH_TREE_H_
#define PONIENTE_BENCH_RUNS_BENCH_TREE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace poniente::bench {

inline constexpr uint32_t kSeqLen = 4096;      // tokens of a window
inline constexpr size_t kBatchWindows = 1024;  // of a step
inline constexpr size_t kManyComponents = 200;

struct BenchStore {
  std::string name;  // its folder, below the tree's
  uint64_t windows = 0;
};

struct BenchTree {
  std::string name;
  std::string folder;
  std::string data;  // [data] of a configuration, relative to `folder`
  std::vector<BenchStore> stores;
};

// Shares of components of lognormal sizes (sigma 1.5): sums to 1.
std::vector<double> LognormalShares(size_t components);

// The tree of examples/quickstart.toml with the shares of its first stage; each
// store is as large as its share, so that none is read twice before the others
// have been read once. The stores lie in `folder`.
BenchTree QuickstartTree(const std::string& folder, uint64_t mib);

// A mixture of kManyComponents stores of lognormal sizes, each weighed by its
// size.
BenchTree LognormalTree(const std::string& folder, uint64_t mib);

// All of it in one store.
BenchTree OneStoreTree(const std::string& folder, uint64_t mib);

// Makes the stores that are not there whole, of random u16 ids.
void MakeStores(const BenchTree& tree);

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_RUNS_BENCH_TREE_H_
