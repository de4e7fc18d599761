// SPDX-License-Identifier: Apache-2.0
#include "c_api/boundary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <thread>

#include "absl/status/status.h"
#include "poniente/poniente_c.h"
#include "tests/c_api/c_api_fixture.h"

namespace poniente::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(BoundaryTest, ExceptionsBecomeCodes) {
  using internal::AtBoundary;
  EXPECT_ERROR(AtBoundary([]() -> absl::Status { throw std::bad_alloc(); }),
               RESOURCE_EXHAUSTED, HasSubstr("out of memory"));
  EXPECT_ERROR(
      AtBoundary([]() -> absl::Status { throw std::logic_error("a bug"); }),
      INTERNAL, HasSubstr("a bug"));
  EXPECT_ERROR(AtBoundary([]() -> absl::Status { throw 7; }), INTERNAL,
               HasSubstr("unknown"));
}

TEST(BoundaryTest, CodesAreNumberedAndNamedAsAbseils) {
  for (int32_t code = PONIENTE_OK; code <= PONIENTE_UNAUTHENTICATED; ++code) {
    EXPECT_EQ(poniente_code_name(code),
              absl::StatusCodeToString(static_cast<absl::StatusCode>(code)));
  }
  EXPECT_STREQ(poniente_code_name(17), "UNKNOWN");
  EXPECT_STREQ(poniente_code_name(-1), "UNKNOWN");
}

#define EXPECT_NULL_ERROR(name, call) \
  EXPECT_ERROR(call, INVALID_ARGUMENT, HasSubstr("'" name "' must not be null"))

TEST_F(CApiTest, NullForALoaderOrItsResultsIsAnError) {
  const LoaderPtr opened = Open();
  poniente_loader* const loader = opened.get();
  poniente_loader* const none = nullptr;
  poniente_loader* made;
  poniente_batch* batch;
  poniente_step step = {};
  poniente_run run = {};
  poniente_weight weight;
  poniente_source source;
  char* text;
  uint64_t number;
  EXPECT_NULL_ERROR("options", poniente_options_init(nullptr, 72));
  EXPECT_NULL_ERROR("options",
                    poniente_options_ranks_from_environment(nullptr));
  EXPECT_NULL_ERROR("path", poniente_loader_open(nullptr, nullptr, &made));
  EXPECT_NULL_ERROR("loader", poniente_loader_open("x", nullptr, nullptr));
  EXPECT_NULL_ERROR("text",
                    poniente_loader_open_text(nullptr, "", "", nullptr, &made));
  EXPECT_NULL_ERROR("loader",
                    poniente_loader_open_text("", "", "", nullptr, nullptr));
  EXPECT_NULL_ERROR("eval",
                    poniente_loader_open_eval("x", nullptr, nullptr, &made));
  EXPECT_NULL_ERROR("eval", poniente_loader_open_eval_text("", "", "", nullptr,
                                                           nullptr, &made));
  EXPECT_NULL_ERROR("loader", poniente_loader_next(none, &batch));
  EXPECT_NULL_ERROR("batch", poniente_loader_next(loader, nullptr));
  EXPECT_NULL_ERROR("loader", poniente_loader_stop(none));
  EXPECT_NULL_ERROR("loader", poniente_loader_seek(none, 0));
  EXPECT_NULL_ERROR("loader", poniente_loader_next_step(none, &number));
  EXPECT_NULL_ERROR("step", poniente_loader_next_step(loader, nullptr));
  EXPECT_NULL_ERROR("loader", poniente_loader_state(none, &text));
  EXPECT_NULL_ERROR("state", poniente_loader_state(loader, nullptr));
  EXPECT_NULL_ERROR("loader", poniente_loader_state_at(none, 0, &text));
  EXPECT_NULL_ERROR("state", poniente_loader_state_at(loader, 0, nullptr));
  EXPECT_NULL_ERROR("loader", poniente_loader_resume(none, ""));
  EXPECT_NULL_ERROR("state", poniente_loader_resume(loader, nullptr));
  EXPECT_NULL_ERROR("loader", poniente_loader_run(none, &run));
  EXPECT_NULL_ERROR("run", poniente_loader_run(loader, nullptr));
  EXPECT_NULL_ERROR("loader", poniente_loader_step(none, 0, &step));
  EXPECT_NULL_ERROR("info", poniente_loader_step(loader, 0, nullptr));
  EXPECT_NULL_ERROR("loader", poniente_loader_weights(none, 0, 0, 1, &weight));
  EXPECT_NULL_ERROR("weights",
                    poniente_loader_weights(loader, 0, 0, 1, nullptr));
  EXPECT_NULL_ERROR("loader", poniente_loader_sources(none, 0, 1, &source));
  EXPECT_NULL_ERROR("sources", poniente_loader_sources(loader, 0, 1, nullptr));
  EXPECT_NULL_ERROR("loader", poniente_loader_metrics(none, nullptr, &text));
  EXPECT_NULL_ERROR("text", poniente_loader_metrics(loader, nullptr, nullptr));
}

TEST_F(CApiTest, NullForABatchOrItsResultsIsAnError) {
  const BatchPtr taken = Next(Open());
  poniente_batch* const batch = taken.get();
  poniente_batch* const none = nullptr;
  poniente_step step = {};
  poniente_tensor tensor = {};
  poniente_sample sample;
  DLManagedTensor* shared;
  size_t count;
  int32_t device;
  double value;
  EXPECT_NULL_ERROR("batch", poniente_batch_step(none, &step));
  EXPECT_NULL_ERROR("info", poniente_batch_step(batch, nullptr));
  EXPECT_NULL_ERROR("batch", poniente_batch_number(none, "x", &value));
  EXPECT_NULL_ERROR("name", poniente_batch_number(batch, nullptr, &value));
  EXPECT_NULL_ERROR("value", poniente_batch_number(batch, "x", nullptr));
  EXPECT_NULL_ERROR("batch", poniente_batch_samples(none, 0, 1, &sample));
  EXPECT_NULL_ERROR("samples", poniente_batch_samples(batch, 0, 1, nullptr));
  EXPECT_NULL_ERROR("batch", poniente_batch_tensor(none, "x", &tensor));
  EXPECT_NULL_ERROR("name", poniente_batch_tensor(batch, nullptr, &tensor));
  EXPECT_NULL_ERROR("tensor", poniente_batch_tensor(batch, "tokens", nullptr));
  EXPECT_NULL_ERROR("batch", poniente_batch_num_tensors(none, &count));
  EXPECT_NULL_ERROR("count", poniente_batch_num_tensors(batch, nullptr));
  EXPECT_NULL_ERROR("batch", poniente_batch_tensor_at(none, 0, &tensor));
  EXPECT_NULL_ERROR("tensor", poniente_batch_tensor_at(batch, 0, nullptr));
  EXPECT_NULL_ERROR("batch", poniente_batch_device(none, &device, &device));
  EXPECT_NULL_ERROR("device_type",
                    poniente_batch_device(batch, nullptr, &device));
  EXPECT_NULL_ERROR("device_ordinal",
                    poniente_batch_device(batch, &device, nullptr));
  EXPECT_NULL_ERROR("batch", poniente_batch_wait_on(none, nullptr));
  EXPECT_NULL_ERROR("batch", poniente_batch_wait(none));
  EXPECT_NULL_ERROR("batch",
                    poniente_batch_dlpack(none, "tokens", 0, nullptr, &shared));
  EXPECT_NULL_ERROR("name",
                    poniente_batch_dlpack(batch, nullptr, 0, nullptr, &shared));
  EXPECT_NULL_ERROR(
      "tensor", poniente_batch_dlpack(batch, "tokens", 0, nullptr, nullptr));
}

TEST(NullTest, IsLetPassWhereSomethingIsReleased) {
  poniente_text_free(nullptr);
  poniente_batch_release(nullptr);
  poniente_loader_close(nullptr);
  poniente_dlpack_release(nullptr);
}

TEST_F(CApiTest, NothingIsWrittenBeyondStructSize) {
  const BatchPtr batch = Next(Open());
  struct {
    poniente_tensor tensor;
    char after = 7;
  } mine;
  mine.tensor.struct_size = sizeof mine.tensor;
  ASSERT_DONE(poniente_batch_tensor(batch.get(), "tokens", &mine.tensor));
  EXPECT_EQ(mine.after, 7);
  EXPECT_EQ(mine.tensor.struct_size, sizeof mine.tensor);
  // A program that was built before num_weights was added.
  poniente_step old = {};
  old.struct_size = offsetof(poniente_step, num_weights);
  old.num_weights = 77;
  ASSERT_DONE(poniente_batch_step(batch.get(), &old));
  EXPECT_EQ(old.num_samples, 6u);
  EXPECT_EQ(old.num_weights, 77u);
  poniente_tensor unset = {};
  EXPECT_ERROR(poniente_batch_tensor(batch.get(), "tokens", &unset),
               INVALID_ARGUMENT, HasSubstr("sizeof(poniente_tensor)"));
}

TEST(LastErrorTest, IsOfTheThreadAndStaysWhenACallSucceeds) {
  std::thread([] {
    EXPECT_STREQ(poniente_last_error(), "");
    EXPECT_EQ(poniente_loader_stop(nullptr), PONIENTE_INVALID_ARGUMENT);
    Options();
    EXPECT_THAT(poniente_last_error(), HasSubstr("'loader'"));
  }).join();
}

TEST(VersionTest, IsTheLibrarys) {
  EXPECT_EQ(poniente_abi_version(), uint32_t{PONIENTE_ABI_VERSION});
  EXPECT_THAT(poniente_version(), MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

// Programs that were built before depend on these: append only, and raise
// PONIENTE_ABI_VERSION for anything else.
TEST(AbiTest, StructsLieAsInTheFirstVersion) {
  EXPECT_EQ(sizeof(poniente_options), 88u);
  EXPECT_EQ(offsetof(poniente_options, ranks), 12u);
  EXPECT_EQ(offsetof(poniente_options, start_step), 16u);
  EXPECT_EQ(offsetof(poniente_options, token_type), 24u);
  EXPECT_EQ(offsetof(poniente_options, device_type), 28u);
  EXPECT_EQ(offsetof(poniente_options, device_ordinal), 32u);
  EXPECT_EQ(offsetof(poniente_options, prefetch_batches), 36u);
  EXPECT_EQ(offsetof(poniente_options, prefetch_bytes), 40u);
  EXPECT_EQ(offsetof(poniente_options, max_held), 48u);
  EXPECT_EQ(offsetof(poniente_options, waits_for_held), 52u);
  EXPECT_EQ(offsetof(poniente_options, report_every_steps), 56u);
  EXPECT_EQ(offsetof(poniente_options, tensors), 64u);
  EXPECT_EQ(offsetof(poniente_options, context_rank), 72u);
  EXPECT_EQ(offsetof(poniente_options, context_ranks), 76u);
  EXPECT_EQ(offsetof(poniente_options, context_split), 80u);
  EXPECT_EQ(sizeof(poniente_run), 80u);
  EXPECT_EQ(offsetof(poniente_run, order_version), 76u);
  EXPECT_EQ(sizeof(poniente_step), 88u);
  EXPECT_EQ(offsetof(poniente_step, step), 8u);
  EXPECT_EQ(offsetof(poniente_step, first_sample), 16u);
  EXPECT_EQ(offsetof(poniente_step, batch_size), 24u);
  EXPECT_EQ(offsetof(poniente_step, num_samples), 32u);
  EXPECT_EQ(offsetof(poniente_step, seq_len), 40u);
  EXPECT_EQ(offsetof(poniente_step, lr_scale), 56u);
  EXPECT_EQ(offsetof(poniente_step, num_changes), 76u);
  EXPECT_EQ(offsetof(poniente_step, num_weights), 80u);
  EXPECT_EQ(sizeof(poniente_weight), 16u);
  EXPECT_EQ(sizeof(poniente_micro_batch), 16u);
  EXPECT_EQ(sizeof(poniente_source), 32u);
  EXPECT_EQ(sizeof(poniente_sample), 32u);
  EXPECT_EQ(sizeof(poniente_tensor), 56u);
  EXPECT_EQ(offsetof(poniente_tensor, host), 40u);
}

}  // namespace
}  // namespace poniente::testing
