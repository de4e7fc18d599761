// SPDX-License-Identifier: Apache-2.0
#include "bench/readers/comparison.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_split.h"
#include "bench/measure/require.h"
#include "bench/measure/statistics.h"

namespace poniente::bench {
namespace {

std::string Message(const absl::Status& status) {
  return std::string(status.message());
}

const char* Verdict(const Bar& bar, double median, double noise) {
  const double sign = bar.direction == Bar::Limit::kAtLeast ? 1 : -1;
  const double to_spare = sign * (median - bar.limit);
  if (to_spare >= noise) return "held";
  return to_spare >= 0 ? "missed (within its noise)" : "missed";
}

}  // namespace

std::vector<double> Comparison::Case::Figures(Figure figure) const {
  std::vector<double> figures;
  for (const Sample& sample : samples) figures.push_back(sample.*figure);
  return figures;
}

void Comparison::Add(const std::string& name, const std::string& baseline,
                     Measure measure) {
  cases_.push_back({name, baseline, std::move(measure)});
}

void Comparison::KeepOnly(const std::string& names) {
  if (names.empty()) return;
  const std::vector<std::string> kept = absl::StrSplit(names, ';');
  for (const std::string& name : kept) Find(name);
  for (Case& one : cases_) {
    if (std::find(kept.begin(), kept.end(), one.name) == kept.end()) {
      one.status = absl::UnavailableError("left out");
    }
  }
}

void Comparison::Run(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    std::fprintf(stderr, "round %d of %d\n", round + 1, rounds);
    for (Case& one : cases_) {
      if (!one.status.ok()) continue;
      absl::StatusOr<Sample> sample = one.measure();
      one.status = sample.status();
      if (sample.ok()) {
        one.samples.push_back(*std::move(sample));
      } else if (!absl::IsUnavailable(one.status)) {
        Require(one.status);
      }
    }
  }
}

void Comparison::Print() const {
  int width = 26;
  for (const Case& one : cases_) {
    width = std::max(width, static_cast<int>(one.name.size()));
  }
  std::printf("%-*s %8s %6s %7s %6s %6s %6s %6s", width, "", units_.rate,
              "spread", units_.cpu, "spread", "ratio", "spread", "cached");
  if (units_.shows_stalls) std::printf(" %6s %7s", "stalls", "worst");
  std::printf("\n");
  for (const Case& one : cases_) PrintCase(one, width);
}

void Comparison::PrintCase(const Case& one, int name_width) const {
  std::printf("%-*s ", name_width, one.name.c_str());
  if (!one.status.ok()) {
    std::printf("not shown (%s)\n", Message(one.status).c_str());
    return;
  }
  const auto print = [](int width, double median, double spread) {
    std::printf("%*.2f %5.0f%% ", width, median, 100 * spread);
  };
  const auto reads = one.Figures(&Sample::reads_per_second);
  print(8, Median(reads) * units_.rate_per_read, Spread(reads));
  const auto cpu = one.Figures(&Sample::cpu_microseconds);
  print(7, Median(cpu) * units_.cpu_per_read, Spread(cpu));
  const auto ratios = Ratios(&Sample::reads_per_second, one.name, one.baseline);
  if (ratios.ok()) {
    print(6, Median(*ratios), Spread(*ratios));
  } else {
    std::printf("%6s %6s ", "-", "");
  }
  std::printf("%5.0f%%", 100 * Median(one.Figures(&Sample::cached)));
  const double worst = Median(one.Figures(&Sample::worst_milliseconds));
  if (units_.shows_stalls && worst > 0) {
    std::printf(" %5.0f%% %7.1f", 100 * Median(one.Figures(&Sample::stalled)),
                worst);
  } else if (units_.shows_stalls) {
    std::printf(" %6s %7s", "-", "");
  }
  std::printf("  %s\n", one.samples.back().note.c_str());
}

absl::StatusOr<std::vector<double>> Comparison::Ratios(
    Figure figure, const std::string& name, const std::string& baseline) const {
  const Case& above = Find(name);
  const Case& below = Find(baseline);
  if (!above.status.ok()) return above.status;
  if (!below.status.ok()) return below.status;
  std::vector<double> ratios = above.Figures(figure);
  for (size_t i = 0; i < ratios.size(); ++i) {
    ratios[i] /= below.samples[i].*figure;
  }
  return ratios;
}

Bar Comparison::RateBar(const std::string& name, const std::string& baseline,
                        Bar::Limit direction, double limit) const {
  return {name + " / " + baseline,
          Ratios(&Sample::reads_per_second, name, baseline), direction, limit};
}

Bar Comparison::TimeBar(const std::string& name, double at_most) const {
  const Case& one = Find(name);
  std::vector<double> microseconds = one.Figures(&Sample::reads_per_second);
  for (double& figure : microseconds) figure = 1e6 / figure;
  Bar bar = {name + ", us", std::move(microseconds), Bar::Limit::kAtMost,
             at_most};
  if (!one.status.ok()) bar.ratios = one.status;
  return bar;
}

std::string Comparison::Fastest(const std::vector<std::string>& names) const {
  std::string fastest = names.front();
  double most = 0;
  for (const std::string& name : names) {
    const Case& one = Find(name);
    if (!one.status.ok()) continue;
    const double median = Median(one.Figures(&Sample::reads_per_second));
    if (median <= most) continue;
    most = median;
    fastest = name;
  }
  return fastest;
}

const Comparison::Case& Comparison::Find(const std::string& name) const {
  const auto found =
      std::find_if(cases_.begin(), cases_.end(),
                   [&](const Case& one) { return one.name == name; });
  if (found == cases_.end()) Require(absl::NotFoundError("no case " + name));
  return *found;
}

void PrintBars(const std::vector<Bar>& bars) {
  int width = 44;
  for (const Bar& bar : bars) {
    width = std::max(width, static_cast<int>(bar.what.size()));
  }
  std::printf("\n%-*s %6s %6s %6s\n", width, "bars", "median", "noise",
              "spread");
  for (const Bar& bar : bars) {
    if (!bar.ratios.ok()) {
      std::printf("%-*s not shown (%s)\n", width, bar.what.c_str(),
                  Message(bar.ratios.status()).c_str());
      continue;
    }
    const double median = Median(*bar.ratios);
    const double noise = Noise(*bar.ratios);
    std::printf("%-*s %6.2f %6.2f %5.0f%%", width, bar.what.c_str(), median,
                noise, 100 * Spread(*bar.ratios));
    if (bar.direction == Bar::Limit::kNone) {
      std::printf("  no bar\n");
      continue;
    }
    const bool at_least = bar.direction == Bar::Limit::kAtLeast;
    std::printf("  %s %.2f  %s\n", at_least ? "at least" : "at most", bar.limit,
                Verdict(bar, median, noise));
  }
}

}  // namespace poniente::bench
