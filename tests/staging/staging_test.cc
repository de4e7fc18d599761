// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "poniente/device.h"
#include "poniente/task.h"
#include "staging/slot_ring.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::poniente::testing::IsOk;

constexpr Device kNoSuchGpu = {DeviceType::kCuda, 1'000'000};

TEST(DeviceTest, HasAName) {
  EXPECT_EQ(DeviceName(Device()), "host");
  EXPECT_EQ(DeviceName({DeviceType::kCuda, 3}), "cuda:3");
}

TEST(DeviceTest, TheHostIsAlwaysThere) {
  EXPECT_THAT(CheckDevice(Device()), IsOk());
}

TEST(DeviceTest, WhatIsMissingIsNamed) {
  const absl::Status status = CheckDevice(kNoSuchGpu);
  EXPECT_TRUE(absl::IsFailedPrecondition(status) || absl::IsNotFound(status))
      << status;
  EXPECT_NE(status.message().find(';'), absl::string_view::npos)
      << "what to do: " << status;
}

TEST(DeviceTest, WithoutItBatchesStayOnTheHostAndOneWarningSaysSo) {
  std::vector<std::string> warnings;
  const auto ring = internal::SlotRing::Create(
      kNoSuchGpu, 2,
      [&warnings](std::string_view line) { warnings.emplace_back(line); });
  EXPECT_EQ(ring->device(), Device());
  ASSERT_OK_AND_ASSIGN(const auto slot, RunBlocking(ring->Take(100)));
  EXPECT_EQ(slot->device_bytes(), nullptr);
  EXPECT_THAT(slot->Upload(100), IsOk());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("cuda:1000000"), std::string::npos) << warnings[0];
}

}  // namespace
}  // namespace poniente
