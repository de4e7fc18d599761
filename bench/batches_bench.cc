// SPDX-License-Identifier: Apache-2.0
// Batches from memory: of 1, 8, 64 and 1024 windows, from one file and from
// 200, from stores and from other projects' files, with tokens alone and with
// every tensor, each beside a plain loop that writes the same bytes.
//
//   batches_bench FOLDER [--rounds N] [--seconds S] [--size-mib M]
//                        [--only 'CASE;...'] [--gpu N]
//
// FOLDER gets the files (default 512 MiB of each kind), where they are not
// there yet. All are brought into the page cache first. Windows have 4096
// tokens of u16; documents are lognormal, of 600 tokens at the median (sigma
// 1). A case is a loader with default settings in an endless run, shuffled,
// whose consumer drops each batch; "awaited", it is a coroutine that takes them
// by Next() (of stores). Baselines, in the same rounds:
//   memcpy N   copies windows in random order from a mapping of the store's
//              tokens, all in the page tables, into as many slots of N windows
//              as the loader has
//   arrays N   copies what a batch of N windows has with every tensor (17 bytes
//              per token, i32 tokens) from ready arrays into as many slots
// Memory is not touched between the rounds; the first 0.3 s of each measurement
// do not count.
//
// With --gpu N, only batches of the one store and of the 200, each beside the
// same batches on the host: on GPU N, and waited for there; with ids widened to
// i64 by the host, and by the GPU.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/measure/cpu_seconds.h"
#include "bench/measure/flags.h"
#include "bench/measure/gpu.h"
#include "bench/measure/require.h"
#include "bench/readers/comparison.h"
#include "bench/readers/file_set.h"
#include "bench/readers/measure_batches.h"
#include "bench/readers/plain_readers.h"
#include "bench/readers/windows.h"
#include "bench/runs/batch_files.h"
#include "poniente/byte_reader.h"
#include "poniente/config.h"
#include "poniente/loader.h"
#include "poniente/task.h"

namespace poniente::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kSeqLen = 4096;
static_assert(kWindowBytes == 2 * kSeqLen);
constexpr uint64_t kTensorBytes = kSeqLen * (4 + 4 + 1 + 4 + 4);
constexpr size_t kHalfPage = 2048;
constexpr size_t kBatchSizes[] = {1, 8, 64, 1024};

using Options = FolderOptions;

// prefetch_batches + max_held + 1, by default.
constexpr size_t kSlots = 4 + 2 + 1;

Sample MeasureCopies(const Options& options, size_t windows) {
  const FileSet files(std::vector<std::string>{"raw.bin"});
  const auto reader = Require(OpenMappingCopy(
      files, files.bytes(), {.slots = kSlots, .windows = windows}));
  WindowOrder order(files.bytes());
  const size_t warm_up = (size_t{1} << 15) / windows * windows;
  const std::vector<uint64_t> first = order.Upcoming(warm_up);
  Batches unmeasured(first, std::chrono::hours(1), windows);
  reader->ReadAll(&unmeasured);
  order.Skip(warm_up);
  const std::vector<uint64_t> offsets =
      order.Upcoming((size_t{1} << 22) / windows * windows);
  Batches batches(offsets,
                  std::chrono::duration_cast<Clock::duration>(
                      std::chrono::duration<double>(options.seconds)),
                  windows);
  const double cpu = CpuSeconds();
  const Clock::time_point start = Clock::now();
  reader->ReadAll(&batches);
  const std::chrono::duration<double> took = Clock::now() - start;
  const auto done = static_cast<double>(batches.windows_given());
  Sample sample;
  sample.reads_per_second = done / took.count();
  sample.cpu_microseconds = 1e6 * (CpuSeconds() - cpu) / done;
  sample.cached = 1;
  return sample;
}

Sample MeasureArrays(const Options& options, size_t windows) {
  constexpr size_t kElementBytes[] = {4, 4, 1, 4, 4};
  const size_t bytes = kTensorBytes * windows;
  // Half a page apart: `rep movsb` is slow on some processors where both ends
  // lie alike in their pages.
  const ReadBuffer ready = Require(ReadBuffer::Allocate(kSlots * bytes));
  const ReadBuffer slots =
      Require(ReadBuffer::Allocate(kSlots * bytes + kHalfPage));
  std::memset(ready.bytes().data(), 1, ready.bytes().size());
  std::memset(slots.bytes().data(), 2, slots.bytes().size());
  size_t turn = 0;
  return MeasureBatches(options.seconds, windows, [&] {
    const std::byte* from = ready.bytes().data() + turn * bytes;
    std::byte* to = slots.bytes().data() + kHalfPage + turn * bytes;
    for (const size_t element : kElementBytes) {
      for (size_t i = 0; i < windows; ++i) {
        std::memcpy(to, from, element * kSeqLen);
        from += element * kSeqLen;
        to += element * kSeqLen;
      }
    }
    turn = (turn + 1) % kSlots;
  });
}

// What a case asks of its loader, but for the number of windows.
struct Wishes {
  bool has_tensors = false;
  TokenType token_type = TokenType::kU16;
  Device device = {};
  bool widens_on_device = false;
  // By a coroutine, with Next(), instead of NextBlocking().
  bool is_awaited = false;
};

constexpr Wishes kAllTensors = {.has_tensors = true,
                                .token_type = TokenType::kI32};

Task<> Await(Loader* loader, uint64_t batches) {
  for (uint64_t i = 0; i < batches; ++i) {
    absl::StatusOr<Batch> batch = co_await loader->Next();
    if (!batch.ok()) co_return batch.status();
  }
  co_return absl::OkStatus();
}

absl::StatusOr<Sample> MeasureLoader(const Options& options, const Kind& kind,
                                     size_t windows, const Wishes& wishes) {
  std::string text = absl::StrCat(
      "[data]\nseed = 1\nsteps = 1000000000000\nbatch_size = ", windows,
      "\nseq_len = ", kSeqLen, "\n");
  absl::StrAppend(&text, kind.root);
  const Config config = Require(Config::Parse(text, kind.name, options.folder));
  LoaderOptions of_loader = config.loader_options();
  of_loader.warning_sink = [](std::string_view) {};
  of_loader.token_type = wishes.token_type;
  if (wishes.has_tensors) {
    of_loader.tensors = {BatchTensor::kLabels, BatchTensor::kLossMask,
                         BatchTensor::kDocumentIds, BatchTensor::kPositions};
  }
  of_loader.device = wishes.device;
  of_loader.widen_on_device = wishes.widens_on_device;
  const auto loader = Require(config.OpenLoader(of_loader));
  if (wishes.is_awaited) {
    // RunBlocking() begins a coroutine anew, a loop over Next() does not.
    const uint64_t at_once = std::max<uint64_t>(1, 4096 / windows);
    return MeasureBatches(options.seconds, windows * at_once, [&] {
      Require(RunBlocking(Await(loader.get(), at_once)));
    });
  }
  bool has_host_tokens = true;
  Sample sample = MeasureBatches(options.seconds, windows, [&] {
    const Batch batch = Require(loader->NextBlocking());
    Require(batch.WaitUntilCopied());
    has_host_tokens = batch.has_host_tokens();
  });
  Require(has_host_tokens != wishes.widens_on_device,
          "the ids were not widened where they were to be");
  return sample;
}

constexpr double kMostMicroseconds = 12;  // for a batch of 1, tokens alone

// What is made into a bar when all rounds are done.
using MakeBar = std::function<Bar(const Comparison& comparison)>;

// A share of the baseline's rate.
MakeBar AtLeast(const std::string& name, const std::string& baseline,
                double share) {
  return [=](const Comparison& comparison) {
    return comparison.RateBar(name, baseline, Bar::Limit::kAtLeast, share);
  };
}

// Of batches of one window, the time; of larger ones, a share of the
// baseline's rate.
MakeBar RateOrTime(const std::string& name, const std::string& baseline,
                   size_t windows) {
  if (windows > 1) return AtLeast(name, baseline, windows < 64 ? 0.7 : 0.9);
  return [=](const Comparison& comparison) {
    return comparison.TimeBar(name, kMostMicroseconds);
  };
}

// Batches on the host beside plain loops.
void AddHostCases(const Options& options, const std::vector<Kind>& kinds,
                  Comparison* comparison, std::vector<MakeBar>* bars) {
  for (const size_t windows : kBatchSizes) {
    const std::string copies = absl::StrCat("memcpy ", windows);
    const std::string arrays = absl::StrCat("arrays ", windows);
    comparison->Add(copies, copies,
                    [=, &options] { return MeasureCopies(options, windows); });
    comparison->Add(arrays, arrays,
                    [=, &options] { return MeasureArrays(options, windows); });
    for (const Kind& kind : kinds) {
      const std::string name = absl::StrCat(kind.name, " ", windows);
      comparison->Add(name, copies, [=, &options, &kind] {
        return MeasureLoader(options, kind, windows, {});
      });
      bars->push_back(RateOrTime(name, copies, windows));
      comparison->Add(name + " tensors", arrays, [=, &options, &kind] {
        return MeasureLoader(options, kind, windows, kAllTensors);
      });
      bars->push_back(AtLeast(name + " tensors", arrays, 0.5));
      if (kind.name != "store" && kind.name != "200 stores") continue;
      comparison->Add(name + " awaited", copies, [=, &options, &kind] {
        return MeasureLoader(options, kind, windows, {.is_awaited = true});
      });
      bars->push_back(RateOrTime(name + " awaited", copies, windows));
    }
  }
}

// Batches on the GPU beside the same on the host.
void AddGpuCases(const Options& options, const std::vector<Kind>& kinds,
                 Comparison* comparison, std::vector<MakeBar>* bars) {
  const Device gpu = RequireDevice(options.gpu);
  const std::pair<const char*, Wishes> cases[] = {
      {"", {}},
      {" tensors", kAllTensors},
      {" i64", {.token_type = TokenType::kI64}}};
  for (const size_t windows : kBatchSizes) {
    for (const Kind& kind : kinds) {
      if (kind.name != "store" && kind.name != "200 stores") continue;
      for (const auto& [what, on_host] : cases) {
        const std::string host = absl::StrCat(kind.name, " ", windows, what);
        const auto add = [&](const std::string& where, const Wishes& wishes) {
          comparison->Add(host + where, host, [=, &options, &kind] {
            return MeasureLoader(options, kind, windows, wishes);
          });
          bars->push_back(AtLeast(host + where, host, 0.9));
        };
        comparison->Add(host, host, [=, &options, &kind, on_host = on_host] {
          return MeasureLoader(options, kind, windows, on_host);
        });
        Wishes there = on_host;
        there.device = gpu;
        add(", GPU", there);
        if (there.token_type != TokenType::kI64) continue;
        there.widens_on_device = true;
        add(" by the GPU", there);
      }
    }
  }
}

int Main(int argc, char** argv) {
  Options options;
  if (!ParseFolderOptions(argc, argv, "batches_bench", &options, true)) {
    return 2;
  }
  const uint64_t tokens =
      (static_cast<uint64_t>(options.mib) << 20) / 2 / kSeqLen * kSeqLen;
  const std::vector<Kind> kinds = MakeFiles(options.folder, tokens);
  BringIntoMemory(options.folder);
  Comparison comparison({.rate = "kwindows/s"});
  std::vector<MakeBar> make_bars;
  if (options.gpu.empty()) {
    AddHostCases(options, kinds, &comparison, &make_bars);
  } else {
    AddGpuCases(options, kinds, &comparison, &make_bars);
  }
  comparison.KeepOnly(options.only);
  comparison.Run(static_cast<int>(options.rounds));
  comparison.Print();
  std::printf("\n");
  if (options.only.empty()) {
    std::vector<Bar> bars;
    for (const MakeBar& make_bar : make_bars) {
      bars.push_back(make_bar(comparison));
    }
    PrintBars(bars);
  }
  return 0;
}

}  // namespace
}  // namespace poniente::bench

int main(int argc, char** argv) { return poniente::bench::Main(argc, argv); }
