// SPDX-License-Identifier: Apache-2.0
// Stores of random ids on the disk, a mixture of them, and what their files
// say that a batch is.

#ifndef PONIENTE_TESTS_GPU_RANDOM_STORES_H_
#define PONIENTE_TESTS_GPU_RANDOM_STORES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "poniente/async_dataset.h"
#include "poniente/loader.h"
#include "tests/support/temp_dir.h"

namespace poniente::testing {

// Three stores of u16 ids of different sizes, in a folder that removes itself.
class RandomStores {
 public:
  explicit RandomStores(uint64_t seed);
  RandomStores(const RandomStores&) = delete;
  RandomStores& operator=(const RandomStores&) = delete;
  ~RandomStores();

  DatasetPtr<TokenWindow> Mixture(uint32_t seq_len) const;

  // The ids of the batch's samples in the type of the batch, by plain preads.
  // Knows of the library's work only which window of which store a sample is.
  // REQUIRES: samples are whole windows.
  std::vector<std::byte> OnDisk(const Batch& batch,
                                const std::vector<LoaderSource>& sources);

 private:
  const uint64_t seed_;
  TempDir folder_;
  std::map<std::string, int> files_;  // of tokens, by the path of the store
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_GPU_RANDOM_STORES_H_
