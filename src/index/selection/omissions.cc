// SPDX-License-Identifier: Apache-2.0
#include "index/selection/omissions.h"

#include <algorithm>
#include <boost/sort/pdqsort/pdqsort.hpp>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "util/check.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kPerBucket = 8;
// So many are compared one after the other.
constexpr size_t kFew = 16;

// Many come in an order drawn at random, where this takes less than half as
// long as std::sort().
void SortIndices(std::vector<uint64_t>* indices) {
  boost::sort::pdqsort_branchless(indices->begin(), indices->end());
}

}  // namespace

absl::Status CheckOmissions(uint64_t count) {
  if (count <= Omissions::kMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      count, " items would be left out in all, at most ", Omissions::kMax,
      " can be; retire the component, or filter it"));
}

Omissions::Omissions(std::vector<uint64_t> omitted, uint64_t length)
    : length_(length) {
  SortIndices(&omitted);
  omitted.erase(std::unique(omitted.begin(), omitted.end()), omitted.end());
  size_ = omitted.size();
  PONIENTE_CHECK(size_ <= kMax && (size_ == 0 || omitted.back() < length))
      << size_ << " of " << length;
  // The smallest power of two that gives at most one bucket for eight.
  const uint64_t most_buckets = size_ / kPerBucket + 1;
  while (((length_ - (length_ > 0)) >> shift_) >= most_buckets) ++shift_;
  starts_.assign(BucketOf(length_ - (length_ > 0)) + 2, 0);
  for (const uint64_t index : omitted) ++starts_[BucketOf(index) + 1];
  for (size_t b = 1; b < starts_.size(); ++b) starts_[b] += starts_[b - 1];
  MakeHints();
  KeyHash hash(length);
  for (const uint64_t index : omitted) hash.Add(index);
  fingerprint_ = hash.key();
  if (shift_ > 32) {
    whole_ = std::move(omitted);
    whole_.shrink_to_fit();
    return;
  }
  low_.reserve(size_);
  for (const uint64_t index : omitted) {
    low_.push_back(static_cast<uint32_t>(index - (BucketOf(index) << shift_)));
  }
}

void Omissions::MakeHints() {
  const uint64_t buckets = starts_.size() - 1;
  while (hint_shift_ < 63 && (kept() >> hint_shift_) >= buckets) ++hint_shift_;
  const uint64_t hints = (kept() >> hint_shift_) + 2;
  hints_.reserve(hints);
  uint64_t bucket = 0;
  for (uint64_t hint = 0; hint < hints; ++hint) {
    const uint64_t rank = std::min(hint << hint_shift_, kept());
    while (bucket + 1 < buckets && KeptBefore(bucket + 1) <= rank) ++bucket;
    hints_.push_back(static_cast<uint32_t>(bucket));
  }
}

size_t Omissions::LowerBound(uint64_t bucket, uint64_t index) const {
  size_t first = starts_[bucket];
  size_t last = starts_[bucket + 1];
  while (first < last) {
    const size_t middle = first + (last - first) / 2;
    if (At(middle, bucket) < index) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

uint64_t Omissions::CountBelow(uint64_t index) const {
  if (index >= length_) return size_;
  return LowerBound(BucketOf(index), index);
}

uint64_t Omissions::NextFrom(uint64_t index) const {
  if (index >= length_) return length_;
  uint64_t bucket = BucketOf(index);
  const size_t number = LowerBound(bucket, index);
  if (number == size_) return length_;
  // The bucket that holds it: the last that begins at or before it.
  if (number == starts_[bucket + 1]) {
    bucket = static_cast<uint64_t>(
        std::upper_bound(starts_.begin() + static_cast<ptrdiff_t>(bucket) + 1,
                         starts_.end(), number) -
        starts_.begin() - 1);
  }
  return At(number, bucket);
}

uint64_t Omissions::Kept(uint64_t rank) const {
  PONIENTE_CHECK(rank < kept()) << rank << " of " << kept();
  // The last bucket before which at most `rank` indices are kept holds the
  // result.
  const uint64_t hint = rank >> hint_shift_;
  uint64_t low = hints_[hint];
  uint64_t high = uint64_t{hints_[hint + 1]} + 1;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (KeptBefore(middle) > rank ? high : low) = middle;
  }
  // Omitted index number j lies before the result if index - j <= rank.
  size_t first = starts_[low];
  size_t last = starts_[low + 1];
  while (last - first > kFew) {
    const size_t middle = first + (last - first) / 2;
    (At(middle, low) - middle <= rank ? first : last) = middle;
  }
  size_t before = first;
  // Without a branch that depends on the index.
  for (size_t j = first; j < last; ++j) before += At(j, low) - j <= rank;
  return rank + before;
}

std::vector<uint64_t> Omissions::With(std::vector<uint64_t> further) const {
  SortIndices(&further);
  const std::vector<uint64_t> omitted = Omitted();
  std::vector<uint64_t> all;
  all.reserve(omitted.size() + further.size());
  std::merge(omitted.begin(), omitted.end(), further.begin(), further.end(),
             std::back_inserter(all));
  return all;
}

std::vector<uint64_t> Omissions::Omitted() const {
  std::vector<uint64_t> omitted;
  omitted.reserve(size_);
  for (uint64_t bucket = 0; bucket + 1 < starts_.size(); ++bucket) {
    for (size_t i = starts_[bucket]; i < starts_[bucket + 1]; ++i) {
      omitted.push_back(At(i, bucket));
    }
  }
  return omitted;
}

size_t Omissions::BytesHeld() const {
  return sizeof(*this) +
         (starts_.capacity() + hints_.capacity()) * sizeof(uint32_t) +
         low_.capacity() * sizeof(uint32_t) +
         whole_.capacity() * sizeof(uint64_t);
}

}  // namespace poniente::internal
