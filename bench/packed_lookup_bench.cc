// SPDX-License-Identifier: Apache-2.0
// From a packed window to its documents and back, among many documents.
//
//   packed_lookup_bench FOLDER [--documents N] [--rounds N] [--only LENGTHS]
//
// Uses the stores of length_order_bench in FOLDER (N documents each, default
// 1e8), which it makes if they are not there, and windows of 4096 tokens with
// default options. In N interleaved rounds (default 5), at random windows,
// documents and epochs, one call at a time:
//   window        PiecewiseItems::Pieces(): the documents of a window and where
//                 each begins and ends
//   document      PiecewiseItems::ItemsIn(): the windows of a document
// Warm: the order's file and the index of documents are in the page cache, and
// all ends are kept in memory. Beside them, on the same documents:
//   plain window  for each piece, reads the document's number from a mapped
//                 table, and its two ends from a mapped array, by places that
//                 are known beforehand
//   plain document reads two ends, and the document's window from an array
//
// Then, each in a process of its own, for the first 1000 calls:
//   order cold    the page cache of the order's file is dropped; the ends of
//                 all documents are kept in memory
//   all cold      that of the index of documents is dropped, too, and no ends
//                 have been read
// with the reads per call (page faults that wait for a read, pread calls, and
// bytes from the disk), beside a loop that reads 4 KiB of the order's file at a
// random place past the page cache, one read at a time. All pieces are checked:
// they add up to a window, and each document is found where the window has it.

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "bench/measure/cpu_seconds.h"
#include "bench/measure/many_files.h"
#include "bench/measure/mapped_array.h"
#include "bench/measure/require.h"
#include "bench/measure/sparse_store.h"
#include "bench/measure/statistics.h"
#include "bench/readers/page_cache.h"
#include "io/read_buffer.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/token_store.h"
#include "store/posix_file.h"

namespace poniente::bench {
namespace {

using Clock = std::chrono::steady_clock;
using internal::OwnedFd;

constexpr uint64_t kWindow = 4096;
constexpr int kWarmCalls = 1 << 16;
constexpr int kColdCalls = 1000;

std::string OrderFile(const std::string& store) {
  return store + "/documents-by-length.bin";
}
std::string EndsFile(const std::string& store) {
  return store + "/documents-1.bin";
}

// A packed store, open.
struct Packed {
  explicit Packed(const std::string& path)
      : store(Require(TokenStore::Open(path))) {}

  void Pack() {
    windows = Require(store->PackedWindows(kWindow))->WithSeed(42);
    pieces = PiecesOf(*windows);
    num_windows = windows->length_now().readable;
  }
  // Reads the ends of all documents, which the store keeps.
  void KeepEnds() const {
    std::vector<uint64_t> documents;
    for (uint64_t d = 0; d < store->num_documents(); d += 1 << 15) {
      documents.push_back(d);
    }
    std::vector<TokenRange> ranges(documents.size());
    Require(store->DocumentRanges(documents, ranges));
  }

  std::shared_ptr<const TokenStore> store;
  DatasetPtr<TokenWindow> windows;
  const PiecewiseItems* pieces = nullptr;
  uint64_t num_windows = 0;
};

Position RandomWindow(const Packed& packed, std::mt19937_64& random) {
  return {.index = random() % packed.num_windows, .epoch = random() % 4};
}

void RequireWhole(const std::vector<ItemPiece>& pieces) {
  uint64_t tokens = 0;
  for (const ItemPiece& piece : pieces) tokens += piece.end - piece.begin;
  Require(tokens == kWindow, "pieces do not add up to a window");
}

// Requires that ItemsIn() finds every piece of the window in it.
void RequireFound(const Packed& packed, const Position& window) {
  uint32_t at = 0;
  for (const ItemPiece& piece : Require(packed.pieces->Pieces(window))) {
    if (!piece.is_padding()) {
      const PieceOfItem wanted = {window.index, at, piece.begin, piece.end};
      const std::vector<PieceOfItem> found =
          Require(packed.pieces->ItemsIn(piece.document, window.epoch));
      Require(std::find(found.begin(), found.end(), wanted) != found.end(),
              "a document is not found where its window has it");
    }
    at += static_cast<uint32_t>(piece.end - piece.begin);
  }
}

struct Times {
  double cpu_us = 0;
  double elapsed_us = 0;
};

template <class Call>
Times PerCall(int calls, const Call& call) {
  const double cpu = CpuSeconds();
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < calls; ++i) call(i);
  return {1e6 * (CpuSeconds() - cpu) / calls,
          1e6 * SecondsSince(start) / calls};
}

struct Case {
  std::string name;
  std::string plain;  // the case it is compared with; "": none
  double at_most = 0;
  std::function<Times()> measure;
  std::vector<double> cpu = {};
  std::vector<double> elapsed = {};
};

void MeasureWarm(const std::string& path, int rounds) {
  Load(OrderFile(path), std::filesystem::file_size(OrderFile(path)));
  Load(EndsFile(path), std::filesystem::file_size(EndsFile(path)));
  Packed packed(path);
  packed.Pack();
  packed.KeepEnds();
  const uint64_t documents = packed.store->num_documents();
  std::mt19937_64 random(7);
  for (int i = 0; i < 1000; ++i) {
    RequireFound(packed, RandomWindow(packed, random));
  }
  // The table is at the end of the file.
  const MappedArray<uint32_t> table(
      OrderFile(path),
      std::filesystem::file_size(OrderFile(path)) - 4 * documents);
  const MappedArray<uint64_t> ends(EndsFile(path), 0);
  std::vector<uint32_t> pieces_of(kWarmCalls);
  for (uint32_t& pieces : pieces_of) {
    pieces = static_cast<uint32_t>(
        Require(packed.pieces->Pieces(RandomWindow(packed, random))).size());
  }
  uint64_t sum = 0;
  const auto range = [&](uint64_t document) {
    return ends[document] - (document == 0 ? 0 : ends[document - 1]);
  };
  // First all that the calls read is touched once, as in a run.
  for (uint64_t i = 0; i < documents; i += 512) {
    (void)Require(packed.pieces->ItemsIn(i, 0));
  }
  std::vector<Case> cases;
  cases.push_back({"plain window", "", 0, [&] {
                     return PerCall(kWarmCalls, [&](int i) {
                       for (uint32_t p = 0; p < pieces_of[i]; ++p) {
                         sum += range(table[random() % documents]);
                       }
                     });
                   }});
  cases.push_back({"window", "plain window", 5, [&] {
                     return PerCall(kWarmCalls, [&](int) {
                       RequireWhole(Require(packed.pieces->Pieces(
                           RandomWindow(packed, random))));
                     });
                   }});
  cases.push_back({"plain document", "", 0, [&] {
                     return PerCall(kWarmCalls, [&](int) {
                       const uint64_t document = random() % documents;
                       sum += range(document) + table[document];
                     });
                   }});
  cases.push_back({"document", "plain document", 3, [&] {
                     return PerCall(kWarmCalls, [&](int) {
                       sum += Require(packed.pieces->ItemsIn(
                                          random() % documents, random() % 4))
                                  .size();
                     });
                   }});
  for (int round = -1; round < rounds; ++round) {
    for (Case& one : cases) {
      const Times times = one.measure();
      if (round < 0) continue;  // the first finds cold caches
      one.cpu.push_back(times.cpu_us);
      one.elapsed.push_back(times.elapsed_us);
    }
  }
  Require(sum != 0, "no documents");
  std::printf("%-22s %8s %7s %8s %7s %8s %7s\n", "warm", "CPU us", "noise",
              "us", "noise", "ratio", "noise");
  for (const Case& one : cases) {
    std::printf("%-22s %8.2f %7.2f %8.2f %7.2f", one.name.c_str(),
                Median(one.cpu), Noise(one.cpu), Median(one.elapsed),
                Noise(one.elapsed));
    for (const Case& plain : cases) {
      if (plain.name != one.plain) continue;
      std::vector<double> ratios;
      for (size_t i = 0; i < one.cpu.size(); ++i) {
        ratios.push_back(one.cpu[i] / plain.cpu[i]);
      }
      std::printf(
          " %8.2f %7.2f  at most %.0f us: %s", Median(ratios), Noise(ratios),
          one.at_most,
          Median(one.cpu) + Noise(one.cpu) <= one.at_most ? "held" : "missed");
    }
    std::printf("\n");
  }
  std::printf(
      "pieces of a window: %.1f\n",
      std::accumulate(pieces_of.begin(), pieces_of.end(), 0.0) / kWarmCalls);
}

struct Reads {
  double faults = 0;  // page faults that waited for a read
  double preads = 0;
  double bytes = 0;  // from the disk
};

Reads ReadsSoFar() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  Reads reads;
  reads.faults = static_cast<double>(usage.ru_majflt);
  std::ifstream io("/proc/self/io");
  std::string name;
  double value = 0;
  while (io >> name >> value) {
    if (name == "syscr:") reads.preads = value;
    if (name == "read_bytes:") reads.bytes = value;
  }
  return reads;
}

struct Cold {
  std::vector<double> us;
  double median = 0;
  double p90 = 0;
  double mean = 0;
  Reads reads;
};

template <class Call>
Cold MeasureColdCalls(const Call& call) {
  Cold cold;
  const Reads before = ReadsSoFar();
  for (int i = 0; i < kColdCalls; ++i) {
    cold.us.push_back(PerCall(1, [&](int) { call(); }).elapsed_us);
  }
  const Reads after = ReadsSoFar();
  cold.reads = {(after.faults - before.faults) / kColdCalls,
                (after.preads - before.preads) / kColdCalls,
                (after.bytes - before.bytes) / kColdCalls};
  return cold;
}

// What a process of its own hands back.
struct ColdFigures {
  double median, p90, mean, faults, preads, bytes;
};

void PrintCold(const char* name, const std::function<Cold()>& measure) {
  const auto figures = InProcessOfItsOwn<ColdFigures>([&](ColdFigures* result) {
    Cold cold = measure();
    std::sort(cold.us.begin(), cold.us.end());
    *result = {Median(cold.us),
               cold.us[cold.us.size() * 9 / 10],
               std::accumulate(cold.us.begin(), cold.us.end(), 0.0) /
                   static_cast<double>(cold.us.size()),
               cold.reads.faults,
               cold.reads.preads,
               cold.reads.bytes};
  });
  Require(figures.has_value(), "a case failed");
  std::printf("%-26s %9.1f %9.1f %9.1f %8.2f %8.2f %9.1f\n", name,
              figures->median, figures->p90, figures->mean, figures->faults,
              figures->preads, figures->bytes / 1024);
}

Cold ReadDirectly(const std::string& path) {
  const OwnedFd fd =
      Require(internal::OpenFd(OrderFile(path), O_RDONLY | O_DIRECT));
  const ReadBuffer page = Require(ReadBuffer::Allocate(kPageBytes));
  const uint64_t pages =
      std::filesystem::file_size(OrderFile(path)) / kPageBytes;
  std::mt19937_64 random(static_cast<uint64_t>(getpid()));
  return MeasureColdCalls([&] {
    Require(internal::ReadAll(fd.get(), path, random() % pages * kPageBytes,
                              page.bytes()));
  });
}

Cold LookUpCold(const std::string& path, bool keeps_ends, bool of_windows) {
  std::mt19937_64 random(static_cast<uint64_t>(getpid()));
  if (!keeps_ends) Evict(EndsFile(path));
  Packed packed(path);
  if (keeps_ends) packed.KeepEnds();
  Evict(OrderFile(path));
  packed.Pack();
  const uint64_t documents = packed.store->num_documents();
  return MeasureColdCalls([&] {
    if (of_windows) {
      RequireWhole(
          Require(packed.pieces->Pieces(RandomWindow(packed, random))));
    } else {
      (void)Require(packed.pieces->ItemsIn(random() % documents, random() % 4));
    }
  });
}

void MeasureCold(const std::string& path) {
  std::printf("%-26s %9s %9s %9s %8s %8s %9s\n", "us per call", "median",
              "90 %", "mean", "faults", "preads", "KiB read");
  PrintCold("one read of 4 KiB", [&] { return ReadDirectly(path); });
  for (const bool keeps_ends : {true, false}) {
    for (const bool of_windows : {true, false}) {
      PrintCold(absl::StrFormat("%s, %s", of_windows ? "window" : "document",
                                keeps_ends ? "order cold" : "all cold")
                    .c_str(),
                [&] { return LookUpCold(path, keeps_ends, of_windows); });
    }
  }
}

int Main(int argc, char** argv) {
  return RunOnSparseStores(argc, argv, "packed_lookup_bench", kWindow,
                           [](const char* name, const std::string& path,
                              uint64_t documents, int rounds) {
                             Packed(path).Pack();  // makes the order's file
                             std::printf("%s, %.3g documents\n", name,
                                         static_cast<double>(documents));
                             MeasureCold(path);
                             MeasureWarm(path, rounds);
                             std::printf("\n");
                             std::fflush(stdout);
                           });
}

}  // namespace
}  // namespace poniente::bench

int main(int argc, char** argv) { return poniente::bench::Main(argc, argv); }
