// SPDX-License-Identifier: Apache-2.0
// Arrow streams of random rows, in record batches of any sizes, and sources
// that locate their tokens as if they had to read for it.

#ifndef PONIENTE_TESTS_FORMATS_ARROW_ROWS_H_
#define PONIENTE_TESTS_FORMATS_ARROW_ROWS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/core/found_path.h"
#include "formats/core/layout_source.h"
#include "formats/core/token_format.h"
#include "formats/loss_mask_files.h"
#include "tests/formats/arrow_files.h"
#include "util/status_macros.h"

namespace poniente::testing {

using Rows = std::vector<std::vector<uint32_t>>;

// Rows of 0 to 39 ids that are below `below`.
inline Rows RandomRows(size_t count, uint32_t below, std::mt19937_64* random) {
  Rows rows(count);
  for (std::vector<uint32_t>& row : rows) {
    row.resize((*random)() % 40);
    for (uint32_t& id : row) id = static_cast<uint32_t>((*random)() % below);
  }
  return rows;
}

inline std::vector<uint32_t> EndToEnd(const Rows& rows) {
  std::vector<uint32_t> ids;
  for (const auto& row : rows) ids.insert(ids.end(), row.begin(), row.end());
  return ids;
}

// Column input_ids of integers of type Id, in batches of `per_batch` rows.
// Batches of no rows and of empty rows are among them, and ids that belong to
// no row.
template <class Id>
std::string ArrowOfRows(const Rows& rows, size_t per_batch) {
  ArrowWriter writer;
  writer.Schema({ListOf(
      "input_ids", Integers("item", 8 * sizeof(Id), std::is_signed_v<Id>))});
  for (size_t begin = 0; begin < rows.size(); begin += per_batch) {
    const size_t batch = begin / per_batch;
    if (batch % 3 == 1) writer.Lists<int32_t, Id>({0}, {});
    if (batch % 4 == 2) writer.Lists<int32_t, Id>({0, 0, 0}, {});
    std::vector<Id> ids(batch % 2);
    std::vector<int32_t> ends = {static_cast<int32_t>(ids.size())};
    for (size_t i = begin; i < std::min(begin + per_batch, rows.size()); ++i) {
      for (const uint32_t id : rows[i]) ids.push_back(static_cast<Id>(id));
      ends.push_back(static_cast<int32_t>(ids.size()));
    }
    ids.resize(ids.size() + batch % 5);
    writer.Lists(ends, ids);
  }
  return writer.End().bytes;
}

// Hides that the runs are known without a read.
class ReadingLocator final : public internal::TokenLocator {
 public:
  explicit ReadingLocator(std::shared_ptr<const internal::TokenLocator> locator)
      : locator_(std::move(locator)) {}

  absl::Status Locate(TokenRange tokens,
                      std::vector<internal::TokenRun>* runs) const override {
    return locator_->Locate(tokens, runs);
  }

 private:
  const std::shared_ptr<const internal::TokenLocator> locator_;
};

// Opens an Arrow file or folder. If `is_slow`, its windows have no ranges of
// files.
inline absl::StatusOr<std::shared_ptr<const TokenSource>> OpenArrowRows(
    const std::string& path, bool is_slow,
    const TokenSourceOptions& options = {}) {
  PONIENTE_ASSIGN_OR_RETURN(const internal::FoundPath found,
                            internal::FindPath(path));
  PONIENTE_ASSIGN_OR_RETURN(internal::TokenLayout layout,
                            internal::kArrowFormat.open(found, options));
  if (options.loss_mask) {
    PONIENTE_RETURN_IF_ERROR(
        internal::AddLossMask(found.path, options, &layout));
  }
  if (is_slow) {
    layout.locator = std::make_shared<ReadingLocator>(layout.locator);
  }
  PONIENTE_ASSIGN_OR_RETURN(
      std::shared_ptr<const internal::LayoutSource> source,
      internal::LayoutSource::Open(path, std::move(layout), options));
  return std::shared_ptr<const TokenSource>(std::move(source));
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_FORMATS_ARROW_ROWS_H_
