// SPDX-License-Identifier: Apache-2.0
#include "io/backend_policy.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kBatch = 64;

// A store of which a share is cached, as batches meet it. Copies of what is not
// cached fault, reads past the cache cache nothing.
class Store {
 public:
  Store(double share, bool fits, uint64_t batch = kBatch)
      : resident(share), fits_(fits), batch_(batch) {}

  // How often each backend was used.
  std::map<IoBackend, int> Run(BackendPolicy* policy, int batches) {
    std::map<IoBackend, int> used;
    for (int i = 0; i < batches; ++i) {
      const IoBackend backend = policy->Next();
      ++used[backend];
      const uint64_t hits = Hits();
      if (backend == IoBackend::kBuffered) {
        policy->ReportBuffered(batch_, hits, fits_);
      } else if (backend == IoBackend::kMmap) {
        policy->ReportMapped(batch_, batch_ - hits);
      }
    }
    return used;
  }

  double resident;

 private:
  uint64_t Hits() {
    return std::binomial_distribution<uint64_t>(batch_, resident)(random_);
  }

  const bool fits_;
  const uint64_t batch_;
  std::mt19937_64 random_{testing::TestSeed(5)};
};

TEST(BackendPolicyTest, WhatIsCachedIsCopiedFromAMapping) {
  for (const uint64_t batch : {1, 7, 64, 500}) {
    BackendPolicy policy;
    Store store(1.0, /*fits=*/false, batch);
    store.Run(&policy, static_cast<int>(1 + 256 * kBatch / batch));
    EXPECT_EQ(store.Run(&policy, 1000)[IoBackend::kMmap], 1000) << batch;
  }
}

TEST(BackendPolicyTest, WhatIsColdAndLargerThanMemoryIsReadPastTheCache) {
  for (const uint64_t batch : {1, 7, 64, 500}) {
    BackendPolicy policy;
    Store store(0.02, /*fits=*/false, batch);
    store.Run(&policy, static_cast<int>(1 + 256 * kBatch / batch));
    const int direct = store.Run(&policy, 640)[IoBackend::kDirect];
    EXPECT_EQ(direct, 630) << batch;  // and 10 looks at the cache
  }
}

TEST(BackendPolicyTest, WhatFitsIsNeverReadPastTheCache) {
  BackendPolicy policy;
  Store store(0.0, /*fits=*/true);
  EXPECT_EQ(store.Run(&policy, 5000)[IoBackend::kBuffered], 5000);
}

TEST(BackendPolicyTest, WhatIsHalfCachedIsReadThroughTheCache) {
  for (const double resident : {0.3, 0.5, 0.7, 0.9}) {
    BackendPolicy policy;
    Store store(resident, /*fits=*/false);
    store.Run(&policy, 100);
    EXPECT_GE(store.Run(&policy, 1000)[IoBackend::kBuffered], 990) << resident;
  }
}

TEST(BackendPolicyTest, OneBadBatchEndsTheMapping) {
  BackendPolicy policy;
  Store store(1.0, /*fits=*/false);
  store.Run(&policy, 100);
  ASSERT_EQ(policy.mode(), IoBackend::kMmap);
  policy.ReportMapped(kBatch, 2);
  EXPECT_EQ(policy.mode(), IoBackend::kMmap);
  policy.ReportMapped(kBatch, 3);
  EXPECT_EQ(policy.mode(), IoBackend::kBuffered);
}

// Batches of one read fault once at most, and never look bad by themselves.
TEST(BackendPolicyTest, ManySmallBadBatchesEndTheMapping) {
  BackendPolicy policy;
  Store store(1.0, /*fits=*/false, /*batch=*/1);
  store.Run(&policy, 1000);
  ASSERT_EQ(policy.mode(), IoBackend::kMmap);
  store.resident = 0.3;
  EXPECT_LT(store.Run(&policy, 1000)[IoBackend::kMmap], 60);
}

// Everything may change while a run lasts.
TEST(BackendPolicyTest, FollowsTheCacheFromAnyStateToAnyOther) {
  const struct {
    double resident;
    IoBackend wanted;
  } states[] = {{0.0, IoBackend::kDirect},
                {0.5, IoBackend::kBuffered},
                {1.0, IoBackend::kMmap}};
  for (const auto& from : states) {
    for (const auto& to : states) {
      BackendPolicy policy;
      Store store(from.resident, /*fits=*/false);
      store.Run(&policy, 256);
      ASSERT_EQ(policy.mode(), from.wanted) << from.resident;
      store.resident = to.resident;
      // A read past the cache sees it in every 64th batch only.
      store.Run(&policy, from.wanted == IoBackend::kDirect ? 1024 : 256);
      EXPECT_EQ(policy.mode(), to.wanted)
          << from.resident << " to " << to.resident;
    }
  }
}

TEST(BackendPolicyTest, WhatMayNotBeMappedIsFollowedAllTheSame) {
  BackendPolicy policy;
  const auto read = [&policy](int batches, uint64_t hits) {
    for (int i = 0; i < batches; ++i) {
      if (policy.Next() != IoBackend::kBuffered) continue;
      policy.ReportBuffered(kBatch, hits, /*fits=*/false, /*may_map=*/false);
    }
    return policy.mode();
  };
  EXPECT_EQ(read(200, kBatch), IoBackend::kBuffered);
  EXPECT_EQ(read(200, 0), IoBackend::kDirect);
  EXPECT_EQ(read(2000, kBatch), IoBackend::kBuffered);
}

// overlayfs, for one: whatever reads say, only faults tell.
TEST(BackendPolicyTest, WhereHitsTellNothingCopiesAreTried) {
  const struct {
    double resident;
    bool fits;
    IoBackend wanted;
  } cases[] = {{1.0, false, IoBackend::kMmap},
               {0.5, false, IoBackend::kBuffered},
               {0.0, false, IoBackend::kDirect},
               {0.0, true, IoBackend::kBuffered}};
  for (const auto& one : cases) {
    BackendPolicy policy(/*hits_tell=*/false);
    std::mt19937_64 random(testing::TestSeed(6));
    int mapped = 0;
    for (int i = 0; i < 256; ++i) {
      if (policy.Next() == IoBackend::kMmap) {
        ++mapped;
        const uint64_t hits =
            std::binomial_distribution<uint64_t>(kBatch, one.resident)(random);
        policy.ReportMapped(kBatch, kBatch - hits, one.fits);
      } else {
        policy.ReportBuffered(kBatch, random() % (kBatch + 1), one.fits);
      }
    }
    EXPECT_EQ(policy.mode(), one.wanted) << one.resident;
    if (one.wanted != IoBackend::kMmap) {
      EXPECT_LE(mapped, 11);
    }
  }
}

TEST(BackendPolicyTest, EmptyBatchesSayNothing) {
  BackendPolicy policy;
  for (int i = 0; i < 1000; ++i) policy.ReportBuffered(0, 0, false);
  EXPECT_EQ(policy.mode(), IoBackend::kBuffered);
}

}  // namespace
}  // namespace poniente::internal
