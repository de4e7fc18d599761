// SPDX-License-Identifier: Apache-2.0
// Batches of packed documents from the disk.
//
//   packed_cold_bench FOLDER [--rounds N] [--seconds S] [--size-mib M]
//                     [--only 'CASE;...']
//
// FOLDER gets a store of M MiB (default 4096) of u16 ids in documents of
// log-normal lengths (median 600, sigma 1), where it is not there yet. Windows
// have 4096 tokens. In N interleaved rounds (default 5) of S seconds each
// (default 3), all with the page cache of the store's files dropped before:
//   fio          fio --ioengine=io_uring --rw=randread --iodepth=64 --direct=1,
//                one job, over the file of tokens; sizes are those of the
//                pieces of packed windows (the means of 50 quantiles), rounded
//                up to 512 bytes
//   fio blocks   the same with the blocks of 4 KiB that the pieces touch, which
//                is what must be read to verify them
//   first epoch  a new process with default settings, from its start on. It has
//                verified nothing, and makes the order of documents by length
//   verified     a process that has verified all blocks, after its first batch
// Loaders give tokens alone (u32), or all tensors of documents (i32), in
// batches of 64 or 1024. Rates are windows per second, for fio its reads by the
// mean number of pieces. Bars are for the ratio to "fio" in the same round.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/measure/cpu_seconds.h"
#include "bench/measure/flags.h"
#include "bench/measure/many_files.h"
#include "bench/measure/require.h"
#include "bench/readers/comparison.h"
#include "bench/readers/fio.h"
#include "bench/readers/page_cache.h"
#include "bench/runs/packed_run.h"
#include "poniente/byte_reader.h"
#include "poniente/task.h"
#include "poniente/token_store.h"
#include "util/rounding.h"

namespace poniente::bench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using internal::RoundUp;

constexpr size_t kSeqLen = 4096;
constexpr uint64_t kSector = 512;
constexpr int kQuantiles = 50;

struct Options : FolderOptions {
  Options() {
    seconds = 3;
    mib = 4096;
  }

  std::string store() const { return folder + "/store"; }
  std::string tokens() const { return store() + "/tokens-1.bin"; }
  std::string order() const { return store() + "/documents-by-length.bin"; }
};

void EvictStore(const Options& options) {
  for (const fs::directory_entry& file :
       fs::directory_iterator(options.store())) {
    Evict(file.path());
  }
}

// fio's option for reads of the sizes that `size_of` gives for pieces, as
// shares of whole per cents.
template <class SizeOf>
std::string SplitOf(const PlainWindows& windows, uint64_t unit,
                    const SizeOf& size_of) {
  std::vector<uint64_t> sizes;
  for (const PlainPiece& piece : windows.pieces) {
    if (!piece.is_padding) sizes.push_back(size_of(piece));
  }
  std::sort(sizes.begin(), sizes.end());
  std::map<uint64_t, int> shares;
  for (int q = 0; q < kQuantiles; ++q) {
    const auto begin =
        sizes.begin() + static_cast<ptrdiff_t>(sizes.size() * q / kQuantiles);
    const auto end = sizes.begin() + static_cast<ptrdiff_t>(
                                         sizes.size() * (q + 1) / kQuantiles);
    const double mean =
        std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
    const auto units = static_cast<uint64_t>(
        std::max(1.0, std::round(mean / static_cast<double>(unit))));
    shares[units * unit] += 100 / kQuantiles;
  }
  std::string split = absl::StrCat("--blockalign=", unit, " --bssplit=");
  for (const auto& [bytes, share] : shares) {
    absl::StrAppend(&split, split.back() == '=' ? "" : ":", bytes, "/", share);
  }
  return split;
}

absl::StatusOr<Sample> MeasureFio(const Options& options,
                                  const std::string& blocks,
                                  double pieces_per_window) {
  FioJob job;
  job.name = "packed_cold_bench";
  job.files = {options.tokens()};
  job.direct = true;
  job.blocks = blocks;
  job.seconds = options.seconds;
  absl::StatusOr<Sample> sample = RunFio(job);
  if (!sample.ok()) return sample;
  sample->reads_per_second /= pieces_per_window;
  sample->cpu_microseconds *= pieces_per_window;
  return sample;
}

struct LoaderCase {
  std::string name;
  bool is_verified = false;
  PackedTensors tensors = PackedTensors::kTokens;
  size_t batch_size = 0;
};

// Reads batches until the time is over.
void ReadBatches(Loader* loader, Clock::time_point start, double cpu_before,
                 double seconds, Sample* sample) {
  const auto end = start + std::chrono::duration<double>(seconds);
  double windows = 0;
  while (Clock::now() < end) {
    windows +=
        static_cast<double>(Require(loader->NextBlocking()).num_samples());
  }
  sample->reads_per_second = windows / SecondsSince(start);
  sample->cpu_microseconds = 1e6 * (CpuSeconds() - cpu_before) / windows;
}

void VerifyAll(const TokenStore& store) {
  const ReadBuffer buffer = Require(ReadBuffer::Allocate(size_t{16} << 20));
  const ByteReader& reader = store.reader();
  for (uint64_t at = 0; at < reader.size(0); at += buffer.bytes().size()) {
    ReadRequest request;
    request.reader = &reader;
    request.offset = at;
    request.into = buffer.bytes().first(
        std::min<uint64_t>(buffer.bytes().size(), reader.size(0) - at));
    Require(RunBlocking(ReadBatch(std::span(&request, 1))));
  }
}

// What a process of its own does.
struct Figures {
  double reads_per_second = 0;
  double cpu_microseconds = 0;
  double bytes_read = 0;  // per byte of the windows
};

void MeasureLoader(const Options& options, const LoaderCase& one,
                   Figures* figures) {
  std::shared_ptr<const TokenStore> verified;
  if (one.is_verified) {
    TokenStoreOptions by_pread;
    by_pread.io.backend = IoBackend::kPread;
    verified = Require(TokenStore::Open(options.store(), by_pread));
    VerifyAll(*verified);
  } else {
    fs::remove(options.order());
  }
  EvictStore(options);
  Clock::time_point start = Clock::now();
  double cpu = CpuSeconds();
  const PackedRun run = OpenPackedRun("path = 'store'\n", options.folder,
                                      one.batch_size, kSeqLen, one.tensors);
  if (one.is_verified) {
    Require(run.loader->NextBlocking().status());
    start = Clock::now();
    cpu = CpuSeconds();
  }
  Sample sample;
  ReadBatches(run.loader.get(), start, cpu, options.seconds, &sample);
  const double delivered = sample.reads_per_second * SecondsSince(start) *
                           static_cast<double>(2 * kSeqLen);
  *figures = {
      sample.reads_per_second, sample.cpu_microseconds,
      static_cast<double>(run.loader->metrics().bytes_read) / delivered};
}

std::vector<LoaderCase> LoaderCases() {
  std::vector<LoaderCase> cases;
  for (const bool is_verified : {false, true}) {
    for (const PackedTensors tensors :
         {PackedTensors::kTokens, PackedTensors::kAll}) {
      for (const size_t batch_size : {64, 1024}) {
        cases.push_back(
            {absl::StrCat(is_verified ? "verified" : "first epoch",
                          tensors == PackedTensors::kAll ? ", all tensors "
                                                         : ", tokens ",
                          batch_size),
             is_verified, tensors, batch_size});
      }
    }
  }
  return cases;
}

int Main(int argc, char** argv) {
  Options options;
  if (!ParseFolderOptions(argc, argv, "packed_cold_bench", &options)) return 2;
  fs::create_directories(options.folder);
  WriteRandomStore(options.store(),
                   (static_cast<uint64_t>(options.mib) << 20) / 2, 1);
  const KnownWindows known =
      FirstWindows(options.store(), kSeqLen, size_t{1} << 16);
  const std::string pieces =
      SplitOf(known.windows, kSector, [](const PlainPiece& piece) {
        return RoundUp(2 * uint64_t{piece.length}, kSector);
      });
  const std::string blocks =
      SplitOf(known.windows, kPageBytes, [](const PlainPiece& piece) {
        const uint64_t begin = 2 * piece.begin;
        const uint64_t end = begin + 2 * uint64_t{piece.length};
        return RoundUp(end, kPageBytes) - begin / kPageBytes * kPageBytes;
      });
  std::printf("%.2f pieces per window\nfio %s\nfio blocks %s\n",
              known.pieces_per_window, pieces.c_str(), blocks.c_str());
  Comparison comparison({.rate = "kwindows/s"});
  comparison.Add("fio", "fio", [&] {
    return MeasureFio(options, pieces, known.pieces_per_window);
  });
  comparison.Add("fio blocks", "fio", [&] {
    return MeasureFio(options, blocks, known.pieces_per_window);
  });
  std::vector<Bar> bars;
  const std::vector<LoaderCase> cases = LoaderCases();
  for (const LoaderCase& one : cases) {
    comparison.Add(
        one.name, "fio", [&options, &one]() -> absl::StatusOr<Sample> {
          const auto figures = InProcessOfItsOwn<Figures>(
              [&](Figures* result) { MeasureLoader(options, one, result); });
          Require(figures.has_value(), "a case failed");
          Sample sample;
          sample.reads_per_second = figures->reads_per_second;
          sample.cpu_microseconds = figures->cpu_microseconds;
          sample.note =
              absl::StrFormat("%.2f bytes read per byte", figures->bytes_read);
          return sample;
        });
  }
  comparison.KeepOnly(options.only);
  comparison.Run(static_cast<int>(options.rounds));
  comparison.Print();
  if (!options.only.empty()) return 0;
  for (const LoaderCase& one : cases) {
    bars.push_back(
        comparison.RateBar(one.name, "fio", Bar::Limit::kAtLeast, 0.85));
  }
  PrintBars(bars);
  return 0;
}

}  // namespace
}  // namespace poniente::bench

int main(int argc, char** argv) { return poniente::bench::Main(argc, argv); }
