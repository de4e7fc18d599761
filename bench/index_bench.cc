// SPDX-License-Identifier: Apache-2.0
// What the index mathematics costs, beside one mix64 (m) on the same machine.
//
//   index_bench [ROUNDS]
//
// In ROUNDS interleaved rounds (default 9), as medians with (max - min) /
// median, and ratios to the m measured just before:
//   permutation N one        independent calls for single indices
//   permutation N batch B    Forward() of B random indices
//   permutation N inverse    Inverse() of 1024
//   permutation N make + 1   constructor and one index
//   permutation ... KERNEL   batches of 1024 by each variant this CPU has
//   mixture K weights        (component, epoch, item) of a sample, shuffled, in
//                            fresh blocks of 2048, a call for each
//   first sample             the first Resolve() of a mixture just made
//   plan ...                 from weights to a finished plan
// A bar is met if it holds in every round.

#include <cmath>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/heap_bytes.h"
#include "bench/rounds.h"
#include "index/mixture_map.h"
#include "index/permutation_kernels.h"
#include "index/stage_plan.h"
#include "index/weights.h"
#include "poniente/permutation.h"

namespace poniente::bench {
namespace {

using internal::MixtureComponent;
using internal::MixtureMap;
using internal::PermutationKernel;
using internal::PlanStage;
using internal::StagePlan;

constexpr uint64_t kBlock = 2048;
constexpr size_t kIndices = 8192;

void Use(uint64_t value) { asm volatile("" : : "r"(value)); }
// Makes the compiler believe that memory was read and written.
void UseMemory() { asm volatile("" : : : "memory"); }

template <class T>
T Require(absl::StatusOr<T> value) {
  if (!value.ok()) {
    std::fprintf(stderr, "index_bench: %s\n",
                 std::string(value.status().message()).c_str());
    std::exit(1);
  }
  return *std::move(value);
}

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
  for (const size_t batch : {2, 4, 8, 16, 64, 1024}) {
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

}  // namespace
}  // namespace poniente::bench

int main(int argc, char** argv) {
  using namespace poniente::bench;
  const int count = argc > 1 ? std::max(1, std::atoi(argv[1])) : 9;
  Rounds rounds;
  for (const uint64_t n :
       {1000ull, 65537ull, 1000003ull, 3400000000ull, 1000000000000ull}) {
    AddPermutation(n, &rounds);
    AddKernels(n, &rounds);
  }
  rounds.Run(count);
  rounds.Print();
}
