// SPDX-License-Identifier: Apache-2.0
// A list whose copies share its elements: a copy takes as long as one of 1 /
// 128 of its length.

#ifndef PONIENTE_INDEX_SHARED_LIST_H_
#define PONIENTE_INDEX_SHARED_LIST_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace poniente::internal {

// Elements never change once they are in the list.
//
// Thread safety: as a value; copies may be used on any threads.
template <class T>
class SharedList {
 public:
  size_t size() const { return full_.size() * kBlock + last_.size(); }
  bool empty() const { return size() == 0; }
  // REQUIRES: i < size().
  const T& operator[](size_t i) const {
    const size_t block = i / kBlock;
    return block < full_.size() ? *(*full_[block])[i % kBlock]
                                : *last_[i % kBlock];
  }
  const T& front() const { return (*this)[0]; }
  const T& back() const { return (*this)[size() - 1]; }

  void Append(T element) {
    last_.push_back(std::make_shared<const T>(std::move(element)));
    if (last_.size() < kBlock) return;
    full_.push_back(std::make_shared<const Block>(std::move(last_)));
    last_ = {};
  }

  // Returns the first `count` elements. REQUIRES: count <= size().
  SharedList First(size_t count) const {
    SharedList first;
    const size_t blocks = count / kBlock;
    const Block& rest = blocks < full_.size() ? *full_[blocks] : last_;
    first.full_.assign(full_.begin(),
                       full_.begin() + static_cast<ptrdiff_t>(blocks));
    first.last_.assign(rest.begin(),
                       rest.begin() + static_cast<ptrdiff_t>(count % kBlock));
    return first;
  }

  // Returns the number of elements before the first for which is_after(element)
  // holds. REQUIRES: it holds for all behind that one.
  template <class IsAfter>
  size_t CountUntil(IsAfter is_after) const {
    size_t low = 0;
    size_t high = size();
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      if (is_after((*this)[middle])) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

 private:
  static constexpr size_t kBlock = 128;
  using Block = std::vector<std::shared_ptr<const T>>;

  std::vector<std::shared_ptr<const Block>> full_;  // of kBlock elements each
  Block last_;                                      // of fewer
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_SHARED_LIST_H_
