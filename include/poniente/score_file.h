// SPDX-License-Identifier: Apache-2.0
// Scores, bitmaps, lists of indices and orders in files: what Filter and Order
// are made from. docs/selection.md has the formats.

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
// the file. NotFound: none at the path. InvalidArgument: another format, or not
// what the dataset needs. DataLoss: damaged or cut short. ResourceExhausted:
// more than fits in memory.

enum class ScoreFormat {
  // NumPy's, or by the end of the name: ".f32", ".f64".
  kAuto,
  // Numbers of 4 or 8 bytes, little-endian, and nothing else.
  kFloat32,
  kFloat64,
};

// One score per item, as precise as they were stored.
struct Scores {
  std::variant<std::vector<float>, std::vector<double>> values;

  uint64_t size() const;
  // Selection::AtLeast(). A threshold for scores of 4 bytes is rounded to 4
  // bytes first, so that 0.7 selects what was stored as 0.7.
  absl::StatusOr<Selection> AtLeast(double threshold) const;
  // ScoreOrder::FromScores().
  absl::StatusOr<ScoreOrder> Order(
      ScoreDirection direction = ScoreDirection::kAscending) const;
};

// No score is NaN.
absl::StatusOr<Scores> ReadScores(const std::string& path,
                                  ScoreFormat format = ScoreFormat::kAuto);

// A selection from `size` items: raw words of 8 bytes, or a NumPy array of such
// words or of one bool per item.
absl::StatusOr<Selection> ReadBitmap(const std::string& path, uint64_t size);

// A selection from `size` items: raw indices of 8 bytes, or a NumPy array of
// integers.
absl::StatusOr<Selection> ReadIndexList(const std::string& path, uint64_t size);

// A ScoreOrder that lies in a file and is mapped from it.
class OrderFile {
 public:
  // Appears under its name in one step, once it is all on the disk.
  static absl::Status Write(const std::string& path, const ScoreOrder& order);

  // Reads it all once: checksums, and that the two tables are permutations and
  // inverse to each other. Look-ups then touch its pages and keep nothing; the
  // order keeps the file open. Cut short or damaged later, it gives values in
  // range and ScoreOrder::status() is DataLoss; never a SIGBUS.
  static absl::StatusOr<ScoreOrder> Open(const std::string& path);
};

}  // namespace poniente

#endif  // PONIENTE_SCORE_FILE_H_
