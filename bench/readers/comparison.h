// SPDX-License-Identifier: Apache-2.0
// Cases that are measured once in each of several rounds, the relations between
// them round by round, and the bars these are held to.

#ifndef PONIENTE_BENCH_READERS_COMPARISON_H_
#define PONIENTE_BENCH_READERS_COMPARISON_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace poniente::bench {

struct Sample {
  double reads_per_second = 0;
  double cpu_microseconds = 0;  // per read
  double cached = 0;            // share of what is read, before it is
  // Of the batches that count: the share that took more than twice as long as
  // their median, and the longest; 0 if nobody knows.
  double stalled = 0;
  double worst_milliseconds = 0;
  size_t windows = 0;  // read, counted or not
  std::string note = {};
};

// What the table says of reads per second and microseconds of CPU per read.
struct TableUnits {
  const char* rate = "kreads/s";
  double rate_per_read = 1e-3;  // of a read per second
  const char* cpu = "CPU us";
  double cpu_per_read = 1;  // of a microsecond per read
  bool shows_stalls = false;
};

struct Bar {
  enum class Limit { kAtLeast, kAtMost, kNone };

  std::string what;
  absl::StatusOr<std::vector<double>> ratios;  // or microseconds, if it says so
  Limit direction;
  double limit;
};

class Comparison {
 public:
  using Measure = std::function<absl::StatusOr<Sample>()>;
  using Figure = double Sample::*;

  explicit Comparison(const TableUnits& units = TableUnits()) : units_(units) {}

  // `baseline` names the case whose reads per second the table relates it to.
  void Add(const std::string& name, const std::string& baseline,
           Measure measure);

  // Leaves out all cases but those named, "cold direct;cold fio direct". Every
  // name must be that of a case. Nothing if `names` is empty.
  void KeepOnly(const std::string& names);

  // A case that is Unavailable is left out from then on; any other error ends
  // the program.
  void Run(int rounds);

  void Print() const;

  // Of every round; Unavailable if one of the two cases is. REQUIRES: cases
  // have these names.
  absl::StatusOr<std::vector<double>> Ratios(Figure figure,
                                             const std::string& name,
                                             const std::string& baseline) const;

  // Of reads per second.
  Bar RateBar(const std::string& name, const std::string& baseline,
              Bar::Limit direction, double limit) const;

  // Of the microseconds that a read takes.
  Bar TimeBar(const std::string& name, double at_most) const;

  // The one of `names` with the highest median of reads per second.
  std::string Fastest(const std::vector<std::string>& names) const;

 private:
  struct Case {
    std::string name;
    std::string baseline;
    Measure measure;
    absl::Status status = {};
    std::vector<Sample> samples = {};

    std::vector<double> Figures(Figure figure) const;
  };

  const Case& Find(const std::string& name) const;
  void PrintCase(const Case& one, int name_width) const;

  const TableUnits units_;
  std::vector<Case> cases_;
};

// A bar is held if the median is within it with the distance between the
// quartiles to spare.
void PrintBars(const std::vector<Bar>& bars);

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_READERS_COMPARISON_H_
