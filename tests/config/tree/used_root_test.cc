// SPDX-License-Identifier: Apache-2.0
// Roots that use a node, and roots that choose among the samples of a mixture.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/config.h"
#include "poniente/run.h"
#include "poniente/run_trace.h"
#include "poniente/token_store.h"
#include "poniente/transforms.h"
#include "tests/config/small_stores.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Not;
using testing::SmallStores;
using testing::StatusIs;

using Tokens = DatasetPtr<TokenWindow>;

constexpr auto kIsInvalid = absl::StatusCode::kInvalidArgument;

class UsedRootTest : public SmallStores {
 protected:
  absl::StatusOr<Config> Parse(const std::string& data) {
    return Config::Parse(absl::StrCat("[data]\nseed = 3\nsteps = 10\n"
                                      "batch_size = 8\nseq_len = 20\n",
                                      data),
                         "t.toml", dir_.path());
  }
  Tokens Windows() {
    return TokenStore::Open(dir_.path("a")).value()->Windows(20).value();
  }
};

MATCHER_P(ReadsAs, tree, "has the fingerprint of the tree in C++") {
  return arg.status().ok() &&
         arg->dataset()->fingerprint() == tree->WithSeed(3)->fingerprint();
}

// The items of the first ten steps, in order of their numbers.
std::vector<uint64_t> SortedItems(const Config& config) {
  std::vector<uint64_t> items;
  const RunTrace trace(*config.dataset(), config.schedule());
  for (uint64_t step = 0; step < 10; ++step) {
    const auto samples = trace.Resolve(step);
    EXPECT_THAT(samples, IsOk());
    for (const SampleOrigin& sample : samples.value()) {
      items.push_back(sample.item);
    }
  }
  std::sort(items.begin(), items.end());
  return items;
}

TEST_F(UsedRootTest, SizesCountWhatTheRootHoldsOut) {
  const auto with = [&](const std::string& root, const std::string& source) {
    return Parse(absl::StrCat("weight_rule = 'sizes'\n", root,
                              "[data.mixture]\na = { path = 'a', weight = 1",
                              source, " }\nc = { path = 'c', weight = 1",
                              source, " }\n"));
  };
  const std::string stated = "hold_out = { windows = 0.1 }";
  const auto at_root = with(stated + "\n", "");
  const auto at_sources = with("", ", " + stated);
  ASSERT_THAT(at_root, IsOk());
  ASSERT_THAT(at_sources, IsOk());
  EXPECT_THAT(at_root->CheckLoader(), IsOk());
  EXPECT_THAT(at_root->OpenLoader(), IsOk());
  EXPECT_EQ(at_root->dataset()->fingerprint(),
            at_sources->dataset()->fingerprint());
}

}  // namespace
}  // namespace poniente
