// SPDX-License-Identifier: Apache-2.0
// Item i is i, said to be so many tokens.

#ifndef PONIENTE_TESTS_SUPPORT_TOKENS_DATASET_H_
#define PONIENTE_TESTS_SUPPORT_TOKENS_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/counting_dataset.h"

namespace poniente::testing {

class TokensDataset final : public AsyncDataset<uint64_t> {
 public:
  static DatasetPtr<uint64_t> Create(uint64_t length, uint32_t item_tokens,
                                     uint64_t first = 0) {
    return std::make_shared<TokensDataset>(Counting(length, first),
                                           item_tokens);
  }

  TokensDataset(DatasetPtr<uint64_t> items, uint32_t item_tokens)
      : items_(std::move(items)), item_tokens_(item_tokens) {}

  std::string name() const override { return items_->name(); }
  uint32_t item_tokens() const override { return item_tokens_; }
  uint64_t fingerprint() const override { return items_->fingerprint(); }
  LengthState length_now() const override { return items_->length_now(); }
  Task<std::vector<uint64_t>> GetBatch(
      std::span<const Index> indices) const override {
    return items_->GetBatch(indices);
  }

 private:
  const DatasetPtr<uint64_t> items_;
  const uint32_t item_tokens_;
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_SUPPORT_TOKENS_DATASET_H_
