// SPDX-License-Identifier: Apache-2.0
// Scores of tables of counts, in standard deviations.

#ifndef PONIENTE_TESTS_INDEX_SHUFFLE_SCORES_H_
#define PONIENTE_TESTS_INDEX_SHUFFLE_SCORES_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace poniente::testing {

// Of chi-squared with so many degrees of freedom.
inline double ChiSquaredScore(double chi_squared, double freedom) {
  return (chi_squared - freedom) / std::sqrt(2 * freedom);
}

// Of counts that should be alike.
inline double UniformScore(const std::vector<uint32_t>& counts) {
  double total = 0;
  for (const uint32_t count : counts) total += count;
  const double expected = total / static_cast<double>(counts.size());
  double chi_squared = 0;
  for (const uint32_t count : counts) {
    chi_squared += (count - expected) * (count - expected) / expected;
  }
  return ChiSquaredScore(chi_squared, static_cast<double>(counts.size()) - 1);
}

// How often pairs occur: independent, whatever each of the two is like?
class PairTable {
 public:
  explicit PairTable(size_t side) : side_(side), counts_(side * side) {}

  void Add(uint64_t row, uint64_t column) { ++counts_[row * side_ + column]; }

  double Score() const {
    std::vector<double> rows(side_);
    std::vector<double> columns(side_);
    double total = 0;
    for (size_t i = 0; i < counts_.size(); ++i) {
      rows[i / side_] += counts_[i];
      columns[i % side_] += counts_[i];
      total += counts_[i];
    }
    double chi_squared = 0;
    for (size_t i = 0; i < counts_.size(); ++i) {
      const double expected = rows[i / side_] * columns[i % side_] / total;
      if (expected == 0) continue;
      chi_squared +=
          (counts_[i] - expected) * (counts_[i] - expected) / expected;
    }
    const double side = static_cast<double>(side_) - 1;
    return ChiSquaredScore(chi_squared, side * side);
  }

 private:
  size_t side_;
  std::vector<uint32_t> counts_;
};

// Scores of the mean and of the variance of independent values whose true
// mean, variance and fourth central moment are known.
class Moments {
 public:
  Moments(double mean, double variance, double fourth_moment)
      : mean_(mean), variance_(variance), fourth_(fourth_moment) {}
  Moments(double mean, double variance)
      : Moments(mean, variance, 3 * variance * variance) {}

  void Add(double value) {
    const double deviation = value - mean_;
    ++count_;
    sum_ += deviation;
    squares_ += deviation * deviation;
  }

  double MeanScore() const { return sum_ / std::sqrt(count_ * variance_); }
  double VarianceScore() const {
    return (squares_ - count_ * variance_) /
           std::sqrt(count_ * (fourth_ - variance_ * variance_));
  }
  // The one that is further out.
  double Score() const {
    return std::abs(MeanScore()) > std::abs(VarianceScore()) ? MeanScore()
                                                             : VarianceScore();
  }

 private:
  double mean_;
  double variance_;
  double fourth_;
  double count_ = 0;
  double sum_ = 0;
  double squares_ = 0;
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_INDEX_SHUFFLE_SCORES_H_
