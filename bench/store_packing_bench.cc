// SPDX-License-Identifier: Apache-2.0
// What packing makes of the documents of token stores.
//
//   store_packing_bench STORE...
//
// For each store, and windows of 1024 to 8192 tokens:
//   not split   share of the documents that are in one window
//   padding     share of all tokens of the windows
//   least       padding below which no packing of the same pieces can come:
//               from the bound L2 of Martello and Toth on the number of bins
//   pairs       share of the pairs of pieces in a window that have the same
//               length, over all windows
//   by chance   the same of two pieces of any windows that hold several
//   best fit    pairs with parts = 1, and the padding then

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/measure/length_histograms.h"
#include "bench/measure/require.h"
#include "index/packing/window_packing.h"
#include "poniente/token_store.h"

namespace poniente::bench {
namespace {

using internal::PackedPiece;
using internal::PackingOrder;
using internal::WindowPacking;

// Numbers of pieces, by length.
using Counts = std::map<uint32_t, uint64_t>;

double PairsOf(const Counts& counts) {
  double equal = 0;
  for (const auto& [length, count] : counts) {
    equal += static_cast<double>(count) * static_cast<double>(count - 1) / 2;
  }
  return equal;
}

struct Pairs {
  double all = 0;
  double equal = 0;

  double share() const { return all == 0 ? 0 : equal / all; }
};

// The pieces of all windows; those of windows that hold several.
struct Pieces {
  Counts all;
  Counts paired;
};

// Adds the pieces of all windows to `pieces`, and returns their pairs.
Pairs PairsInWindows(const WindowPacking& packing, Pieces* pieces) {
  Pairs pairs;
  std::vector<PackedPiece> in_window;
  for (uint64_t w = 0; w < packing.num_windows(); ++w) {
    in_window.clear();
    packing.AppendPieces(w, PackingOrder(), &in_window);
    Counts counts;
    for (const PackedPiece& piece : in_window) ++counts[piece.length];
    for (const auto& [length, count] : counts) {
      pieces->all[length] += count;
      if (in_window.size() > 1) pieces->paired[length] += count;
    }
    const auto size = static_cast<double>(in_window.size());
    pairs.all += size * (size - 1) / 2;
    pairs.equal += PairsOf(counts);
  }
  return pairs;
}

// L2 of Martello and Toth: for any limit K up to half a window, pieces longer
// than L - K share a window with none of K and more, those longer than L / 2
// not with each other, and what is left of the latters' windows takes what it
// can of the pieces from K to L / 2.
uint64_t LeastWindows(const Counts& pieces, uint32_t window) {
  uint64_t least = 0;
  for (uint32_t limit = 1; limit <= window / 2; ++limit) {
    uint64_t alone = 0, halves = 0, room = 0, small = 0;
    for (auto at = pieces.lower_bound(limit); at != pieces.end(); ++at) {
      const auto [length, count] = *at;
      if (length > window - limit) {
        alone += count;
      } else if (length > window / 2) {
        halves += count;
        room += count * (window - length);
      } else {
        small += count * length;
      }
    }
    const uint64_t more =
        small > room ? (small - room + window - 1) / window : 0;
    least = std::max(least, alone + halves + more);
  }
  uint64_t tokens = 0;
  for (const auto& [length, count] : pieces) tokens += length * count;
  return std::max(least, (tokens + window - 1) / window);
}

void PrintStore(const std::string& folder) {
  const std::shared_ptr<const TokenStore> store =
      Require(TokenStore::Open(folder));
  std::vector<uint32_t> lengths;
  for (uint64_t d = 0; d < store->num_documents(); ++d) {
    const TokenRange range = Require(store->DocumentRange(d));
    if (range.size() > 0) {
      lengths.push_back(static_cast<uint32_t>(range.size()));
    }
  }
  for (const uint32_t window : {1024u, 2048u, 4096u, 8192u}) {
    const WindowPacking packing =
        Require(WindowPacking::Create(HistogramOf(lengths), window, {}));
    const WindowPacking best_fit = Require(
        WindowPacking::Create(HistogramOf(lengths), window, {.parts = 1}));
    Pieces pieces, again;
    const Pairs pairs = PairsInWindows(packing, &pieces);
    const Pairs in_best_fit = PairsInWindows(best_fit, &again);
    const PackingSummary& all = packing.summary();
    double paired = 0;
    for (const auto& [length, count] : pieces.paired) {
      paired += static_cast<double>(count);
    }
    const auto documents = static_cast<double>(all.documents);
    const auto tokens = static_cast<double>(all.placed_tokens);
    const auto least =
        static_cast<double>(LeastWindows(pieces.all, window)) * window;
    std::printf(
        "%-12s %7u %9.0f %8.0f %9.1f %% %8.3f %% %8.3f %% %7.3f %9.3f %8.3f "
        "%8.3f %%\n",
        std::filesystem::path(folder).filename().c_str(), window, documents,
        tokens / documents,
        100 - 100 * static_cast<double>(all.split_documents) / documents,
        100 * all.padding(), 100 * (1 - tokens / least), pairs.share(),
        PairsOf(pieces.paired) / (paired * (paired - 1) / 2),
        in_best_fit.share(), 100 * best_fit.summary().padding());
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace poniente::bench

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: store_packing_bench STORE...\n");
    return 2;
  }
  std::printf("%-12s %7s %9s %8s %11s %10s %10s %7s %9s %8s %10s\n", "store",
              "window", "documents", "mean", "not split", "padding", "least",
              "pairs", "by chance", "best fit", "");
  for (int i = 1; i < argc; ++i) poniente::bench::PrintStore(argv[i]);
  return 0;
}
