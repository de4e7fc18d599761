// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "poniente/poniente_c.h"
#include "tests/c_api/c_api_fixture.h"

namespace poniente::testing {
namespace {

using ::testing::HasSubstr;

struct BadOption {
  void (*set)(poniente_options*);
  const char* words;
};

class BadOptionTest : public CApiTest,
                      public ::testing::WithParamInterface<BadOption> {};

TEST_P(BadOptionTest, IsNamedWithItsValue) {
  poniente_options options = Options();
  GetParam().set(&options);
  LoaderPtr loader;
  EXPECT_ERROR(OpenText(kRun, &options, &loader), INVALID_ARGUMENT,
               HasSubstr(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadOptionTest,
    ::testing::Values(
        BadOption{[](auto* o) { o->struct_size = 0; }, "struct_size"},
        BadOption{[](auto* o) { o->struct_size = 71; }, "struct_size"},
        BadOption{[](auto* o) { o->context_split = 4; }, "context_split must"},
        BadOption{[](auto* o) { o->context_rank = 1; },
                  "context-parallel rank 1"},
        BadOption{[](auto* o) { o->struct_size = SIZE_MAX; }, "struct_size"},
        BadOption{[](auto* o) { o->rank = -2; }, "rank must be >= -1, got -2"},
        BadOption{[](auto* o) { o->rank = 1; }, "rank"},
        BadOption{[](auto* o) { o->ranks = -1; }, "ranks must"},
        BadOption{[](auto* o) { o->start_step = -2; }, "start_step must"},
        BadOption{[](auto* o) { o->token_type = 9; }, "token_type must"},
        BadOption{[](auto* o) { o->token_type = PONIENTE_F32; },
                  "PONIENTE_U8 to PONIENTE_I64, got 6"},
        BadOption{[](auto* o) { o->device_type = 3; }, "device_type must"},
        BadOption{[](auto* o) {
                    o->device_type = PONIENTE_DEVICE_CUDA;
                    o->device_ordinal = -1;
                  },
                  "device_ordinal must"},
        BadOption{[](auto* o) { o->prefetch_batches = 1u << 20; },
                  "prefetch_batches"},
        BadOption{[](auto* o) { o->max_held = -2; }, "max_held must"},
        BadOption{[](auto* o) { o->max_held = INT32_MAX; }, "max_held"},
        BadOption{[](auto* o) { o->tensors = "labels,mask"; }, "'mask'"},
        BadOption{[](auto* o) { o->waits_for_held = 2; },
                  "waits_for_held must be -1, 0 or 1, got 2"},
        BadOption{[](auto* o) { o->waits_for_held = -2; },
                  "waits_for_held must be -1, 0 or 1, got -2"}));

// A program that was built with a header without the newest fields.
TEST_F(CApiTest, FieldsOfThisHeaderMayBeMissing) {
  poniente_options options;
  std::memset(&options, 0xff, sizeof options);
  ASSERT_DONE(poniente_options_init(&options, 72));
  options.context_split = 99;  // lies behind what the caller knows
  Open(kRun, &options);
}

TEST_F(CApiTest, ContextParallelRanksHaveTheirTokens) {
  poniente_options options;
  ASSERT_DONE(poniente_options_init(&options, sizeof options));
  const LoaderPtr whole_loader = Open(kRun, &options);
  const BatchPtr all = Next(whole_loader);
  options.context_rank = 1;
  options.context_ranks = 2;
  options.context_split = PONIENTE_CONTEXT_CONTIGUOUS;
  const LoaderPtr half_loader = Open(kRun, &options);
  const BatchPtr half = Next(half_loader);
  poniente_tensor whole = {};
  whole.struct_size = sizeof whole;
  poniente_tensor part = {};
  part.struct_size = sizeof part;
  ASSERT_DONE(poniente_batch_tensor(all.get(), "tokens", &whole));
  ASSERT_DONE(poniente_batch_tensor(half.get(), "tokens", &part));
  ASSERT_EQ(part.shape[0], whole.shape[0]);
  ASSERT_EQ(part.shape[1] * 2, whole.shape[1]);
  const auto* const a = static_cast<const uint32_t*>(whole.host);
  const auto* const b = static_cast<const uint32_t*>(part.host);
  for (int64_t i = 0; i < part.shape[0]; ++i) {
    for (int64_t t = 0; t < part.shape[1]; ++t) {
      ASSERT_EQ(b[i * part.shape[1] + t],
                a[i * whole.shape[1] + part.shape[1] + t]);
    }
  }
}

// What a program sees that was built with a later header.
struct LaterOptions {
  poniente_options known;
  uint64_t added;
};

TEST_F(CApiTest, FieldsOfALaterHeaderAreZeroOrRefused) {
  LaterOptions options;
  std::memset(&options, 0xff, sizeof options);
  ASSERT_DONE(poniente_options_init(&options.known, sizeof options));
  EXPECT_EQ(options.known.struct_size, sizeof options);
  EXPECT_EQ(options.added, 0u);
  Open(kRun, &options.known);
  options.added = 1;
  LoaderPtr loader;
  EXPECT_ERROR(OpenText(kRun, &options.known, &loader), INVALID_ARGUMENT,
               HasSubstr("does not know"));
}

TEST_F(CApiTest, OptionsReachTheLoader) {
  poniente_options options = Options();
  options.token_type = PONIENTE_I64;
  options.prefetch_batches = 1;
  options.prefetch_bytes = 1;
  const BatchPtr batch = Next(Open(kRun, &options));
  const poniente_tensor tensor = Tokens(batch.get());
  EXPECT_EQ(tensor.dtype, PONIENTE_I64);
  const std::vector<uint32_t> want = IdsOf(Next(Open()).get());
  const auto* const ids = static_cast<const int64_t*>(tensor.host);
  EXPECT_EQ(std::vector<uint32_t>(ids, ids + want.size()), want);
}

TEST_F(CApiTest, WaitsForHeldIsTheConfigurationsOrThatOfTheOptions) {
  for (const int32_t waits : {-1, 0, 1}) {
    poniente_options options = Options();
    options.max_held = 0;
    options.waits_for_held = waits;
    LoaderPtr loader;
    ASSERT_DONE(OpenText(kRun, &options, &loader));
    const BatchPtr held = Next(loader);
    poniente_batch* batch = nullptr;
    if (waits == 1) {
      ASSERT_DONE(poniente_loader_try_next(loader.get(), &batch));
    } else {
      EXPECT_ERROR(poniente_loader_try_next(loader.get(), &batch),
                   RESOURCE_EXHAUSTED, HasSubstr("max_held"));
    }
    EXPECT_EQ(batch, nullptr);
  }
}

TEST_F(CApiTest, RanksComeFromTheEnvironment) {
  ::setenv("RANK", "2", 1);
  ::setenv("WORLD_SIZE", "5", 1);
  poniente_options options = Options();
  ASSERT_DONE(poniente_options_ranks_from_environment(&options));
  EXPECT_EQ(options.rank, 2);
  EXPECT_EQ(options.ranks, 5);
  ::setenv("RANK", "5", 1);
  EXPECT_ERROR(poniente_options_ranks_from_environment(&options),
               INVALID_ARGUMENT, HasSubstr("WORLD_SIZE"));
  ::unsetenv("RANK");
  ::unsetenv("WORLD_SIZE");
}

}  // namespace
}  // namespace poniente::testing
