// SPDX-License-Identifier: Apache-2.0
// Must not compile: the first error says what an item must be.

#include <poniente/async_dataset.h>

namespace {

class NotAnItem {
 public:
  explicit NotAnItem(int number) : number_(number) {}
  int number() const { return number_; }

 private:
  int number_;
};

[[maybe_unused]] poniente::AsyncDataset<NotAnItem>* const kNone = nullptr;
static_assert(sizeof(poniente::AsyncDataset<NotAnItem>) > 0);

}  // namespace
