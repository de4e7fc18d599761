// SPDX-License-Identifier: Apache-2.0
// Must not compile: the first error says what an item must be. NOT_AN_ITEM
// chooses what the item is given to.

#include <poniente/poniente.h>

namespace {

class NotAnItem {
 public:
  explicit NotAnItem(int number) : number_(number) {}
  int number() const { return number_; }

 private:
  int number_;
};

// An item, but not one that can be copied.
struct MovableOnly {
  std::unique_ptr<int> number;
};

#if NOT_AN_ITEM == 0
static_assert(sizeof(poniente::AsyncDataset<NotAnItem>) > 0);
#elif NOT_AN_ITEM == 1
static_assert(sizeof(poniente::ItemLoader<NotAnItem>) > 0);
#elif NOT_AN_ITEM == 2
static_assert(sizeof(poniente::InMemoryDataset<MovableOnly>) > 0);
#else
static_assert(sizeof(poniente::CachedDataset<MovableOnly>) > 0);
#endif

}  // namespace
