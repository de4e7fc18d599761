// SPDX-License-Identifier: Apache-2.0
// Reads scores, bitmaps, lists of indices and orders from files: the inputs of
// Filter and Order. docs/selection.md has the formats.

#ifndef PONIENTE_SCORE_FILE_H_
#define PONIENTE_SCORE_FILE_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/score_order.h"
#include "poniente/selection.h"

namespace poniente {

// All functions here block the calling thread while they read. Each error names
// the file. NotFound: no such file. InvalidArgument: another format, or not
// what the dataset needs. DataLoss: damaged or cut short. ResourceExhausted:
// does not fit in memory.

// How scores lie in a file.
enum class ScoreFormat {
  // Recognised: a NumPy file, or else raw numbers by the suffix of the name,
  // ".f32" or ".f64".
  kAuto,
  // Little-endian numbers of 4 or 8 bytes, and nothing else.
  kFloat32,
  kFloat64,
};

// One score per item, in the precision in which it was stored.
struct Scores {
  std::variant<std::vector<float>, std::vector<double>> values = {};

  uint64_t size() const;
  // Returns Selection::AtLeast() of the scores. For scores of 4 bytes, the
  // threshold is first rounded to 4 bytes, so that 0.7 selects items stored as
  // 0.7.
  absl::StatusOr<Selection> AtLeast(double threshold) const;
  // Returns the score at a share of all n scores in ascending order: number
  // floor(share * n + 1/2), counted from 0, or the last. So about n * (1 -
  // share) scores are at least as high; more if several equal it. Infinite
  // scores count. InvalidArgument if there are no scores. REQUIRES: 0 <= share
  // <= 1; no score is NaN.
  absl::StatusOr<double> Quantile(double share) const;
  // Returns the mean of the finite scores plus so many of their standard
  // deviations (divided by their number, not one less). The same on every
  // machine. InvalidArgument if no score is finite, or if the result is not.
  // REQUIRES: `sigmas` is finite; no score is NaN.
  absl::StatusOr<double> MeanPlusSigmas(double sigmas) const;
  // Returns ScoreOrder::FromScores() of the scores.
  absl::StatusOr<ScoreOrder> Order(
      ScoreDirection direction = ScoreDirection::kAscending) const;
};

// Reads scores. InvalidArgument if one of them is NaN.
absl::StatusOr<Scores> ReadScores(const std::string& path,
                                  ScoreFormat format = ScoreFormat::kAuto);

// Reads a selection from `size` items: raw words of 8 bytes, or a NumPy array
// of such words or of one bool per item.
absl::StatusOr<Selection> ReadBitmap(const std::string& path, uint64_t size);

// Reads a selection from `size` items: raw indices of 8 bytes, or a NumPy array
// of integers.
absl::StatusOr<Selection> ReadIndexList(const std::string& path, uint64_t size);

// A ScoreOrder that is stored in a file and memory-mapped from it.
class OrderFile {
 public:
  // Writes the order. The file appears under its name in one step, once all of
  // it is on the disk.
  static absl::Status Write(const std::string& path, const ScoreOrder& order);

  // Opens an order. Reads the whole file once to verify its checksums, and that
  // its two tables are permutations and inverse to each other. Look-ups then
  // touch its pages and keep nothing in memory; the order keeps the file open.
  // If the file is cut short later, or an entry cannot be read or is out of
  // range, look-ups return values in range and ScoreOrder::status() is
  // DataLoss; there is never a SIGBUS. Other changes of the file are not seen.
  static absl::StatusOr<ScoreOrder> Open(const std::string& path);
};

}  // namespace poniente

#endif  // PONIENTE_SCORE_FILE_H_
