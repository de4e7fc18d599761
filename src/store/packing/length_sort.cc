// SPDX-License-Identifier: Apache-2.0
#include "store/packing/length_sort.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "util/alike_lines.h"
#include "util/in_parallel.h"
#include "util/status_macros.h"
#include "util/usable_cores.h"

namespace poniente::internal {
namespace {

// Documents whose bounds are read together.
constexpr uint64_t kChunk = 65536;
// Lengths below this are counted in arrays, others in hash tables.
constexpr uint64_t kDense = uint64_t{1} << 17;
constexpr uint64_t kMaxParts = 16;

// Calls visit(document, length) for the chosen ones of these documents that are
// not empty without their ends.
template <class Visit>
absl::Status ForEachLength(const TokenSource& source,
                           const Selection* selection, uint32_t end_tokens,
                           const DocumentSpan& documents, const Visit& visit) {
  uint64_t first = documents.first;
  while (first < documents.end) {
    const uint64_t count = std::min(kChunk, documents.end - first);
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint64_t> bounds,
                              source.DocumentBounds(first, count));
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t length = bounds[i + 1] - bounds[i];
      if (length <= end_tokens) continue;
      if (selection != nullptr && !selection->Contains(first + i)) continue;
      visit(first + i, length - end_tokens);
    }
    first += count;
  }
  return absl::OkStatus();
}

// A number for each length.
class PerLength {
 public:
  PerLength() : dense_(kDense) {}

  uint64_t& operator[](uint64_t length) {
    return length < kDense ? dense_[length] : sparse_[length];
  }
  // Calls visit(length, number) where the number is not 0, in no order.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    for (uint64_t length = 0; length < kDense; ++length) {
      if (dense_[length] != 0) visit(length, dense_[length]);
    }
    for (const auto& [length, number] : sparse_) visit(length, number);
  }

 private:
  std::vector<uint64_t> dense_;
  absl::flat_hash_map<uint64_t, uint64_t> sparse_;
};

class NumbersInMemory final : public DocumentNumbers {
 public:
  NumbersInMemory(std::unique_ptr<std::byte[]> table, uint64_t bytes,
                  uint32_t width)
      : table_(std::move(table)), bytes_(bytes), width_(width) {}

  uint64_t bytes() const override { return bytes_; }
  absl::Status Read(uint64_t first,
                    std::span<uint64_t> numbers) const override {
    const std::byte* from = table_.get() + first * width_;
    for (uint64_t& number : numbers) {
      number = LoadNumber(from, width_);
      from += width_;
    }
    return absl::OkStatus();
  }
  void Prefetch(uint64_t entry) const override {
    __builtin_prefetch(table_.get() + entry * width_);
  }
  bool HasRead(uint64_t) const override { return true; }

 private:
  const std::unique_ptr<std::byte[]> table_;
  const uint64_t bytes_;
  const uint32_t width_;
};

absl::Status LengthsChanged(const TokenSource& source) {
  return absl::DataLossError(
      absl::StrCat("'", source.path(),
                   "': the lengths of its documents changed while they "
                   "were sorted; open it again when nothing writes to it"));
}

}  // namespace

uint64_t LengthOrderKey(const TokenSource& source, const Selection* selection,
                        uint32_t end_tokens) {
  KeyHash hash(Derive(source.fingerprint(), Tag("bylength")));
  hash.Add(source.num_documents());
  if (selection != nullptr) hash.Add(selection->fingerprint());
  if (end_tokens > 0) hash.Add(Tag("noends")).Add(end_tokens);
  return hash.key();
}

LengthSort::LengthSort(const TokenSource& source, const Selection* selection,
                       uint32_t end_tokens)
    : source_(&source),
      selection_(selection),
      end_tokens_(end_tokens),
      number_bytes_(NumberBytes(source.num_documents())) {}

absl::StatusOr<LengthSort> LengthSort::Count(const TokenSource& source,
                                             const Selection* selection,
                                             uint32_t end_tokens) {
  LengthSort sort(source, selection, end_tokens);
  const uint64_t documents = source.num_documents();
  const uint64_t parts = std::clamp<uint64_t>(
      std::min<uint64_t>(documents / kChunk, UsableCores()), 1, kMaxParts);
  for (uint64_t p = 0; p < parts; ++p) {
    sort.parts_.push_back(
        {{documents / parts * p,
          p + 1 == parts ? documents : documents / parts * (p + 1)},
         {}});
  }
  PONIENTE_RETURN_IF_ERROR(sort.CountParts());
  return sort;
}

absl::StatusOr<LengthSort> LengthSort::CountSpan(
    const TokenSource& source, const Selection* selection, uint32_t end_tokens,
    const DocumentSpan& documents) {
  LengthSort sort(source, selection, end_tokens);
  sort.parts_.push_back({documents, {}});
  PONIENTE_RETURN_IF_ERROR(sort.CountParts());
  return sort;
}

absl::Status LengthSort::CountParts() {
  std::vector<PerLength> counts(parts_.size());
  std::vector<absl::Status> read(parts_.size());
  InParallel(counts.size(), [&](size_t p) {
    read[p] =
        ForEachLength(*source_, selection_, end_tokens_, parts_[p].documents,
                      [&](uint64_t, uint64_t length) { ++counts[p][length]; });
  });
  PONIENTE_RETURN_IF_ERROR(JoinErrors(read));

  LengthHistogram& histogram = histogram_;
  for (const PerLength& part : counts) {
    part.ForEach([&](uint64_t length, uint64_t) {
      histogram.lengths.push_back(length);
    });
  }
  std::sort(histogram.lengths.begin(), histogram.lengths.end());
  histogram.lengths.erase(
      std::unique(histogram.lengths.begin(), histogram.lengths.end()),
      histogram.lengths.end());
  histogram.lengths.shrink_to_fit();
  histogram.starts.reserve(histogram.lengths.size() + 1);
  for (const uint64_t length : histogram.lengths) {
    uint64_t all = 0;
    for (size_t p = 0; p < counts.size(); ++p) {
      const uint64_t count = counts[p][length];
      parts_[p].counts.push_back(count);
      all += count;
    }
    histogram.starts.push_back(histogram.starts.back() + all);
  }
  return absl::OkStatus();
}

absl::Status LengthSort::WriteTable(std::span<std::byte> table) const {
  const std::vector<uint64_t>& lengths = histogram_.lengths;
  // By part and length, where the next document goes. Documents of one length
  // lie in the order of the parts.
  std::vector<PerLength> next(parts_.size());
  for (size_t i = 0; i < lengths.size(); ++i) {
    uint64_t at = histogram_.starts[i];
    for (size_t p = 0; p < parts_.size(); ++p) {
      // From 1 on: 0 is a length that was not counted.
      next[p][lengths[i]] = at + 1;
      at += parts_[p].counts[i];
    }
  }
  std::vector<absl::Status> read(parts_.size());
  InParallel(parts_.size(), [&](size_t p) {
    uint64_t documents = 0;
    for (const uint64_t count : parts_[p].counts) documents += count;
    bool changed = false;
    read[p] =
        ForEachLength(*source_, selection_, end_tokens_, parts_[p].documents,
                      [&](uint64_t document, uint64_t length) {
                        uint64_t& at = next[p][length];
                        changed |= at == 0 || documents == 0;
                        if (changed) return;
                        --documents;
                        changed |= at > histogram_.num_documents();
                        if (changed) return;
                        StoreNumber(document, number_bytes_,
                                    table.data() + (at++ - 1) * number_bytes_);
                      });
    if (read[p].ok() && (changed || documents > 0)) {
      read[p] = LengthsChanged(*source_);
    }
  });
  return JoinErrors(read);
}

absl::StatusOr<LengthOrder> LengthSort::InMemory() const {
  const uint64_t bytes = table_bytes();
  std::unique_ptr<std::byte[]> table(new (std::nothrow) std::byte[bytes]);
  if (table == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for the order by length of the documents of '",
                     source_->path(), "', ", bytes,
                     " bytes; name a file for it (index_file)"));
  }
  PONIENTE_RETURN_IF_ERROR(WriteTable({table.get(), bytes}));
  return LengthOrder(histogram_, std::make_shared<NumbersInMemory>(
                                     std::move(table), bytes, number_bytes_));
}

}  // namespace poniente::internal
