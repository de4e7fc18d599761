// SPDX-License-Identifier: Apache-2.0
// Batches of packed documents from memory, with every tensor.
//
//   packed_batches_bench FOLDER [--rounds N] [--seconds S] [--size-mib M]
//                        [--only 'CASE;...']
//
// FOLDER gets a store of M MiB (default 512) of u16 ids in documents of
// log-normal lengths (median 600, sigma 1), and eight of an eighth of it, where
// they are not there yet. All are brought into the page cache first. A case is
// a loader with default settings in an endless run, whose consumer drops each
// batch; the batches have i32 tokens, labels, loss_mask, document_ids,
// positions, cu_seqlens, document_counts and max_seqlens. In N interleaved
// rounds (default 5), for windows of 4096 and 2048 tokens and batches of 1, 8,
// 64 and 1024 of them:
//   plain    writes the same bytes on one thread, piece by piece, from ready
//            lists of pieces and a mapping of the ids that is in the page
//            tables, into as many slots as the loader has
//   store    the run over the store
//   mixture  the run over a mixture of the eight stores, of equal weights
//   infilled the run over the store, half of whose documents are filled in the
//            middle; compared with "store"
// The first batch of each run over the store is compared with what "plain"
// makes of its windows. The first 0.3 s of each measurement do not count.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/measure/flags.h"
#include "bench/measure/mapped_array.h"
#include "bench/measure/require.h"
#include "bench/readers/comparison.h"
#include "bench/readers/measure_batches.h"
#include "bench/readers/page_cache.h"
#include "bench/readers/plain_packing.h"
#include "bench/runs/packed_run.h"
#include "poniente/byte_reader.h"

namespace poniente::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kStores = 8;
// prefetch_batches + max_held + 1, by default.
constexpr size_t kSlots = 4 + 2 + 1;
constexpr size_t kSeqLens[] = {4096, 2048};
constexpr size_t kBatchSizes[] = {1, 8, 64, 1024};

constexpr char kInfilled[] =
    "path = 'store'\nfill_in_the_middle = { rate = 0.5, prefix = 1, middle = "
    "2, "
    "suffix = 3 }\n";

using Options = FolderOptions;

// One store, or a mixture, as [data] of a run.
struct Source {
  std::string name;
  std::string data;
};

std::vector<Source> MakeStores(const Options& options) {
  const auto tokens = (static_cast<uint64_t>(options.mib) << 20) / 2;
  fs::create_directories(options.folder);
  WriteRandomStore(options.folder + "/store", tokens, 1);
  std::vector<Source> sources = {{"store", "path = 'store'\n"},
                                 {"mixture", "[data.mixture]\n"}};
  for (int i = 0; i < kStores; ++i) {
    const std::string store = absl::StrCat("store-", i);
    WriteRandomStore(absl::StrCat(options.folder, "/", store), tokens / kStores,
                     static_cast<uint64_t>(i) + 2);
    absl::StrAppend(&sources.back().data, "c", i, " = {weight = 1, path = '",
                    store, "'}\n");
  }
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(options.folder)) {
    if (entry.is_regular_file()) Load(entry.path(), entry.file_size());
  }
  return sources;
}

Sample MeasurePlain(const Options& options, const MappedArray<uint16_t>& store,
                    const KnownWindows& known, size_t seq_len, size_t windows) {
  const size_t bytes =
      (PlainBatch::Bytes(windows, seq_len, known.max_documents) + 4095) / 4096 *
      4096;
  const ReadBuffer slots = Require(ReadBuffer::Allocate(kSlots * bytes));
  std::memset(slots.bytes().data(), 2, slots.bytes().size());
  size_t turn = 0;
  size_t next = 0;
  return MeasureBatches(options.seconds, windows, [&] {
    if (next + windows > known.windows.size()) next = 0;
    WritePlainBatch(known.windows, next, windows, store.data(), seq_len,
                    known.max_documents,
                    PlainBatch::At(slots.bytes().data() + turn * bytes, windows,
                                   seq_len, known.max_documents));
    next += windows;
    turn = (turn + 1) % kSlots;
  });
}

Sample MeasureLoader(const Options& options, const Source& source,
                     const MappedArray<uint16_t>& store, size_t seq_len,
                     size_t windows) {
  const PackedRun run = OpenPackedRun(source.data, options.folder, windows,
                                      seq_len, PackedTensors::kAll);
  const Batch first = Require(run.loader->NextBlocking());
  if (source.name == "store") RequireLikePlain(run.config, first, store.data());
  return MeasureBatches(options.seconds, windows,
                        [&] { Require(run.loader->NextBlocking().status()); });
}

int Main(int argc, char** argv) {
  Options options;
  if (!ParseFolderOptions(argc, argv, "packed_batches_bench", &options))
    return 2;
  const std::vector<Source> sources = MakeStores(options);
  const MappedArray<uint16_t> store(options.folder + "/store/tokens-1.bin");
  std::map<size_t, KnownWindows> known;
  Comparison comparison({.rate = "kwindows/s"});
  std::vector<std::pair<std::string, std::string>> wanted;
  for (const size_t seq_len : kSeqLens) {
    known[seq_len] =
        FirstWindows(options.folder + "/store", seq_len, size_t{1} << 16);
    std::printf("%zu tokens: %.2f pieces per window, at most %zu documents\n",
                seq_len, known[seq_len].pieces_per_window,
                known[seq_len].max_documents);
    for (const size_t windows : kBatchSizes) {
      const std::string sizes = absl::StrCat(seq_len, " x ", windows);
      const std::string plain = "plain " + sizes;
      comparison.Add(plain, plain, [=, &options, &store, &known] {
        return MeasurePlain(options, store, known.at(seq_len), seq_len,
                            windows);
      });
      for (const Source& source : sources) {
        const std::string name = absl::StrCat(source.name, " ", sizes);
        comparison.Add(name, plain, [=, &options, &store, &source] {
          return MeasureLoader(options, source, store, seq_len, windows);
        });
        wanted.emplace_back(name, plain);
      }
      comparison.Add("infilled " + sizes, "store " + sizes,
                     [=, &options, &store] {
                       return MeasureLoader(options, {"infilled", kInfilled},
                                            store, seq_len, windows);
                     });
    }
  }
  comparison.KeepOnly(options.only);
  comparison.Run(static_cast<int>(options.rounds));
  comparison.Print();
  if (!options.only.empty()) return 0;
  std::vector<Bar> bars;
  for (const auto& [name, plain] : wanted) {
    bars.push_back(comparison.RateBar(name, plain, Bar::Limit::kAtLeast, 0.5));
  }
  PrintBars(bars);
  return 0;
}

}  // namespace
}  // namespace poniente::bench

int main(int argc, char** argv) { return poniente::bench::Main(argc, argv); }
