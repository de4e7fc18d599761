// SPDX-License-Identifier: Apache-2.0
#include "loader/rows/document_rows.h"

#include <algorithm>
#include <numeric>

#include "poniente/batch_tensors.h"

namespace poniente::internal {
namespace {

template <class Id>
void IgnoreWithoutLoss(std::span<const uint8_t> has_loss, std::span<Id> row) {
  for (size_t i = 0; i < row.size(); ++i) {
    row[i] = has_loss[i + 1] != 0 ? row[i] : Id{kIgnoredLabel};
  }
}

}  // namespace

// CMakeLists.txt compiles this file with -O3 because of these loops.

void FillLossMask(std::span<const SamplePart> parts, std::span<uint8_t> row) {
  std::fill(row.begin(), row.end(), uint8_t{1});
  ForEachWithoutLabel(
      parts, [row](uint32_t end) { row[end - 1] = 0; },
      [row](uint32_t begin, uint32_t end) {
        std::fill(row.begin() + begin, row.begin() + end, uint8_t{0});
      });
}

void FillDocumentIds(std::span<const SamplePart> parts,
                     std::span<int32_t> row) {
  int32_t* to = row.data();
  for (const SamplePart& part : parts) {
    to = std::fill_n(to, part.length, part.document);
  }
}

void FillPositions(std::span<const SamplePart> parts, std::span<int32_t> row) {
  int32_t* to = row.data();
  for (const SamplePart& part : parts) {
    if (part.kind == SamplePart::Kind::kDocument) {
      std::iota(to, to + part.length, part.position);
    } else {
      std::fill_n(to, part.length, 0);
    }
    to += part.length;
  }
}

void TakeLossAway(std::span<const uint8_t> has_loss, std::span<uint8_t> row) {
  for (size_t i = 0; i < row.size(); ++i) row[i] &= has_loss[i + 1];
}

void TakeLabelsAway(std::span<const uint8_t> has_loss, std::span<int32_t> row) {
  IgnoreWithoutLoss(has_loss, row);
}

void TakeLabelsAway(std::span<const uint8_t> has_loss, std::span<int64_t> row) {
  IgnoreWithoutLoss(has_loss, row);
}

SeqlensWriter::SeqlensWriter(std::span<int32_t> all, uint32_t most)
    : all_(all), most_(static_cast<int32_t>(most)) {
  if (!all_.empty()) all_[0] = 0;
}

SeqlensWriter::Sample SeqlensWriter::Add(std::span<const SamplePart> parts) {
  Sample sample;
  for (size_t i = 0; i < parts.size();) {
    auto length = static_cast<int32_t>(parts[i].length);
    for (++i; i < parts.size() && !parts[i].begins_sequence; ++i) {
      length += static_cast<int32_t>(parts[i].length);
    }
    ++sample.sequences;
    sample.longest = std::max(sample.longest, length);
    end_ += length;
    if (sample.sequences <= most_ && !all_.empty()) all_[written_++] = end_;
  }
  return sample;
}

void SeqlensWriter::Finish() {
  if (all_.empty()) return;
  std::fill(all_.begin() + static_cast<ptrdiff_t>(written_), all_.end(), end_);
}

}  // namespace poniente::internal
