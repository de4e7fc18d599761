// SPDX-License-Identifier: Apache-2.0
// The memory that batches are delivered in: the host's, or a GPU's.

#ifndef PONIENTE_DEVICE_H_
#define PONIENTE_DEVICE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace poniente {

enum class DeviceType { kHost, kCuda };

struct Device {
  DeviceType type = DeviceType::kHost;
  // Number of the GPU, as the CUDA runtime counts those visible to it.
  int32_t ordinal = 0;

  friend bool operator==(const Device&, const Device&) = default;
};

// "host", "cuda:0".
std::string DeviceName(const Device& device);

// Ok if batches can be staged to the device here. FailedPrecondition if the
// library was built without CUDA, or there is no driver; NotFound if there is
// no such GPU. The message says which. Any thread; the first call for a GPU
// makes the driver start, which takes a while.
absl::Status CheckDevice(const Device& device);

}  // namespace poniente

#endif  // PONIENTE_DEVICE_H_
