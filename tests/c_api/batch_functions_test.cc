// SPDX-License-Identifier: Apache-2.0
#include <dlpack/dlpack.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "poniente/poniente_c.h"
#include "tests/c_api/c_api_fixture.h"

namespace poniente::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(CApiTest, WhatABatchDoesNotHaveIsSaid) {
  const BatchPtr batch = Next(Open());
  poniente_tensor tensor = {};
  tensor.struct_size = sizeof tensor;
  EXPECT_ERROR(poniente_batch_tensor(batch.get(), "label", &tensor),
               INVALID_ARGUMENT,
               AllOf(HasSubstr("'label'"), HasSubstr("loss_mask")));
  EXPECT_ERROR(poniente_batch_tensor(batch.get(), "labels", &tensor),
               FAILED_PRECONDITION, HasSubstr("labels"));
  size_t count = 0;
  ASSERT_DONE(poniente_batch_num_tensors(batch.get(), &count));
  for (size_t i = 0; i < count; ++i) {
    ASSERT_DONE(poniente_batch_tensor_at(batch.get(), i, &tensor));
    poniente_tensor by_name = {};
    by_name.struct_size = sizeof by_name;
    ASSERT_DONE(poniente_batch_tensor(batch.get(), tensor.name, &by_name));
    EXPECT_EQ(tensor.host, by_name.host);
  }
  EXPECT_ERROR(poniente_batch_tensor_at(batch.get(), count, &tensor),
               OUT_OF_RANGE, HasSubstr("no tensor number"));
  double value;
  EXPECT_ERROR(poniente_batch_number(batch.get(), "rope", &value), NOT_FOUND,
               HasSubstr("'rope'"));
  poniente_sample samples[7];
  EXPECT_ERROR(poniente_batch_samples(batch.get(), 0, 7, samples), OUT_OF_RANGE,
               HasSubstr("the batch has 6"));
  int32_t type = 0;
  int32_t ordinal = -1;
  ASSERT_DONE(poniente_batch_device(batch.get(), &type, &ordinal));
  EXPECT_EQ(type, PONIENTE_DEVICE_HOST);
  EXPECT_EQ(ordinal, 0);
  ASSERT_DONE(poniente_batch_wait(batch.get()));
  EXPECT_ERROR(poniente_batch_wait_on(batch.get(), nullptr),
               FAILED_PRECONDITION, HasSubstr("host"));
  DLManagedTensor* managed;
  EXPECT_ERROR(
      poniente_batch_dlpack(batch.get(), "tokens", 1, nullptr, &managed),
      FAILED_PRECONDITION, HasSubstr("host"));
  EXPECT_ERROR(poniente_batch_dlpack(batch.get(), "x", 0, nullptr, &managed),
               INVALID_ARGUMENT, HasSubstr("'x'"));
  EXPECT_EQ(managed, nullptr);
}

TEST_F(CApiTest, ABatchHasTheTensorsAskedFor) {
  poniente_options options = Options();
  options.token_type = PONIENTE_I64;
  options.tensors = "labels,document_ids,loss_weights";
  const BatchPtr batch = Next(Open(kRun, &options));
  size_t count = 0;
  ASSERT_DONE(poniente_batch_num_tensors(batch.get(), &count));
  EXPECT_EQ(count, 4u);
  poniente_tensor labels = {};
  labels.struct_size = sizeof labels;
  ASSERT_DONE(poniente_batch_tensor(batch.get(), "labels", &labels));
  EXPECT_EQ(labels.dtype, PONIENTE_I64);
  const auto* const ids = static_cast<const int64_t*>(Tokens(batch.get()).host);
  const auto* const next = static_cast<const int64_t*>(labels.host);
  EXPECT_EQ(next[0], ids[1]);
  EXPECT_EQ(next[19], -100);
  poniente_tensor weights = {};
  weights.struct_size = sizeof weights;
  ASSERT_DONE(poniente_batch_tensor(batch.get(), "loss_weights", &weights));
  EXPECT_EQ(weights.dtype, PONIENTE_F32);
  EXPECT_EQ(weights.ndim, 1);
  EXPECT_EQ(weights.shape[0], 6);
  EXPECT_EQ(weights.shape[1], 1);
  EXPECT_EQ(static_cast<const float*>(weights.host)[5], 1);
  DLManagedTensor* shared;
  ASSERT_DONE(
      poniente_batch_dlpack(batch.get(), "labels", 0, nullptr, &shared));
  EXPECT_EQ(shared->dl_tensor.data, labels.host);
  poniente_dlpack_release(shared);
}

TEST_F(CApiTest, BatchesOutliveTheirLoader) {
  LoaderPtr loader = Open();
  const BatchPtr batch = Next(loader);
  const std::vector<uint32_t> ids = IdsOf(batch.get());
  loader.reset();
  EXPECT_EQ(IdsOf(batch.get()), ids);
  EXPECT_STREQ(StepOf(batch.get()).stage_name, "");
}

TEST_F(CApiTest, TensorsHandedOnOutliveBatchAndLoader) {
  LoaderPtr loader = Open();
  BatchPtr batch = Next(loader);
  const std::vector<uint32_t> ids = IdsOf(batch.get());
  DLManagedTensor* tensor;
  ASSERT_DONE(
      poniente_batch_dlpack(batch.get(), "tokens", 0, nullptr, &tensor));
  batch.reset();
  loader.reset();
  const DLTensor& from = tensor->dl_tensor;
  ASSERT_EQ(from.shape[0] * from.shape[1], 120);
  EXPECT_EQ(from.device.device_type, kDLCPU);
  EXPECT_EQ(std::memcmp(from.data, ids.data(), 120 * 4), 0);
  std::thread([tensor] { tensor->deleter(tensor); }).join();
}

TEST_F(CApiTest, ARankWithoutSamplesHasEmptyTensors) {
  poniente_options options = Options();
  options.rank = 0;
  options.ranks = 7;
  const BatchPtr batch = Next(Open(kRun, &options));
  const poniente_tensor tensor = Tokens(batch.get());
  EXPECT_EQ(tensor.shape[0], 0);
  EXPECT_EQ(tensor.shape[1], 20);
  ASSERT_DONE(poniente_batch_samples(batch.get(), 0, 0, nullptr));
  DLManagedTensor* managed;
  ASSERT_DONE(
      poniente_batch_dlpack(batch.get(), "tokens", 0, nullptr, &managed));
  EXPECT_EQ(managed->dl_tensor.shape[0], 0);
  poniente_dlpack_release(managed);
}

}  // namespace
}  // namespace poniente::testing
