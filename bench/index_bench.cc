// SPDX-License-Identifier: Apache-2.0
// What the index mathematics costs, beside one mix64 (m) on the same machine.
//
//   index_bench [ROUNDS]
//
// In ROUNDS interleaved rounds (default 9), in processor time, as medians with
// (max - min) / median, and ratios to the m measured just before:
//   permutation N one        independent calls for single indices
//   permutation N batch B    Forward() of B random indices
//   permutation N inverse    Inverse() of 1024
//   permutation N make + 1   constructor and one index
//   permutation ... KERNEL   batches of 1024 by each variant this CPU has
//   mixture K weights ...    (component, epoch, item) of a sample, shuffled, in
//                            fresh blocks of 2048, a call for each; with items
//                            cut in 8, lengths that change, other orders of a
//                            component's epochs, more than 2^32 items
//   first sample             the first Resolve() of a mixture just made
//   plan ...                 from weights to a finished plan
// A bar is met if it holds with the distance between the quartiles to spare.

#include <cmath>
#include <cstdlib>
#include <memory>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/measure/heap_bytes.h"
#include "bench/measure/require.h"
#include "bench/measure/rounds.h"
#include "index/mixture/mixture_map.h"
#include "index/permutation/permutation_kernels.h"
#include "poniente/mixture_plan.h"
#include "poniente/permutation.h"

namespace poniente::bench {
namespace {

using internal::MapComponent;
using internal::MixtureMap;
using internal::PermutationKernel;

constexpr uint64_t kBlock = 2048;
// Samples of a run whose blocks are asked for.
constexpr uint64_t kSamples = uint64_t{1} << 40;
constexpr size_t kIndices = 8192;

void Use(uint64_t value) { asm volatile("" : : "r"(value)); }
// Makes the compiler believe that memory was read and written.
void UseMemory() { asm volatile("" : : : "memory"); }

std::vector<uint64_t> RandomIndices(uint64_t n) {
  std::mt19937_64 random(n);
  std::vector<uint64_t> indices(kIndices);
  for (uint64_t& index : indices) index = random() % n;
  return indices;
}

// map(in, out) over all indices in batches.
template <class Map>
std::function<double()> Batches(uint64_t n, size_t batch, Map map) {
  return Repeated(kIndices, [=, in = RandomIndices(n),
                             out = std::vector<uint64_t>(kIndices)]() mutable {
    for (size_t at = 0; at < kIndices; at += batch) {
      map(std::span<const uint64_t>(in).subspan(at, batch),
          std::span(out).subspan(at, batch));
    }
    UseMemory();
  });
}

void AddPermutation(uint64_t n, Rounds* rounds) {
  const Permutation order(n, /*key=*/42);
  const std::string name = absl::StrCat("permutation ", n, " ");
  rounds->Add(name + "one", Repeated(kIndices, [=, in = RandomIndices(n)] {
                for (const uint64_t index : in) Use(order.Forward(index));
              }));
  for (const size_t batch : {2, 8, 64, 1024}) {
    rounds->Add(
        absl::StrCat(name, "batch ", batch),
        Batches(n, batch, [=](auto in, auto out) { order.Forward(in, out); }));
  }
  rounds->Add(name + "inverse", Batches(n, 1024, [=](auto in, auto out) {
                order.Inverse(in, out);
              }));
  rounds->Add(name + "make + 1", Repeated(1000, [=] {
                for (uint64_t key = 0; key < 1000; ++key) {
                  Use(Permutation(n, key).Forward(key % n));
                }
              }));
}

void AddKernels(uint64_t n, Rounds* rounds) {
  const auto network = internal::MakeFeistelNetwork(n, /*key=*/42);
  for (const PermutationKernel* kernel : internal::PermutationKernels()) {
    if (!internal::IsSupported(*kernel)) continue;
    rounds->Add(absl::StrCat("permutation ", n, " batch 1024 ", kernel->name),
                Batches(n, 1024, [=](auto in, auto out) {
                  kernel->forward(network, n, in.data(), out.data(), in.size());
                }));
  }
}

// A mixture to measure: the one place that knows how components are described.
struct MixtureCase {
  size_t components;
  bool equal_weights;
  // Samples of 4096 tokens out of items of 32768; if lengths change, of 4096,
  // 8192, 16384 and 32768, each for a quarter of the run.
  bool cuts_items = false;
  bool changes_lengths = false;
  ShuffleKind shuffle = ShuffleKind::kFull;
  // Components of 1e10 to 1e12 items instead of 1e6 to 1e9.
  bool is_large = false;

  std::string name() const {
    return absl::StrCat(
        "mixture ", components, equal_weights ? " equal" : " uneven",
        is_large ? " large" : "",
        shuffle == ShuffleKind::kBlocks ? " blocks" : "",
        shuffle == ShuffleKind::kEras ? " eras" : "", cuts_items ? " cut" : "",
        changes_lengths ? " lengths" : "");
  }

  static std::string NameOf(size_t component) {
    return absl::StrFormat("component-%05d", component);
  }

  // Equal, or log-uniform over a factor of e^8.
  std::vector<WeightedComponent> Weights() const {
    std::mt19937_64 random(components);
    std::uniform_real_distribution<double> exponent(0, 8);
    std::vector<WeightedComponent> weights(components);
    for (size_t i = 0; i < components; ++i) {
      weights[i].name = NameOf(i);
      if (!equal_weights) weights[i].weight = std::exp(exponent(random));
    }
    return weights;
  }

  MixtureOptions Options() const {
    MixtureOptions options;
    options.block_size = kBlock;
    options.max_seq_len = 32768;
    if (cuts_items) options.seq_lens = {{0, 4096}};
    if (changes_lengths) {
      const uint64_t quarter = kSamples / 4;
      options.seq_lens = {{0, 4096},
                          {quarter, 8192},
                          {2 * quarter, 16384},
                          {3 * quarter, 32768}};
    }
    return options;
  }

  MixturePlan MakePlan() const {
    return Require(MixturePlan::Create(Options(), Weights()));
  }

  // As a tree of stores would: chunks of 2^19 tokens, 1024 in a window.
  internal::OrderSpec Order() const {
    return {.kind = shuffle,
            .era_items = 100000,
            .chunk_items = kDefaultChunkTokens / 32768,
            .window_chunks = 1024};
  }

  std::unique_ptr<MixtureMap> MakeMap() const {
    std::mt19937_64 random(components + 1);
    std::uniform_real_distribution<double> exponent(is_large ? 10 : 6,
                                                    is_large ? 12 : 9);
    std::vector<MapComponent> described(components);
    for (size_t i = 0; i < components; ++i) {
      described[i].name = NameOf(i);
      described[i].views = {
          {.length = static_cast<uint64_t>(std::pow(10, exponent(random))),
           .order = Order()}};
    }
    const MixturePlan plan = MakePlan();
    internal::MixtureRules rules;
    rules.parts = internal::PartsOf(Options(), plan.seq_lens());
    return Require(
        MixtureMap::Create(plan.stages(), std::move(described), 42, rules));
  }
};

// The neighbours of "mixture 1000 equal": all are held to its bar.
const MixtureCase kNeighbours[] = {
    {.components = 1000, .equal_weights = true, .cuts_items = true},
    {.components = 1000, .equal_weights = true, .changes_lengths = true},
    {.components = 1000,
     .equal_weights = true,
     .shuffle = ShuffleKind::kBlocks},
    {.components = 1000, .equal_weights = true, .shuffle = ShuffleKind::kEras},
    {.components = 1000, .equal_weights = true, .is_large = true},
    {.components = 1000,
     .equal_weights = true,
     .cuts_items = true,
     .shuffle = ShuffleKind::kBlocks},
    {.components = 1000,
     .equal_weights = true,
     .cuts_items = true,
     .is_large = true},
};

void AddMixture(const MixtureCase& mixture, Rounds* rounds) {
  const std::shared_ptr<const MixtureMap> map = mixture.MakeMap();
  rounds->Add(
      mixture.name(),
      Repeated(kBlock, [map, random = std::mt19937_64(1),
                        positions = std::vector<Position>(kBlock),
                        out = std::vector<ChildPosition>(kBlock)]() mutable {
        const uint64_t first = random() % kSamples / kBlock * kBlock;
        for (uint64_t i = 0; i < kBlock; ++i) {
          positions[i].index = first + i;
        }
        map->Resolve(positions, out);
        UseMemory();
      }));
}

// One sample far into a run, from a mixture just made.
double FirstSample(const MixtureCase& mixture) {
  const auto map = mixture.MakeMap();
  Position position;
  position.index = 1000000000000;
  ChildPosition out;
  return Nanoseconds([&] {
    map->Resolve({&position, 1}, {&out, 1});
    UseMemory();
  });
}

double MedianOf(int times, const std::function<double()>& measure) {
  std::vector<double> values(times);
  for (double& value : values) value = measure();
  return Median(values);
}

double BuildPlan(const MixtureCase& mixture) {
  return Nanoseconds([&] { Use(mixture.MakePlan().names().size()); });
}

// Heap bytes that `make` leaves held by what it gives.
template <class Make>
size_t BytesHeldBy(const Make& make) {
  const size_t before = HeapBytes();
  const auto made = make();
  return HeapBytes() - before;
}

// A ramp of 1000 steps over 1000 components, from equal weights to uneven ones.
MixturePlan MakeRamp() {
  MixtureStage stage;
  stage.start = kBlock;
  stage.ramp_samples = 1000 * kBlock;
  stage.ramp_blocks = 1;
  for (const WeightedComponent& component :
       MixtureCase{1000, /*equal_weights=*/false}.Weights()) {
    stage.weights[component.name] = component.weight;
  }
  MixtureOptions options;
  options.block_size = kBlock;
  options.stages = {std::move(stage)};
  return Require(MixturePlan::Create(
      options, MixtureCase{1000, /*equal_weights=*/true}.Weights()));
}

double BuildRamp() {
  return Nanoseconds([&] { Use(MakeRamp().names().size()); });
}

struct Bar {
  std::string what;
  double median;
  double noise;
  double limit;
  const char* unit;
};

void PrintBars(const std::vector<Bar>& bars) {
  std::printf("\n%-44s %10s %10s %10s\n", "bars", "median", "noise", "at most");
  for (const Bar& bar : bars) {
    const char* verdict = bar.median + bar.noise <= bar.limit ? "met"
                          : bar.median <= bar.limit           ? "too noisy"
                                                              : "missed";
    std::printf("%-44s %10.2f %10.2f %10.2f %-3s %s\n", bar.what.c_str(),
                bar.median, bar.noise, bar.limit, bar.unit, verdict);
  }
}

Bar RatioBar(const std::string& what, const Series& series, double limit) {
  return {what, series.ratio(), series.noise_ratio(), limit, "m"};
}

Bar TimeBar(const std::string& what, const Series& series, double limit,
            double unit, const char* unit_name) {
  return {what, series.nanoseconds() / unit, series.noise_nanoseconds() / unit,
          limit, unit_name};
}

Bar BytesBar(const std::string& what, size_t bytes, double limit) {
  const double mb = static_cast<double>(bytes) / 1e6;
  return {what, mb, 0, limit, "MB"};
}

void AddAll(Rounds* rounds) {
  for (const uint64_t n :
       {1000ull, 65537ull, 1000003ull, 3400000000ull, 1000000000000ull}) {
    AddPermutation(n, rounds);
  }
  AddKernels(3400000000, rounds);
  for (const size_t components : {4, 64, 1000, 10000}) {
    for (const bool equal : {true, false}) {
      AddMixture({components, equal}, rounds);
    }
    if (components == 1000) continue;
    AddMixture({components, true, /*cuts_items=*/true}, rounds);
  }
  for (const MixtureCase& neighbour : kNeighbours) {
    AddMixture(neighbour, rounds);
  }
  rounds->Add("first sample 1000 uneven", [] {
    return MedianOf(5, [] { return FirstSample({1000, false}); });
  });
  rounds->Add("plan 10000 uneven", [] {
    return MedianOf(3, [] { return BuildPlan({10000, false}); });
  });
  rounds->Add("plan ramp of 1000 x 1000", BuildRamp);
}

int Main(int argc, char** argv) {
  const int count = argc > 1 ? std::max(1, std::atoi(argv[1])) : 9;
  Rounds rounds;
  AddAll(&rounds);
  rounds.Run(count);
  rounds.Print();

  const MixtureCase large{10000, /*equal_weights=*/false};
  const size_t plan_bytes = BytesHeldBy([&] { return large.MakePlan(); });
  const size_t map_bytes = BytesHeldBy([&] { return large.MakeMap(); });
  ResetHeapPeak();
  const size_t before = HeapBytes();
  const size_t ramp_bytes = BytesHeldBy(MakeRamp);
  const size_t ramp_peak = HeapPeak() - before;
  std::printf(
      "\nbytes: plan of 10000 %zu, mixture with it %zu; plan of 1000 x 1000 "
      "%zu held, %zu at its peak\n",
      plan_bytes, map_bytes, ramp_bytes, ramp_peak);

  std::vector<Bar> bars = {
      RatioBar("permutation 3400000000 batch 1024",
               rounds.series("permutation 3400000000 batch 1024"), 2.5),
      RatioBar("mixture 1000 equal", rounds.series("mixture 1000 equal"), 60),
      RatioBar("mixture 1000 uneven", rounds.series("mixture 1000 uneven"), 60),
      TimeBar("first sample 1000 uneven",
              rounds.series("first sample 1000 uneven"), 5, 1e3, "us"),
      TimeBar("plan 10000 uneven", rounds.series("plan 10000 uneven"), 10, 1e6,
              "ms"),
      BytesBar("plan 10000 uneven, held", plan_bytes, 3),
      TimeBar("plan ramp of 1000 x 1000",
              rounds.series("plan ramp of 1000 x 1000"), 0.5, 1e9, "s"),
      BytesBar("plan ramp of 1000 x 1000, peak", ramp_peak, 60),
  };
  for (const MixtureCase& neighbour : kNeighbours) {
    bars.push_back(
        RatioBar(neighbour.name(), rounds.series(neighbour.name()), 60));
  }
  PrintBars(bars);
  return 0;
}

}  // namespace
}  // namespace poniente::bench

int main(int argc, char** argv) { return poniente::bench::Main(argc, argv); }
