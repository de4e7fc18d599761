// SPDX-License-Identifier: Apache-2.0
// What dropping a million documents costs.
//
//   drop_bench FOLDER [--documents N] [--rounds N] [--only log-normal|power]
//              [--window TOKENS]
//
// Makes a store of N documents (default 1e8) below FOLDER, whose tokens are a
// hole in a file: a run over it, in windows of 4096 tokens (--window), from
// whose journal a million documents chosen at random are dropped at step 100,
// and the same run without a journal. In N rounds (default 5), in turns:
//   open     Config::Parse(), OpenLoader() and the first batch of 64 windows
//   resolve  which items 64 samples read, per sample, by the tree alone: in the
//            epoch that the change cuts, and in the next
//   batches  windows/s of the loader at the same places
// Then drops up to 10^7 single windows, each apart from the next, and counts
// the heap bytes that the run holds for each, besides the journal's text, which
// the configuration and the loader hold.
// Bars: opening with the journal at most 1 s; per window at most 1.2 times the
// time without it; at most 16 bytes per window besides that text.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/measure/heap_bytes.h"
#include "bench/measure/many_files.h"
#include "bench/measure/require.h"
#include "bench/measure/sparse_store.h"
#include "bench/measure/statistics.h"
#include "poniente/config.h"
#include "poniente/dataset_tree.h"
#include "poniente/journal.h"
#include "poniente/loader.h"

namespace poniente::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kDropped = 1'000'000;
constexpr uint64_t kBatch = 64;
constexpr uint64_t kDropStep = 100;
constexpr int kBatches = 2000;

double window_tokens = 4096;

std::string TextOf(const std::string& store, const std::string& journal) {
  return absl::StrCat(
      "[data]\nseed = 1\nbatch_size = ", kBatch,
      "\nseq_len = ", static_cast<uint64_t>(window_tokens), "\n",
      journal.empty() ? "" : absl::StrCat("journal = '", journal, "'\n"),
      "[data.mixture]\nweb = { path = '", store, "', weight = 1 }\n");
}

void WriteJournal(const std::string& path, const std::string& store,
                  uint64_t documents) {
  std::filesystem::remove(path);
  std::mt19937_64 random(2);
  std::vector<NumberRange> dropped;
  for (uint64_t i = 0; i < kDropped; ++i) {
    const uint64_t document = random() % documents;
    dropped.push_back({document, document + 1});
  }
  const Config config =
      Require(Config::Parse(TextOf(store, path), "drop", "."));
  const auto loader = Require(config.OpenLoader());
  Require(loader->Seek(kDropStep));
  const Clock::time_point begin = Clock::now();
  Require(loader->Steer(RunChange::DropDocuments("web", std::move(dropped))));
  std::printf("Steer() takes %.2f s, the journal %.1f MB\n",
              SecondsSince(begin),
              static_cast<double>(std::filesystem::file_size(path)) / 1e6);
}

constexpr uint64_t kMostWindows = 10'000'000;

// Heap bytes that the run holds once it has served a batch.
size_t HeldBy(const std::string& text) {
  const size_t before = HeapBytes();
  const Config config = Require(Config::Parse(text, "drop", "."));
  const auto loader = Require(config.OpenLoader());
  Require(loader->Seek(2 * kDropStep));
  Require(loader->NextBlocking());
  return HeapBytes() - before;
}

void MeasureHeld(const std::string& store, uint64_t windows) {
  const std::string path = store + ".journal";
  std::filesystem::remove(path);
  const std::string text = TextOf(store, path);
  const uint64_t count = std::min(kMostWindows, windows / 4);
  {
    const Config config = Require(Config::Parse(text, "drop", "."));
    const auto loader = Require(config.OpenLoader());
    Require(loader->Seek(kDropStep));
    std::vector<NumberRange> dropped;
    for (uint64_t i = 0; i < count; ++i) dropped.push_back({2 * i, 2 * i + 1});
    Require(loader->Steer(RunChange::DropItems("web", std::move(dropped))));
  }
  const size_t plain = HeldBy(TextOf(store, ""));
  const size_t all = HeldBy(text);
  const double held = static_cast<double>(all - plain);
  // The configuration and the loader have the text of the journal.
  const double texts =
      2 * static_cast<double>(std::filesystem::file_size(path));
  const double each = static_cast<double>(count);
  std::printf("%lu single windows dropped: %.1f bytes each, and %.1f of text\n",
              count, (held - texts) / each, texts / each);
}

// A run, and what was measured of it.
struct Side {
  std::string text;
  std::vector<double> open = {};
  std::vector<double> resolve[2] = {};
  std::vector<double> batch[2] = {};
};

// Per sample, in microseconds, from a step on.
double MeasureResolve(const Config& config, uint64_t step) {
  const DatasetTree tree(*config.dataset());
  std::vector<Position> positions(kBatch);
  std::vector<LeafPosition> items(kBatch);
  const Clock::time_point begin = Clock::now();
  for (int b = 0; b < kBatches; ++b) {
    const uint64_t first = (step + static_cast<uint64_t>(b)) * kBatch;
    for (uint64_t i = 0; i < kBatch; ++i) positions[i].index = first + i;
    Require(tree.Resolve(positions, items));
  }
  return 1e6 * SecondsSince(begin) / kBatches / kBatch;
}

double MeasureBatches(const Config& config, uint64_t step) {
  LoaderOptions options = config.loader_options();
  options.log_sink = [](std::string_view) {};
  const auto loader = Require(config.OpenLoader(options));
  // Once before, so that all of them are in the page cache.
  Require(loader->Seek(step));
  for (int b = 0; b < kBatches; ++b) Require(loader->NextBlocking());
  Require(loader->Seek(step));
  for (int b = 0; b < 50; ++b) Require(loader->NextBlocking());
  const Clock::time_point begin = Clock::now();
  for (int b = 0; b < kBatches; ++b) Require(loader->NextBlocking());
  return 1e6 * SecondsSince(begin) / kBatches / kBatch;
}

void MeasureSide(const uint64_t (&steps)[2], Side* side) {
  {
    const Clock::time_point begin = Clock::now();
    const Config config = Require(Config::Parse(side->text, "drop", "."));
    const auto loader = Require(config.OpenLoader());
    Require(loader->NextBlocking());
    side->open.push_back(SecondsSince(begin));
  }
  const Config config = Require(Config::Parse(side->text, "drop", "."));
  for (int epoch = 0; epoch < 2; ++epoch) {
    side->resolve[epoch].push_back(MeasureResolve(config, steps[epoch]));
    side->batch[epoch].push_back(MeasureBatches(config, steps[epoch]));
  }
}

void PrintPair(const char* what, const char* unit,
               const std::vector<double>& plain,
               const std::vector<double>& dropped) {
  std::vector<double> ratios;
  for (size_t i = 0; i < plain.size(); ++i) {
    ratios.push_back(dropped[i] / plain[i]);
  }
  std::printf("%-24s %9.3f %9.3f %s, ratio %.2f, spread %.0f%%\n", what,
              Median(plain), Median(dropped), unit, Median(ratios),
              100 * Spread(ratios));
}

void Measure(const char* name, const std::string& store, uint64_t documents,
             int rounds) {
  const std::string journal = store + ".journal";
  std::printf("%s, %lu documents, %lu dropped, windows of %.0f\n", name,
              documents, kDropped, window_tokens);
  WriteJournal(journal, store, documents);
  Side plain = {.text = TextOf(store, "")};
  Side dropped = {.text = TextOf(store, journal)};
  const Config config = Require(Config::Parse(plain.text, "drop", "."));
  const uint64_t epoch =
      DatasetTree(*config.dataset()).leaves()[0].node->length_now().readable;
  const uint64_t steps[2] = {2 * kDropStep, (epoch + epoch / 8) / kBatch};
  for (int round = 0; round < rounds; ++round) {
    MeasureSide(steps, &plain);
    MeasureSide(steps, &dropped);
  }
  std::printf("%-24s %9s %9s\n", "", "plain", "dropped");
  PrintPair("open", "s", plain.open, dropped.open);
  const char* const names[2][2] = {
      {"resolve, epoch cut", "resolve, next epoch"},
      {"batches, epoch cut", "batches, next epoch"}};
  for (int at = 0; at < 2; ++at) {
    PrintPair(names[0][at], "us", plain.resolve[at], dropped.resolve[at]);
  }
  for (int at = 0; at < 2; ++at) {
    PrintPair(names[1][at], "us", plain.batch[at], dropped.batch[at]);
  }
  MeasureHeld(store, epoch);
}

}  // namespace
}  // namespace poniente::bench

int main(int argc, char** argv) {
  return poniente::bench::RunOnSparseStores(
      argc, argv, "drop_bench", 2e6, poniente::bench::Measure,
      {{"--window", &poniente::bench::window_tokens}});
}
