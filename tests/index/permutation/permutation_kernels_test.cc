// SPDX-License-Identifier: Apache-2.0
// Each variant of the batch form, called directly: all must give what single
// calls give, whichever of them the library would choose here.
#include "index/permutation/permutation_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "index/keyed_hash.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kKernelKey = 42;
constexpr size_t kLongest = 300;
constexpr uint64_t kUntouched = ~uint64_t{0};

const std::vector<uint64_t> kSizes = {
    65,   100,  127,  128,   129,   255,   256,     257,      300,
    1000, 1023, 1024, 65535, 65536, 65537, 1000003, 16777217, 3400000000};
const std::vector<uint64_t> kLargeSizes = {
    (uint64_t{1} << 32) - 1, uint64_t{1} << 32,       (uint64_t{1} << 32) + 1,
    1000000000000,           (uint64_t{1} << 62) + 1, (uint64_t{1} << 63) - 1,
    uint64_t{1} << 63};

std::vector<uint64_t> RandomKernelIndices(uint64_t n, size_t count) {
  std::mt19937_64 random(n);
  std::vector<uint64_t> indices(count);
  for (uint64_t& index : indices) index = random() % n;
  indices[0] = 0;
  indices[count / 2] = n - 1;
  return indices;
}

class PermutationKernelTest
    : public ::testing::TestWithParam<const PermutationKernel*> {
 protected:
  void SetUp() override {
    if (!IsSupported(*GetParam())) {
      GTEST_SKIP() << "this CPU cannot run the " << GetParam()->name
                   << " variant, which is left untested here";
    }
  }

  // Batches of every length, apart from and in place of their input, in the
  // middle of a buffer that must not change otherwise.
  void ExpectEveryLength(PermutationKernel::Function map, uint64_t n,
                         const std::vector<uint64_t>& in,
                         const std::vector<uint64_t>& expected) {
    const FeistelNetwork network = MakeFeistelNetwork(n, kKernelKey);
    for (size_t count = 0; count <= in.size(); ++count) {
      std::vector<uint64_t> apart(count + 2, kUntouched);
      ASSERT_EQ(map(network, n, in.data(), &apart[1], count), 0u);
      std::vector<uint64_t> in_place(count + 2, kUntouched);
      std::copy_n(in.begin(), count, &in_place[1]);
      ASSERT_EQ(map(network, n, &in_place[1], &in_place[1], count), 0u);
      for (const auto& out : {apart, in_place}) {
        ASSERT_EQ(out.front(), kUntouched);
        ASSERT_EQ(out.back(), kUntouched);
        ASSERT_TRUE(
            std::equal(out.begin() + 1, out.end() - 1, expected.begin()))
            << n << ", " << count << " entries";
      }
    }
  }

  void ExpectScalarResults(uint64_t n) {
    const Permutation order(n, kKernelKey);
    const std::vector<uint64_t> in = RandomKernelIndices(n, kLongest);
    std::vector<uint64_t> forward;
    std::vector<uint64_t> inverse;
    for (const uint64_t index : in) {
      forward.push_back(order.Forward(index));
      inverse.push_back(order.Inverse(index));
    }
    ASSERT_NO_FATAL_FAILURE(
        ExpectEveryLength(GetParam()->forward, n, in, forward));
    ASSERT_NO_FATAL_FAILURE(
        ExpectEveryLength(GetParam()->inverse, n, in, inverse));
  }
};

TEST_P(PermutationKernelTest, EqualsSingleCalls) {
  for (const uint64_t n : kSizes) {
    ASSERT_NO_FATAL_FAILURE(ExpectScalarResults(n));
  }
}

TEST_P(PermutationKernelTest, EqualsSingleCallsAtLargeSizes) {
  for (const uint64_t n : kLargeSizes) {
    ASSERT_NO_FATAL_FAILURE(ExpectScalarResults(n));
  }
}

TEST_P(PermutationKernelTest, EqualsSingleCallsInBatchesOfSeveralChunks) {
  for (const uint64_t n :
       {1000ull, 65537ull, 3400000000ull, 1000000000000ull}) {
    const Permutation order(n, kKernelKey);
    const FeistelNetwork network = MakeFeistelNetwork(n, kKernelKey);
    for (const size_t count : {1023, 1024, 1025, 2047, 2048, 5000}) {
      const std::vector<uint64_t> in = RandomKernelIndices(n, count);
      std::vector<uint64_t> out = in;
      ASSERT_EQ(GetParam()->forward(network, n, out.data(), out.data(), count),
                0u);
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(out[i], order.Forward(in[i])) << n << ' ' << i;
      }
      ASSERT_EQ(GetParam()->inverse(network, n, out.data(), out.data(), count),
                0u);
      ASSERT_TRUE(out == in) << n;
    }
  }
}

TEST_P(PermutationKernelTest, NamesAnEntryOutsideItsRange) {
  for (const uint64_t n : {uint64_t{1000}, uint64_t{1} << 32,
                           (uint64_t{1} << 32) + 1, uint64_t{1} << 63}) {
    const FeistelNetwork network = MakeFeistelNetwork(n, kKernelKey);
    for (const uint64_t bad : {n, n + 1, uint64_t{1} << 63, ~uint64_t{0}}) {
      if (bad < n) continue;
      for (const size_t at : {0, 1, 31, 32, 1023, 1024, 1999}) {
        std::vector<uint64_t> in = RandomKernelIndices(n, 2000);
        in[at] = bad;
        std::vector<uint64_t> out(in.size());
        EXPECT_EQ(
            GetParam()->forward(network, n, in.data(), out.data(), in.size()),
            bad);
        EXPECT_EQ(
            GetParam()->inverse(network, n, in.data(), in.data(), in.size()),
            bad);
      }
    }
  }
}

// Sizes of every number of bits, those just above a power of two among them:
// there, an index takes the most passes.
void ExpectTwoIndicesEach(PermutationKernel::EachFunction map, int least_bits,
                          int most_bits, const std::vector<uint64_t>& edges) {
  std::mt19937_64 random(9);
  std::vector<size_t> counts(kLongest + 1);
  std::iota(counts.begin(), counts.end(), 0);
  counts.insert(counts.end(), {2047, 2048, 2049, 2111, 2112, 5000});
  for (const size_t count : counts) {
    std::vector<uint64_t> sizes(count);
    std::vector<uint64_t> keys(count);
    std::vector<uint64_t> values[2];
    std::vector<uint64_t> expected[2];
    for (size_t i = 0; i < count; ++i) {
      const int bits =
          least_bits +
          static_cast<int>(random() %
                           static_cast<uint64_t>(most_bits - least_bits + 1));
      const uint64_t most = uint64_t{1} << bits;
      sizes[i] = most / 2 + 1 + random() % (most / 2);
      if (random() % 8 == 0) sizes[i] = most / 2 + 1;
      if (random() % 8 == 0) sizes[i] = edges[random() % edges.size()];
      keys[i] = random();
      const Permutation permutation(sizes[i], keys[i]);
      values[0].push_back(random() % sizes[i]);
      // A draw that is alone is both of a pair.
      values[1].push_back(random() % 4 == 0 ? values[0].back()
                                            : random() % sizes[i]);
      for (int j = 0; j < 2; ++j) {
        expected[j].push_back(permutation.Forward(values[j].back()));
      }
    }
    map(sizes.data(), keys.data(), values[0].data(), values[1].data(), count);
    ASSERT_EQ(values[0], expected[0]) << count;
    ASSERT_EQ(values[1], expected[1]) << count;
  }
}

TEST_P(PermutationKernelTest, KeysOfMany) {
  std::mt19937_64 random(10);
  for (const size_t count : {0, 1, 7, 8, 63, 64, 65, 1000}) {
    std::vector<uint64_t> keys(count);
    std::vector<uint64_t> words(count);
    std::vector<uint64_t> tagged(count);
    std::vector<uint64_t> added(count);
    for (size_t i = 0; i < count; ++i) {
      keys[i] = random();
      words[i] = random() >> random() % 64;
      tagged[i] = Derive(keys[i], kEraTag);
      added[i] = Derive(keys[i], kEraTag, words[i]);
    }
    GetParam()->derive(kEraTag.word(), keys.data(), count);
    EXPECT_EQ(keys, tagged) << count;
    GetParam()->add(words.data(), keys.data(), count);
    EXPECT_EQ(keys, added) << count;
  }
}

TEST_P(PermutationKernelTest, TwoIndicesEachOfManyOrders) {
  std::vector<uint64_t> edges = kSizes;
  edges.insert(edges.end(), {uint64_t{1} << 31, (uint64_t{1} << 31) + 1,
                             (uint64_t{1} << 32) - 1, uint64_t{1} << 32});
  for (const uint64_t size : edges) {
    ASSERT_TRUE(PermutationKernel::IsOfEach(size)) << size;
  }
  ExpectTwoIndicesEach(GetParam()->each, 7, 32, edges);
}

TEST_P(PermutationKernelTest, TwoIndicesEachOfManyWideOrders) {
  ExpectTwoIndicesEach(
      GetParam()->each_wide, 33, 63,
      {(uint64_t{1} << 32) + 1, uint64_t{1} << 33, (uint64_t{1} << 33) + 1,
       (uint64_t{1} << 62) + 1, (uint64_t{1} << 63) - 1, uint64_t{1} << 63});
}

INSTANTIATE_TEST_SUITE_P(Variants, PermutationKernelTest,
                         ::testing::ValuesIn(PermutationKernels().begin(),
                                             PermutationKernels().end()),
                         [](const auto& kernel) {
                           return std::string(kernel.param->name);
                         });

TEST(PermutationKernelsTest, TheBestIsTheLastThatThisCpuSupports) {
  const PermutationKernel* last = nullptr;
  for (const PermutationKernel* kernel : PermutationKernels()) {
    if (IsSupported(*kernel)) last = kernel;
  }
  EXPECT_EQ(&BestPermutationKernel(), last);
}

TEST(PermutationKernelsTest, ThePortableOneRunsEverywhere) {
  EXPECT_EQ(PermutationKernels().front()->name, std::string("portable"));
  EXPECT_TRUE(IsSupported(*PermutationKernels().front()));
}

#if defined(__x86_64__)
TEST(PermutationKernelsTest, BuildsForX86HaveAllVariants) {
  std::vector<std::string> names;
  for (const PermutationKernel* kernel : PermutationKernels()) {
    names.push_back(kernel->name);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("portable", "avx2", "avx512"));
}
#endif

}  // namespace
}  // namespace poniente::internal
