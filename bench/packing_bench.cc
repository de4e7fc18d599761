// SPDX-License-Identifier: Apache-2.0
// What packing whole documents into windows wastes and costs.
//
//   packing_bench [DOCUMENTS] [ROUNDS] [SEED]
//   packing_bench chunks [DOCUMENTS]
//
// For DOCUMENTS (default 1e8) random lengths, drawn from SEED (default 1), of a
// log-normal distribution (median 600, sigma 1) and of a power law (P(n > x) =
// (100 / x)^1.2, at most 2^20), and windows of 2048 to 131072 tokens:
//   padding     share of all tokens of the windows
//   plan        processor time to make it, the median of ROUNDS (default 5);
//               memory of the plan
//   equal       share of the pairs of documents in a window that have the same
//               length
//   window      processor time for the pieces of a window, at random places
//   back        and for the places of a document
//   first fit   padding of first fit, in random order, with 1000 open windows
//   best fit    padding of best fit with 1000 open windows; the fullest closes
//
// With `chunks`, DOCUMENTS (default 1e7) lengths are packed in chunks of 10^4,
// 10^5 and 10^6:
//   padding     share of all tokens of the windows
//   windows     of a chunk
//   plan        processor time for the plan of a chunk, the median
//   MB          memory of a chunk's plan
//   order       processor time for the order of an epoch
//   window      processor time for the pieces of a window, at random places,
//               all chunks in memory
//   back        and for the places of a document

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure/cpu_seconds.h"
#include "bench/measure/document_lengths.h"
#include "bench/measure/length_histograms.h"
#include "bench/measure/require.h"
#include "bench/measure/statistics.h"
#include "index/packing/chunk_order.h"
#include "index/packing/window_packing.h"

namespace poniente::bench {
namespace {

using internal::LengthHistogram;
using internal::PackedPiece;
using internal::PackedPlace;
using internal::PackingOrder;
using internal::WindowPacking;

LengthHistogram RandomHistogram(DrawLength draw, uint64_t documents,
                                uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> counts(kLongestDocument + 1);
  for (uint64_t i = 0; i < documents; ++i) ++counts[draw(random)];
  LengthHistogram histogram;
  for (uint32_t length = 1; length <= kLongestDocument; ++length) {
    if (counts[length] == 0) continue;
    histogram.lengths.push_back(length);
    histogram.starts.push_back(histogram.starts.back() + counts[length]);
  }
  return histogram;
}

double EqualPairs(const WindowPacking& packing) {
  std::mt19937_64 random(2);
  uint64_t pairs = 0;
  uint64_t equal = 0;
  std::vector<PackedPiece> pieces;
  for (int i = 0; i < 2000; ++i) {
    pieces.clear();
    packing.AppendPieces(random() % packing.num_windows(), PackingOrder(42, 0),
                         &pieces);
    std::vector<uint32_t> lengths;
    for (const PackedPiece& piece : pieces) lengths.push_back(piece.length);
    std::sort(lengths.begin(), lengths.end());
    pairs += lengths.size() * (lengths.size() - 1) / 2;
    for (size_t a = 0, b = 0; a < lengths.size(); a = b) {
      while (b < lengths.size() && lengths[b] == lengths[a]) ++b;
      equal += (b - a) * (b - a - 1) / 2;
    }
  }
  return static_cast<double>(equal) / static_cast<double>(pairs);
}

// Microseconds of processor time of a call with a number from 0 to 2^16.
double Microseconds(const std::function<void(uint64_t)>& call) {
  constexpr uint64_t kCalls = 1 << 14;
  const double start = CpuSeconds();
  for (uint64_t i = 0; i < kCalls; ++i) call(i);
  return (CpuSeconds() - start) / kCalls * 1e6;
}

// The padding of packers that keep windows open, on a stream of documents.
double StreamPadding(DrawLength draw, uint32_t window, bool best_fit) {
  constexpr size_t kOpen = 1000;
  constexpr int kDocuments = 1'000'000;
  std::mt19937_64 random(3);
  std::vector<uint32_t> open;  // tokens left, the oldest first
  uint64_t windows = 0;
  uint64_t tokens = 0;
  for (int i = 0; i < kDocuments; ++i) {
    uint32_t length = draw(random);
    tokens += length;
    for (; length > window; length -= window) ++windows;
    size_t at = SIZE_MAX;
    for (size_t b = 0; b < open.size(); ++b) {
      if (open[b] < length) continue;
      if (at == SIZE_MAX || open[b] < open[at]) at = b;
      if (!best_fit || open[b] == length) break;
    }
    if (at == SIZE_MAX) {
      if (open.size() == kOpen) {
        open.erase(best_fit ? std::min_element(open.begin(), open.end())
                            : open.begin());
      }
      open.push_back(window);
      at = open.size() - 1;
      ++windows;
    }
    open[at] -= length;
    if (open[at] == 0) open.erase(open.begin() + static_cast<ptrdiff_t>(at));
  }
  return 1 -
         static_cast<double>(tokens) / static_cast<double>(windows * window);
}

void Measure(const std::string& name, DrawLength draw, uint64_t documents,
             int rounds, uint64_t seed) {
  const LengthHistogram histogram = RandomHistogram(draw, documents, seed);
  for (const uint32_t window : {2048u, 4096u, 8192u, 131072u}) {
    std::vector<double> plan_ms;
    for (int i = 0; i < rounds; ++i) {
      LengthHistogram copy = histogram;
      const double start = CpuSeconds();
      Require(WindowPacking::Create(std::move(copy), window, {}).ok(),
              "documents cannot be packed");
      plan_ms.push_back((CpuSeconds() - start) * 1e3);
    }
    const WindowPacking packing = *WindowPacking::Create(histogram, window, {});
    const PackingOrder order(42, 0);
    std::mt19937_64 random(4);
    std::vector<PackedPiece> pieces;
    const double window_us = Microseconds([&](uint64_t) {
      pieces.clear();
      packing.AppendPieces(random() % packing.num_windows(), order, &pieces);
    });
    std::vector<PackedPlace> places;
    const double back_us = Microseconds([&](uint64_t) {
      places.clear();
      packing.AppendPlaces(random() % histogram.num_documents(), order,
                           &places);
    });
    const PackingSummary& all = packing.summary();
    std::printf(
        "%-11s %7u %9.4f %% %8.1f %7.2f %8zu %8zu %7.3f %7.2f %7.2f %8.3f %% "
        "%8.3f %%\n",
        name.c_str(), window, 100 * all.padding(), Median(plan_ms),
        static_cast<double>(all.plan_bytes) / 1e6,
        packing.plan().nodes().size(), packing.plan().groups().size(),
        EqualPairs(packing), window_us, back_us,
        100 * StreamPadding(draw, window, false),
        100 * StreamPadding(draw, window, true));
    std::fflush(stdout);
  }
}

void MeasureChunks(const std::string& name, const auto& draw,
                   uint64_t documents) {
  for (const uint64_t chunk : {10'000u, 100'000u, 1'000'000u}) {
    for (const uint32_t window : {2048u, 4096u, 8192u, 131072u}) {
      std::mt19937_64 random(1);
      std::vector<WindowPacking> packings;
      std::vector<uint64_t> windows;
      std::vector<double> plan_ms;
      std::vector<uint32_t> lengths;
      double placed = 0;
      double plan_bytes = 0;
      for (uint64_t done = 0; done < documents; done += lengths.size()) {
        lengths.resize(std::min(chunk, documents - done));
        for (uint32_t& length : lengths) length = draw(random);
        LengthHistogram histogram = HistogramOf(lengths);
        const double start = CpuSeconds();
        auto packing = WindowPacking::Create(std::move(histogram), window, {});
        plan_ms.push_back((CpuSeconds() - start) * 1e3);
        Require(packing.ok(), "documents cannot be packed");
        placed += static_cast<double>(packing->summary().placed_tokens);
        plan_bytes = std::max(
            plan_bytes, static_cast<double>(packing->summary().plan_bytes +
                                            packing->summary().index_bytes));
        windows.push_back(packing->num_windows());
        packings.push_back(*std::move(packing));
      }
      const PackingOrder seats(42, 0);
      const double start = CpuSeconds();
      const internal::ChunkOrder order(windows, 8, seats);
      const double order_ms = (CpuSeconds() - start) * 1e3;
      const double all = static_cast<double>(order.num_windows());
      std::vector<PackedPiece> pieces;
      const double window_us = Microseconds([&](uint64_t) {
        pieces.clear();
        const internal::ChunkBin at =
            order.BinAt(random() % order.num_windows());
        packings[at.chunk].AppendBinPieces(at.bin, seats.OfChunk(at.chunk),
                                           &pieces);
      });
      std::vector<PackedPlace> places;
      const double back_us = Microseconds([&](uint64_t) {
        places.clear();
        const uint64_t c = random() % packings.size();
        const uint64_t count = packings[c].histogram().num_documents();
        packings[c].AppendBinPlaces(random() % count, seats.OfChunk(c),
                                    &places);
        for (PackedPlace& place : places) {
          place.window = order.WindowOf({c, place.window});
        }
      });
      std::printf(
          "%-11s %8llu %7u %9.4f %% %9.0f %8.2f %7.2f %8.3f %7.2f %7.2f\n",
          name.c_str(), static_cast<unsigned long long>(chunk), window,
          100 * (1 - placed / (all * window)),
          all / static_cast<double>(windows.size()), Median(plan_ms),
          plan_bytes / 1e6, order_ms, window_us, back_us);
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace poniente::bench

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "chunks") {
    const double documents = argc > 2 ? std::atof(argv[2]) : 1e7;
    if (argc > 3 || !(documents >= 1)) {
      std::fprintf(stderr, "usage: packing_bench chunks [DOCUMENTS]\n");
      return 2;
    }
    std::printf("%.0f documents\n%-11s %8s %7s %11s %9s %8s %7s %8s %7s %7s\n",
                documents, "lengths", "chunk", "window", "padding", "windows",
                "plan ms", "MB", "order ms", "win us", "back us");
    using namespace poniente::bench;
    const auto count = static_cast<uint64_t>(documents);
    MeasureChunks("log-normal", LogNormalLength, count);
    MeasureChunks("power", PowerLength, count);
    return 0;
  }
  const double documents = argc > 1 ? std::atof(argv[1]) : 1e8;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  const int seed = argc > 3 ? std::atoi(argv[3]) : 1;
  if (argc > 4 || !(documents >= 1) || rounds < 1 || seed < 0) {
    std::fprintf(stderr, "usage: packing_bench [DOCUMENTS] [ROUNDS] [SEED]\n");
    return 2;
  }
  std::printf(
      "%.0f documents\n%-11s %7s %11s %8s %7s %8s %8s %7s %7s %7s %10s "
      "%10s\n",
      documents, "lengths", "window", "padding", "plan ms", "MB", "nodes",
      "groups", "equal", "win us", "back us", "first fit", "best fit");
  using namespace poniente::bench;
  const auto count = static_cast<uint64_t>(documents);
  Measure("log-normal", LogNormalLength, count, rounds,
          static_cast<uint64_t>(seed));
  Measure("power", PowerLength, count, rounds, static_cast<uint64_t>(seed));
  return 0;
}
