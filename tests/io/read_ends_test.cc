// SPDX-License-Identifier: Apache-2.0
#include "io/read_ends.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace poniente::internal {
namespace {

void AddReads(uint64_t count, uint64_t hits, bool hit_is_known,
              std::vector<PendingRead>* reads) {
  for (uint64_t i = 0; i < count; ++i) {
    reads->emplace_back(nullptr, 0, IoBackend::kBuffered, 0, 1, 1, nullptr);
    reads->back().hit_is_known = hit_is_known;
    reads->back().hit = i < hits;
  }
}

Hits Count(uint64_t known, uint64_t known_hits, uint64_t others,
           uint64_t other_hits) {
  std::vector<PendingRead> reads;
  AddReads(known, known_hits, true, &reads);
  AddReads(others, other_hits, false, &reads);
  return CountHits(reads);
}

TEST(CountHitsTest, OfCachedReadsAllAreHits) {
  const Hits hits = Count(8, 8, 56, 56);
  EXPECT_EQ(hits.known_reads, 8u);
  EXPECT_EQ(hits.known, 8u);
  EXPECT_EQ(hits.all, 64u);
}

// The disk was faster than the long call.
TEST(CountHitsTest, WhatALongCallCompletesIsNoHitWhereNoneIsKnown) {
  const Hits hits = Count(8, 0, 56, 56);
  EXPECT_EQ(hits.known, 0u);
  EXPECT_EQ(hits.all, 0u);
}

TEST(CountHitsTest, LongCallsHaveNoGreaterShareThanShortOnes) {
  EXPECT_EQ(Count(8, 2, 56, 56).all, 2u + 14u);
  EXPECT_EQ(Count(8, 2, 56, 5).all, 2u + 5u);
  EXPECT_EQ(Count(3, 1, 1, 1).all, 1u + 1u) << "rounded up";
}

TEST(CountHitsTest, WithoutShortCallsTheyCountAsTheyAre) {
  EXPECT_EQ(Count(0, 0, 10, 7).all, 7u);
  EXPECT_EQ(Count(0, 0, 10, 7).known_reads, 0u);
}

}  // namespace
}  // namespace poniente::internal
