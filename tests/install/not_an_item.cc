// SPDX-License-Identifier: Apache-2.0
// Must not compile: the first error says what an item, or a function of items,
// must be. NOT_AN_ITEM chooses what it is given to.

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
#elif NOT_AN_ITEM == 3
static_assert(sizeof(poniente::CachedDataset<MovableOnly>) > 0);
#elif NOT_AN_ITEM == 4
const auto kOfAnotherType = poniente::Map<int>(
    "length", poniente::DatasetPtr<int>(),
    [](const std::string& text) { return static_cast<int>(text.size()); });
#elif NOT_AN_ITEM == 5
const auto kOfOneItem =
    poniente::MapBatches<int>("same", poniente::DatasetPtr<int>(),
                              {.group_items = 2}, [](int x) { return x; });
#else
const auto kNotCopyable = poniente::Map<int>(
    "plus", poniente::DatasetPtr<int>(),
    [one = std::make_unique<int>(1)](int x) { return x + *one; });
#endif

}  // namespace
